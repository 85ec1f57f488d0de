"""Identification of the pushbelt's unknown parameters from printed results."""
