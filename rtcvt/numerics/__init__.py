"""Numerical methods that kernels call."""
