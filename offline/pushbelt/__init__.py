"""Pushbelt variator, hybrid model: planar belt between spatial sheaves (Cebulla 2014, section 6.1)."""
