"""A run of a full model: its definition, model and steps, its file, means over it."""
