"""Sizes of the traction law, for layouts that need no table."""

N_FIELD = 7  # fields of the disc's radius
SCRATCH = 19  # after the law's results
N_ARGUMENT = 13  # what its parts leave for each other
LAW_SIZE = SCRATCH + 8 + 18 + 2 * N_FIELD + N_ARGUMENT
