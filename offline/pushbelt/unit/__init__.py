"""What a unit file says of a belt, its sheaves and its start: geometry, masses, the velocity model."""
