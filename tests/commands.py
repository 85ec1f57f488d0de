"""The command line within the process of a test."""

from rtcvt import cli


def command_line(monkeypatch, capsys):
    """A function that runs a command and returns its exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["rtcvt", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
