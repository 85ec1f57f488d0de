"""Belt drives as full models: a flexible belt on sheaves, resolved in space and time."""
