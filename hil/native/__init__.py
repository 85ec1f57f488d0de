"""The rig's loop in C, and how it is compiled."""
