"""Models as FMI 2.0 co-simulation units: the description, the slave that runs in Python, and the export."""
