"""Geometrically exact rods on a staggered grid, and their reduction (Cebulla 2014, sections 6.2 and 6.3)."""
