"""Kernels of the friction between belt and pulleys: a coefficient of each pulley that may go with the sliding speed.

The unit file gives mu of the ribs, of the back, and of single pulleys. With a table over the sliding speed it is ::

    mu_i = mu_0,i S(v_i),    v_i' = (|s_i| - v_i)/T_s,    T_s = 5 ms

with S linear between its points and constant beyond, and s_i the speed of the belt where it runs off less that of the
rim, the largest of the wrap. Friction that falls with speed has no unique solution in an instant. So mu follows sliding
late, as friction with a memory does (Dieterich 1979; Ruina 1983), and is held over an internal step, in which the laws
of `rtcvt.belt.kernels` stay what they are: losses are not negative, and the implicit step makes no energy. Rates and
their Jacobian (model exchange) take v_i as constant.
"""

from rtcvt.belt.layout import N_ARC, Arc, D
from rtcvt.elementary import exp
from rtcvt.kernel import kernel

__all__ = ["friction", "note_sliding", "set_limits"]

T_S = 5e-3  # [s]


@kernel
def share_at(v, data):
    """S at a sliding speed [m/s]."""
    at = int(data[D.SLIDING])
    points = int(data[D.N_SLIDING])
    last = at + 2 * (points - 1)
    if v >= data[last]:
        return data[last + 1]
    a = at
    for k in range(1, points - 1):
        if v > data[at + 2 * k]:
            a = at + 2 * k
    return data[a + 1] + (data[a + 3] - data[a + 1]) / (data[a + 2] - data[a]) * (v - data[a])


@kernel
def friction(i, x, p, data):
    """Coefficient mu of pulley i."""
    mu = p[int(data[D.P_MU]) + i]
    if data[D.N_SLIDING] > 0.0 and data[D.RIGID] == 0.0:
        mu = mu * share_at(x[int(data[D.X_SLIDING]) + i], data)
    return mu


@kernel
def set_limits(x, p, data, work):
    """Limits of the wraps and of their faces, exp(mu beta) - 1."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    for i in range(n):
        angle = friction(i, x, p, data) * data[int(data[D.GEOMETRY]) + N_ARC * i + Arc.GRIP]
        work[int(data[D.W_KAPPA]) + i] = exp(angle) - 1.0
        work[int(data[D.W_KAPPA]) + n + i] = exp(angle / F) - 1.0


@kernel
def note_sliding(h, x, data, work):
    """Let the speeds v_i follow an internal step of h [s]; expects `cells` and means of its end."""
    n = int(data[D.N])
    F = int(data[D.FACES])
    count = n * F
    cell = int(data[D.W_CELL])
    keeps = exp(-h / T_S)
    for j in range(n):
        i = j + 1 if j + 1 < n else 0
        row = int(data[D.GEOMETRY]) + N_ARC * i
        V = data[row + Arc.SIGMA] * data[row + Arc.RADIUS] * x[count + i]
        last = j * F + F - 1 if V >= 0.0 else j * F
        span = i * F if V >= 0.0 else j * F
        s = work[int(data[D.W_MEAN]) + last]
        if work[int(data[D.W_SLIDE]) + last] * s <= 0.0:
            s = 0.0
        behind = last + 1 if last + 1 < count else 0
        up = last if V + s >= 0.0 else behind
        slides = abs((V + s) / work[cell + up] * work[cell + span] - V)
        at = int(data[D.X_SLIDING]) + i
        x[at] = slides + (x[at] - slides) * keeps
