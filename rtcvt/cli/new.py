"""``rtcvt new``."""

import re
from pathlib import Path

from rtcvt.cli import completion
from rtcvt.cli.console import arg, command, opt, say
from rtcvt.errors import InputError
from rtcvt.files.toml_edit import edited
from rtcvt.kind import load_unit
from rtcvt.recording import require_writable, write_text
from rtcvt.unitfile import parse_unit_file, read_unit_file


@command
def new(
    unit: str = arg(..., metavar="UNIT", autocompletion=completion.units),
    output: Path = opt("-o", "--output", default=..., metavar="FILE.toml"),
) -> None:
    """Start a unit of your own: write the commented file of a shipped one, with the name of the new file.

    rtcvt new planetary -o mine.toml is the start of a gear system, pushbelt_24mm of a belt (then rtcvt own mine.toml),
    car_cvt of a car. A system names its components: make files of your own for those that you change, and write
    { unit = "my_engine.toml" } in place of { unit = "engine" }.

    Options
    -------
    unit : A shipped unit, the nearest to yours.
    output : The new unit file.
    """
    if output.suffix != ".toml" or output.exists():
        raise InputError("--output", "", str(output), "the name of a TOML file that does not exist")
    require_writable(output)
    name = re.sub(r"\W", "_", output.stem)
    text = edited(read_unit_file(unit).text, {"name": f'"{name}"'}, unit)
    load_unit(parse_unit_file(text, output.name, output.parent))  # an invalid name is refused before it is written
    write_text(output, text)
    say(f"{output}: edit it, then rtcvt show {output}; all its keys: rtcvt show {output} --keys")
