"""The decorator of the set-valued laws and their solvers: every operation as it is written."""

from rtcvt.kernel import compiler

compiled = compiler(fastmath=False)
