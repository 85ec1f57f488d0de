"""Laws and field coefficients over the operating point: products of Chebyshev polynomials with shared features.

An operating point has five coordinates, ``z = (i, xi, kappa, f, y)``. Each is clamped to the range of the data, mapped
and scaled to [-1, 1]::

    BILINEAR  g(z) = (z - c)/(z + c)        even in factors: a logarithm around c, bounded
    SIGMOID   g(z) = z/sqrt(z^2 + c^2)      odd, fine around zero
    t = 2 (g(z) - g(low))/(g(high) - g(low)) - 1

The torque ratio counts from where the push force changes strands, ``xi - a q/sqrt(q^2 + b^2)`` with
``q = (i - 1)/(i + 1)``: there the rings alone carry the torque, by friction on the saddles, whose direction changes at
i = 1.

The features are the products ``phi_m = T_m1(t_1) ... T_m5(t_5)`` with ``T_{n+1} = 2 t T_n - T_{n-1}`` over a set of
multi-indices that holds with m also what is left of m when entries are set to zero. Each is then one product of an
earlier feature and one polynomial, which the tape names. Features without y come first: the thrust ratio needs only
them, and y needs the thrust ratio. An output is ``w . phi``, or ``exp(w . phi)`` where it must be positive.

Outside the data everything stays where it is at the border, and says by how much it is outside. How far a point is from
data is the distance to the nearest point of the campaign in (t_1, ..., t_4), by a typical distance between these.

A field on cells along the belt is ``sum_k a_k u_k`` with modes u_k and coefficients ``a_k = w_k . phi``.

The kernels read two flat tables, `ReducedModel.table` and `ReducedModel.field_table`, that begin at ``p[at]`` with the
headers below; places in a table count from ``at``. ``phi`` is scratch: the features, then the polynomials of the five
coordinates.
"""

import math

from rtcvt.elementary import exp
from rtcvt.kernel import kernel

__all__ = ["combine", "distance", "dot", "reconstruct", "stage_1", "stage_2", "thrust_ratio"]

BILINEAR, SIGMOID = range(2)
COORDINATES = 5  # i, xi, kappa, f, y

# the header of the laws
N_1 = 0  # features without y
N = 1  # features
DEGREES = 2  # polynomials of each coordinate
N_OUT = 3  # outputs
N_CENTRE = 4  # points of the campaign
COORDINATE = 5  # place of (map, c, low, high, g(low), 2/(g(high) - g(low))) of each coordinate
TAPE = 6  # place of (feature, place in phi) of each feature
THRUST = 7  # place of the weights of the thrust ratio
LOG = 8  # place of the outputs' flags: 1 for a logarithm
WEIGHT = 9  # place of the outputs' weights, a row of features for each
CENTRE = 10  # place of the points of the campaign, a row of four for each
SPACING = 11  # 1/(typical distance between them)^2
SHIFT = 12  # a, b of the torque ratio's zero
HEADER = 14

# the header of the fields
N_PHI = 0  # features
CELLS = 1  # of a field
FIELD = 2  # from here on (modes, place of the weights, place of the modes) of each field


@kernel
def _polynomials(p, at, j, z, phi):
    """Write the polynomials of coordinate `j` at `z`; returns how far z is outside its range, by that range."""
    c = at + int(p[at + COORDINATE]) + 6 * j
    low = p[c + 2]
    high = p[c + 3]
    excess = 0.0
    if z > high:
        excess = (z - high) / (high - low)
        z = high
    elif z < low:
        excess = (low - z) / (high - low)
        z = low
    elif not z >= low:  # NaN
        excess = 1.0
        z = low
    if p[c] == BILINEAR:
        g = (z - p[c + 1]) / (z + p[c + 1])
    else:
        g = z / math.sqrt(z * z + p[c + 1] * p[c + 1])
    t = (g - p[c + 4]) * p[c + 5] - 1.0
    n = int(p[at + DEGREES])
    k = int(p[at + N]) + n * j
    phi[k] = 1.0
    phi[k + 1] = t
    for m in range(2, n):
        phi[k + m] = 2.0 * t * phi[k + m - 1] - phi[k + m - 2]
    return excess


@kernel
def _features(p, at, first, last, phi):
    tape = at + int(p[at + TAPE])
    for m in range(first, last):
        phi[m] = phi[int(p[tape + 2 * m])] * phi[int(p[tape + 2 * m + 1])]


@kernel
def stage_1(p, at, i, xi, kappa, f, phi):
    """Write the features without y.

    Parameters
    ----------
    p, at : ndarray, int
        Parameters, and where in them the table begins.
    i, xi, kappa, f : float
        Ratio of the radii at the rocking edges, signed torque ratio, m* v^2/F_CO, F_CO/F_ref.
    phi : ndarray
        Scratch, `ReducedModel.scratch` long.

    Returns
    -------
    float : how far the worst of the coordinates is outside the data, by its range; 0 inside
    """
    outside = _polynomials(p, at, 0, i, phi)
    q = (i - 1.0) / (i + 1.0)
    b = p[at + SHIFT + 1]
    excess = _polynomials(p, at, 1, xi - p[at + SHIFT] * q / math.sqrt(q * q + b * b), phi)
    if excess > outside:
        outside = excess
    excess = _polynomials(p, at, 2, kappa, phi)
    if excess > outside:
        outside = excess
    excess = _polynomials(p, at, 3, f, phi)
    if excess > outside:
        outside = excess
    phi[0] = 1.0
    _features(p, at, 1, int(p[at + N_1]), phi)
    return outside


@kernel
def dot(n, a, b):
    """Sum of ``a[m] b[m]`` in eight partial sums, which do not wait for each other."""
    s_0 = 0.0
    s_1 = 0.0
    s_2 = 0.0
    s_3 = 0.0
    s_4 = 0.0
    s_5 = 0.0
    s_6 = 0.0
    s_7 = 0.0
    whole = n - (n & 7)
    for m in range(0, whole, 8):
        s_0 += a[m] * b[m]
        s_1 += a[m + 1] * b[m + 1]
        s_2 += a[m + 2] * b[m + 2]
        s_3 += a[m + 3] * b[m + 3]
        s_4 += a[m + 4] * b[m + 4]
        s_5 += a[m + 5] * b[m + 5]
        s_6 += a[m + 6] * b[m + 6]
        s_7 += a[m + 7] * b[m + 7]
    for m in range(whole, n):
        s_0 += a[m] * b[m]
    return ((s_0 + s_4) + (s_1 + s_5)) + ((s_2 + s_6) + (s_3 + s_7))


@kernel
def thrust_ratio(p, at, phi):
    """F_I,eq/F_CO behind `stage_1`."""
    n = int(p[at + N_1])
    w = at + int(p[at + THRUST])
    return exp(dot(n, p[w : w + n], phi))


@kernel
def stage_2(p, at, y, phi):
    """Write the features with y = F_CI/F_I,eq behind `stage_1`; returns how far y is outside, as there."""
    outside = _polynomials(p, at, 4, y, phi)
    _features(p, at, int(p[at + N_1]), int(p[at + N]), phi)
    return outside


@kernel
def combine(p, at, first, last, phi, out):
    """Write the outputs `first` to `last` - 1 to `out` behind `stage_2`."""
    n = int(p[at + N])
    log = at + int(p[at + LOG])
    for k in range(first, last):
        w = at + int(p[at + WEIGHT]) + n * k
        total = dot(n, p[w : w + n], phi)
        if p[log + k] == 1.0:
            total = exp(total)
        out[k - first] = total


@kernel
def distance(p, at, phi):
    """Square of the distance to the nearest point of the campaign, by the square of a typical one, behind `stage_1`."""
    n = int(p[at + DEGREES])
    k = int(p[at + N]) + 1
    t_0 = phi[k]
    t_1 = phi[k + n]
    t_2 = phi[k + 2 * n]
    t_3 = phi[k + 3 * n]
    c = at + int(p[at + CENTRE])
    nearest = 16.0
    for m in range(int(p[at + N_CENTRE])):
        d_0 = t_0 - p[c + 4 * m]
        d_1 = t_1 - p[c + 4 * m + 1]
        d_2 = t_2 - p[c + 4 * m + 2]
        d_3 = t_3 - p[c + 4 * m + 3]
        d = d_0 * d_0 + d_1 * d_1 + d_2 * d_2 + d_3 * d_3
        if d < nearest:
            nearest = d
    return nearest * p[at + SPACING]


@kernel
def reconstruct(p, at, field, phi, out, first):
    """Write the values of a field on its cells to `out` from `first` on, behind `stage_2`; `at`: the fields' table."""
    n = int(p[at + N_PHI])
    cells = int(p[at + CELLS])
    h = at + FIELD + 3 * field
    modes = int(p[h])
    w = at + int(p[h + 1])
    u = at + int(p[h + 2])
    values = out[first : first + cells]
    for m in range(cells):
        values[m] = 0.0
    for k in range(modes):
        a = dot(n, p[w + n * k : w + n * (k + 1)], phi)
        mode = p[u + cells * k : u + cells * (k + 1)]
        for m in range(cells):
            values[m] += a * mode[m]
