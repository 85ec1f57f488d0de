"""Full models, accuracy first: how far the real-time models are from them, and the report that says so."""
