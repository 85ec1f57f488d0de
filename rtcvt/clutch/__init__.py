"""A friction clutch with its torsion damper, and the controller that closes it at equal speeds."""
