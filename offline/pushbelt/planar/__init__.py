"""The planar belt between spatial sheaves, the hybrid model."""
