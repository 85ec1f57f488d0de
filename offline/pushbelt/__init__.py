"""Full models of pushbelt variators: the planar belt between spatial sheaves (Cebulla 2014), and the spatial belt.

Packages; each imports from those above it only::

    unit     contents of a unit file: parameters, geometry, velocity model, start
    ring     the rods as models of the ring set
    contact  contact laws, the sheaves, the energy ledger
    planar   the hybrid model
    spatial  the spatial model
    run      a run of a model, its file, means over it
    checks   chapter 7 of the source; the spatial belt against the hybrid one

`kind` declares the machine; its commands call `tasks`, `picture` and `scene`. `compiled` has the decorators of
all kernels.
"""
