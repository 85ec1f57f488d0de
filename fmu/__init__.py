"""Models as FMI 2.0 units: the common description, units that run in Python, and units in machine code (`native`)."""
