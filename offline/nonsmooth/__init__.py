"""Non-smooth dynamics: set-valued force laws, their solvers and time stepping with impacts and friction.

========================  ==========================================================================================
`proximal`                set-valued laws as proximal points: unilateral, bilateral and lower bounds, Coulomb's friction
`lcp`, `lemke`            linear complementarity problems: fixed point and Newton, and Lemke's pivoting
`contact`                 contacts with friction: sweeps and Newton's method, dense or sparse
`impact`                  Newton's and Poisson's laws of impact
`time_stepping`           half-explicit steps of a `System`, equal or controlled
========================  ==========================================================================================

After Cebulla, *Spatial Dynamics of Pushbelt CVTs*, TU Muenchen 2014, sections 2.2 to 2.7 and 5.3.
"""

from rtcvt.offline.nonsmooth import contact, impact, lcp, lemke, proximal, time_stepping
from rtcvt.offline.nonsmooth.contact import ContactProblem, ContactSolution, contact_problem
from rtcvt.offline.nonsmooth.impact import Restitution, newton_law, poisson_law
from rtcvt.offline.nonsmooth.lcp import ConvergenceError, LcpSolution
from rtcvt.offline.nonsmooth.time_stepping import (
    Contacts,
    Step,
    System,
    Trajectory,
    half_explicit_step,
    integrate,
    integrate_controlled,
)

__all__ = [
    "ContactProblem", "ContactSolution", "Contacts", "ConvergenceError", "LcpSolution", "Restitution", "Step", "System",
    "Trajectory", "contact", "contact_problem", "half_explicit_step", "impact", "integrate", "integrate_controlled",
    "lcp", "lemke", "newton_law", "poisson_law", "proximal", "time_stepping",
]  # fmt: skip
