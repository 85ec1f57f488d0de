"""Whole numbers among the constants of a unit: sizes, and places in this or another buffer (`rtcvt.table`)."""

from rtcvt.kernel import kernel


@kernel
def entry(place, data):
    """Whole number at a place of the constants."""
    return int(data[place])


@kernel
def end_of(place, data):
    """The first place after a block, whose place and size are neighbours in the constants."""
    return int(data[place] + data[place + 1])
