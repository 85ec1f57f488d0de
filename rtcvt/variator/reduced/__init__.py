"""Reduced models: coordinates, splines, networks, the model of them, its tables for kernels, its file."""
