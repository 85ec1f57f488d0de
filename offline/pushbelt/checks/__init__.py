"""What runs must show: chapter 7 of the source, and the spatial belt beside the hybrid one."""
