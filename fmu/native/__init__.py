"""Units that need no Python: an FMI 2.0 core in C99, and the kernels translated to C."""
