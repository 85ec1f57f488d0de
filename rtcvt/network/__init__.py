"""Networks: units whose flanges are connected are one graph, solved as one.

A system file (`file`) names units and what connects them. A flange has a torque, counted into its unit, and a speed.
Flanges that are connected make a node: it has one speed, and the torques into its flanges sum up to zero::

    x_i' = f_i(x_i, tau_i)     y_i(x_i) = w           a flange that takes a torque gives its speed
    x_j' = f_j(x_j, w)         tau_j = y_j(x_j, w)    one that takes a speed gives its torque
    sum of tau_i + sum of tau_j = 0                   (w = 0 instead where the node is ground)

and a shaft between two nodes carries ``tau = K phi + d phi'``, ``phi' = w_a - w_b``. The torques tau_i are multipliers
of the constraints: with w they are unknowns beside the states, and nothing needs an inertia or a spring of its own.
Power that leaves a unit at a node enters others there, at every instant: ``w sum(tau) = 0``.

**Step.** For ``M z' = F(z)`` with z = (x, tau, w), ``M = diag(1, 0)`` and the block Jacobian A, a Rosenbrock method
with three stages at two points, L-stable, of order 3; of order 2 where some of df/dx is left out::

    k_i = h F(z_i) + h A sum_j (G_ij k_j) on the rows of M k_i,    z_1 = z,  z_2 = z_3 = z + 2/3 k_1
    z + k_1/4 + 3/4 k_3,    G_ii = gamma,    gamma^3 - 3 gamma^2 + 3/2 gamma = 1/6

G is what the conditions leave (Hairer and Wanner, *Solving Ordinary Differential Equations II*, IV.7, VI.3): those of
order 3 with A exact, ``sum b_i alpha_i = 1/2`` for order 2 with any, and order 3 of what constraints determine.
Constraints are linear in the speeds, and their derivatives exact: the step is that of the method on the equations in
which the constraints are eliminated, and end speeds agree as start speeds do.

**Torques** that the step leaves have one order less than the states where some of df/dx is left out; how they start has
no bearing on it. So behind the last internal step they are found anew, with ``r_i = dy_i/dx_i``, from::

    r_i f_i(x_i, tau_i) = w',    sum of tau_i + sum of tau_j = 0

**Elimination.** A is bordered: a block for each part, joined by the twists of shafts and the unknowns of nodes alone.
Each block is factored by itself and takes the columns of its flanges; then the border, which is small, with what the
blocks leave on it. The cost grows with the sum of the cubes of the parts, not with the cube of their sum.

**Kinks.** A unit's law may have smooth pieces: a clutch that sticks or slips, a belt that slides, a limit. Where a part
ends on another piece than it began on, the step is made anew in four; a quarter that ends on another piece by the
implicit Euler method with Newton's method, on the piece that each part has at its end. If that does not converge, it is
cut into 4 and 16; parts of 16 that do not converge are linearly implicit, and the status tells.

**Signals** (controllers, cycles, drivers) are carried from outputs to inputs in their order at the start of each
internal step, so that none is late, and held over it. Parts without connected flanges make their own steps. A loop
of signals in which each follows the one before at once is refused.

A network is a model like any other (`rtcvt.model`): its kernels are the pattern `kernels`, written for the kernels of
its parts (`generate`).
"""
