"""A combustion engine from tables of torque and fuel."""
