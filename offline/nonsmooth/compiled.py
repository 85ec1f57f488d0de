"""The decorator of the set-valued laws and their solvers: every operation as it is written."""

from rtcvt.kernel import compiler

__all__ = ["compiled"]

compiled = compiler(fastmath=False)
