"""Belt drives: the unit, its geometry and its real-time models."""
