"""Full models, checks of the real-time models against them, and reports."""
