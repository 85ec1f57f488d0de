"""Real-time models of pushbelt variators: rigid and hybrid power-oriented graphs with laws identified offline."""
