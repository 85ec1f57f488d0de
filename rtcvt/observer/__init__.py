"""Observers: what no sensor sees, estimated by a real-time unit from what sensors measure."""
