"""What disks and transfers do to files."""

import numpy as np

__all__ = ["damaged"]


def damaged(data: bytes, k: int, rng: np.random.Generator) -> bytes:
    """A file cut, zeroed in part, or with a bit flipped."""
    n, found = len(data), bytearray(data)
    at = int(rng.integers(0, n - 1))
    if k % 3 == 0:
        return bytes(found[:at])
    if k % 3 == 1:
        stop = min(n, at + int(rng.integers(1, 8192)))
        found[at:stop] = bytes(stop - at)
    else:
        found[at] ^= 1 << int(rng.integers(0, 8))
    return bytes(found)
