"""Units against the clock: pacing, an FMU as a function of the step's number, and the run that joins them."""
