"""Full traction model of toroidal variators: shear over the contact ellipse, operating points, calibration, table."""
