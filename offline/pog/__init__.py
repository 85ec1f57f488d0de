"""Gear systems: the rigid model against the elastic one, and the report of it."""
