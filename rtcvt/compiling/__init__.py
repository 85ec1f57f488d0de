"""How kernels become machine code that is kept."""
