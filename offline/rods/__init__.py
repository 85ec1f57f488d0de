"""Geometrically exact rods on a staggered grid, and their reduction (Cebulla 2014, sections 6.2 and 6.3).

========================  ==========================================================================================
`planar`, `spatial`       Cosserat rods: energies, forces, Verlet steps, equilibria
`statics`                 Newton's method for equilibria, natural frequencies
`contour`                 the curve between the grid points, loads on it
`reduction`               POD-Galerkin, hyper-reduced by DEIM, Q-DEIM or ECSW
`transport`               the reduction of a closed rod in a frame that is fixed in space
========================  ==========================================================================================
"""

from rtcvt.offline.rods import contour, planar, reduction, spatial, statics, transport
from rtcvt.offline.rods.planar import PlanarRod, planar_rod
from rtcvt.offline.rods.reduction import Reduced
from rtcvt.offline.rods.spatial import SpatialRod, spatial_rod

__all__ = [
    "PlanarRod", "Reduced", "SpatialRod", "contour", "planar", "planar_rod", "reduction", "spatial", "spatial_rod",
    "statics", "transport",
]  # fmt: skip
