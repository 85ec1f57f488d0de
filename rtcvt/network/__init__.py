"""Networks: units whose flanges are connected are one graph, solved as one.

A system file (`file`) names units and what connects them. A flange has a torque, counted into its unit, and a speed.
Connected flanges make a node: it has one speed, and the torques into its flanges sum up to zero::

    x_i' = f_i(x_i, tau_i)     y_i(x_i) = w           flange with a torque as input, its speed as output
    x_j' = f_j(x_j, w)         tau_j = y_j(x_j, w)    flange with a speed as input, its torque as output
    sum of tau_i + sum of tau_j = 0                   (w = 0 instead where the node is ground)

and a shaft between two nodes carries ``tau = K phi + d phi'``, ``phi' = w_a - w_b``. The torques tau_i are multipliers
of the constraints: like w they are unknowns in addition to the states, and no unit needs an added inertia or spring.
Power that leaves a unit at a node enters others there, at every instant: ``w sum(tau) = 0``.

**Step.** For ``M z' = F(z)`` with z = (x, tau, w), ``M = diag(1, 0)`` and the block Jacobian A, a Rosenbrock method
with three stages at two points, L-stable, of order 3; of order 2 where some of df/dx is left out::

    k_i = h F(z_i) + h A sum_j (G_ij k_j) on the rows of M k_i,    z_1 = z,  z_2 = z_3 = z + 2/3 k_1
    z + k_1/4 + 3/4 k_3,    G_ii = gamma,    gamma^3 - 3 gamma^2 + 3/2 gamma = 1/6

The conditions determine G (Hairer and Wanner, *Solving Ordinary Differential Equations II*, IV.7, VI.3): those of order
3 with A exact, ``sum b_i alpha_i = 1/2`` for order 2 with any A, and order 3 of the unknowns of constraints.
Constraints are linear in the speeds, and their derivatives exact: the step equals that of the method on the equations
without constraints, and connected speeds are as equal at the end as at the start.

**Torques** after the step have one order less than the states where some of df/dx is left out; their start values have
no influence. So they are computed again after the last internal step, with ``r_i = dy_i/dx_i``, from::

    r_i f_i(x_i, tau_i) = w',    sum of tau_i + sum of tau_j = 0

**Elimination.** A is bordered: a block for each part; only the twists of shafts and the unknowns of nodes couple the
blocks. Each block is factored by itself and solved for the columns of its flanges; then the border, which is small,
with the Schur complement of the blocks. The cost grows with the sum of the cubes of the parts, not with the cube of
their sum.

**Kinks.** A unit's law may have smooth pieces: a clutch that sticks or slips, a belt that slides, a limit. If a part
ends on another piece than it began on, the step is repeated as four smaller steps; a quarter that ends on another piece
is repeated by the implicit Euler method with Newton's method, on the piece that each part has at its end. If this does
not converge, it is cut into 4 and 16; if a part of 16 does not converge, it is linearly implicit, and the status is 1.

**Signals** (controllers, cycles, drivers) are carried from outputs to inputs in their order at the start of each
internal step, so that none is late, and are constant over it. Parts without connected flanges make their own steps. A
loop of signals without delay is refused.

A network is a model like any other (`rtcvt.model`): its kernels are the pattern `kernels`, written for the kernels of
its parts (`generate`).
"""
