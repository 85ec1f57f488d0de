"""Non-smooth dynamics: set-valued force laws, their solvers and time stepping with impacts and friction."""
