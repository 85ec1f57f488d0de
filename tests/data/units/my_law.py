"""The law of foreign_law.toml in Python."""

from rtcvt.kernel import kernel


@kernel
def law(t, h, u, p, x, y, new):
    """A lag of first order, and a share of the input if that is wanted."""
    y[0] = x[0] + p[1] * u[0] if u[1] > 0.5 else x[0]
    new[0] = x[0] + (u[0] - x[0]) * h / (p[0] + h)
