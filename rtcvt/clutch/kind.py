"""Clutches and their controllers declare themselves."""

from rtcvt.kind import Kind, lazily

KIND = Kind(
    names=("clutch", "clutch_control"), title="clutches", read=lazily("rtcvt.clutch.unit:read"),
    fidelities={"rigid": ""}, build=lazily("rtcvt.clutch.unit:build"), page=lazily("rtcvt.part:page"),
    files_beside=lazily("rtcvt.clutch.unit:files_beside"),
)  # fmt: skip
