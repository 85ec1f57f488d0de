"""A friction clutch behind its torsion damper, and the controller that closes it at equal speeds."""
