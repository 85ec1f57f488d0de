"""A combustion engine from tables of torque and fuel, and its control with a variator."""
