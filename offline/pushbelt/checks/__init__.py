"""Checks of runs: chapter 7 of the source, and the spatial belt against the hybrid one."""
