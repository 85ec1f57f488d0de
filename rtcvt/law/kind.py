"""Laws declare themselves."""

from rtcvt.kind import Kind, lazily

KIND = Kind(
    names=("law",),
    title="laws",
    read=lazily("rtcvt.law.file:read_law"),
    fidelities={"rigid": ""},
    build=lazily("rtcvt.law.file:build"),
    page=lazily("rtcvt.part:page"),
    files_beside=lazily("rtcvt.law.file:files_beside"),
)
