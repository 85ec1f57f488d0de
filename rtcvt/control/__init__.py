"""Controllers and actuators of the moving variable, as kernels."""
