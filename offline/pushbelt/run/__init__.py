"""A run of a full model: what it is, its making and stepping, its file, means over it."""
