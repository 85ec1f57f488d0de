"""The ring set: rods as its models, with one interface, `ring_set`."""
