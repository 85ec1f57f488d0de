"""The ring set: the rods that stand for it, behind one interface, `ring_set`."""
