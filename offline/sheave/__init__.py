"""Sheaves from their drawing: compliance by finite elements, and pages about it."""
