"""``rtcvt view``."""

from pathlib import Path

from rtcvt.cli.console import arg, command, opt, progress_bar, say, seconds


@command
def view(
    recording: Path = arg(..., metavar="FILE"),
    output: Path | None = opt("-o", "--output", metavar="FILE"),
    start: str | None = opt("--from", metavar="TIME"),
    stop: str | None = opt("--to", metavar="TIME"),
    pictures: Path | None = opt(metavar="FOLDER"),
    size: str = opt(default="1280x720", metavar="WxH"),
    frames: int = opt(default=600, min=2, max=5000),
) -> None:
    """Show a belt in three dimensions: one page that any browser opens, without a network.

    Of a belt drive it shows the belt, coloured by its tension, pulleys and arms. Of a run of the full pushbelt it shows
    elements, rings and sheaves, with any contact force or gap as colour and as a curve along the belt; what is out of
    line is magnified by a factor on the page. Of a recording of a pushbelt variator with [bold]fields[/] in its unit
    file it shows these along the belt. The page plays the run, has cameras, and draws the forces on an element over
    time when it is clicked.

    Options
    -------
    recording : A run of a full pushbelt, also a .partial one, or a recording of a variator or a belt drive.
    output : The page; default: FILE with suffix .html.
    start : Begin there, e.g. "40 ms".
    stop : End there.
    pictures : Write the frames as pictures (PNG), too; needs Chromium or Chrome.
    size : Of these pictures.
    frames : Largest number of frames, evenly distributed.
    """
    from rtcvt.errors import InputError
    from rtcvt.kind import kinds, names_of
    from rtcvt.recording import require_writable, write_text
    from rtcvt.view import view_page
    from rtcvt.view.pictures import parse_size, write_pictures

    path = output or recording.parent / f"{recording.stem}.html"  # of "." too
    require_writable(path)
    wide = parse_size(size)
    span = [None if t is None else seconds(option, t) for option, t in (("--from", start), ("--to", stop))]
    viewers = [kind for kind in kinds() if kind.view is not None]
    found = (kind.view(recording, *span, frames) for kind in viewers if kind.view is not None)
    scene = next((s for s in found if s is not None), None)
    if scene is None:
        raise InputError(recording, "", None, f"a run or recording of one of the kinds {names_of(viewers)}")
    page = view_page(scene)
    write_text(path, page)
    say(f"page: {path} ({len(scene.time)} frames, {len(page) / 1e6:.1f} MB)")
    if pictures is not None:
        with progress_bar() as bar:
            write_pictures(path, len(scene.time), pictures, wide, bar)
        say(f"pictures: {pictures}/frame_00000.png ...; ffmpeg -i {pictures}/frame_%05d.png run.mp4 makes a video")
