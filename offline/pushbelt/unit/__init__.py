"""The belt of a unit file, its sheaves and its start: geometry, masses, the velocity model."""
