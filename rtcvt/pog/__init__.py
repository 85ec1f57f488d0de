"""Power-oriented graphs of gear systems: Tebaldi and Zanasi, *Control Engineering Practice*,
doi 10.1016/j.conengprac.2022.105420.

Gears with speeds ``omega`` and contacts with tangential forces ``F`` exchange power through a radii matrix
``R(theta)``::

    [J  0   ] d [omega]   [-B_J - R' B_K R   -R'] [omega]   [I]
    [0  1/K ] dt[  F  ] = [       R           0 ] [  F  ] + [0] tau                                     (2)

With ``K -> inf``, ``R omega = 0`` leaves ``omega = Q1(theta) x1`` and the rigid model::

    L1 x1' + N1 x1 = A1 x1 + B1 tau                                                                     (9)
    L1 = Q1' J Q1,    N1 = Q1' J dQ1/dt,    A1 = -Q1' B_J Q1,    B1 = Q1'                               (10)

whose contact forces are still known, eq. (11). Modules: `radii` (Algorithm 1) in `normal_form`, `friction`
(Algorithm 2), `flange` (speeds that are prescribed), `layout` (a unit as parameters and constants), `kernels` (the
equations above), `system` (a unit as a `Model`, and its matrices), `energy` (eq. 3).
"""
