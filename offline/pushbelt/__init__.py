"""Full models of pushbelt variators: the planar belt between spatial sheaves (Cebulla 2014), and the spatial belt.

Rooms, each imports from those above it only::

    unit     what a unit file says: parameters, geometry, velocity model, start
    ring     the rods that stand for the ring set
    contact  contact laws, the sheaves, the energy ledger
    planar   the hybrid model
    spatial  the spatial model
    run      a run of a model, its file, means over it
    checks   chapter 7 of the source; the spatial belt beside the hybrid one

`kind` declares the machine; `tasks`, `picture` and `scene` are what its commands call. `compiled` has the decorators of
all kernels.
"""
