"""Laws, peaks and field coefficients over the operating point.

An operating point has five coordinates, ``z = (i, xi, kappa, f, y)``. Each is clamped to the range of the data, mapped
and scaled to [-1, 1]::

    BILINEAR  g(z) = (z - c)/(z + c)        even in factors: a logarithm around c, bounded
    SIGMOID   g(z) = z/sqrt(z^2 + c^2)      odd, fine around zero
    t = 2 (g(z) - g(low))/(g(high) - g(low)) - 1

The torque ratio counts from where the push force changes strands, ``xi - a q/sqrt(q^2 + b^2)`` with
``q = (i - 1)/(i + 1)``: there the rings alone carry the torque, by friction on the saddles, whose direction changes at
i = 1.

**Laws.** The logarithm of the thrust ratio is a tensor product of uniform cubic B-splines in (t_1, ..., t_4), and so is
each coefficient of the polynomials in t_5 that the laws k, e, c and lambda are: the logarithms of three, and
asinh(e/e_0) of the elastic speed loss, which has either sign and grows over decades::

    s(t) = sum_abcd B_a(t_1) B_b(t_2) B_c(t_3) B_d(t_4) C_abcd,    law(t) = sum_m s_m(t_1, ..., t_4) T_m(t_5)

with 256 terms at any point, whatever the number of splines. Those of all laws are summed up at once.

**Peaks.** They are ``exp(w . phi)`` with features ``phi_m = T_m1(t_1) ... T_m5(t_5)``, ``T_{n+1} = 2 t T_n - T_{n-1}``,
over a set of multi-indices that holds with m also what is left of m when entries are set to zero. Each is then one
product of an earlier feature and one polynomial, which the tape names.

Outside the data everything stays where it is at the border, and says by how much it is outside. How far a point is from
data is the distance to the nearest point of the campaign in (t_1, ..., t_4), by a typical distance between these.

A field on cells along the belt is ``sum_k a_k u_k`` with modes u_k and coefficients ``a_k = w_k . h``. Fronts that move
along the belt need features that bend at places of their own: h are the units of small networks with two hidden layers,
behind them the constant 1. Each network has ::

    g = s(W_1 t + b_1),   h = s(W_2 g + b_2),   s(a) = a/sqrt(1 + a^2)

A field that cannot be negative is cut off at zero.

The kernels read two flat tables, `ReducedModel.table` and `ReducedModel.field_table`, that begin at ``p[at]`` with the
headers below; places in a table count from ``at``. ``phi`` is scratch: the features, the polynomials of the five
coordinates, the splines' weights and sums, and the networks' first layer and units.
"""

import math

from rtcvt.elementary import exp
from rtcvt.kernel import kernel

__all__ = [
    "combine",
    "distance",
    "dot",
    "features",
    "hidden",
    "laws",
    "reconstruct",
    "stage_1",
    "stage_2",
    "thrust_ratio",
]

BILINEAR, SIGMOID = range(2)
COORDINATES = 5  # i, xi, kappa, f, y

N_LAWS = 4  # k, e, c, lambda
SIGNED = 1  # the one of them that is no exponential
SMALL = 0.002  # e_0

# the header of the laws
N = 0  # features
DEGREES = 1  # polynomials of each coordinate
N_OUT = 2  # peaks
N_CENTRE = 3  # points of the campaign
COORDINATE = 4  # place of (map, c, low, high, g(low), 2/(g(high) - g(low))) of each coordinate
TAPE = 5  # place of (feature, place in phi) of each feature
WEIGHT = 6  # place of the peaks' weights, a row of features for each
CENTRE = 7  # place of the points of the campaign, a row of four for each
SPACING = 8  # 1/(typical distance between them)^2
SHIFT = 9  # a, b of the torque ratio's zero
THRUST = 11  # place of the splines' coefficients of ln zeta; then the number of splines along t_1 to t_4
LAW_SPLINES = 16  # likewise of the laws, with the polynomials in t_5 of each law
N_LAW = 21  # polynomials in t_5 of a law
HEADER = 22


# the header of the fields
CELLS = 0  # of a field
INPUT = 1  # place of t_1 in phi
STRIDE = 2  # from there to t_2, and on
UNITS = 3  # place in phi of the first layer, the units and 1
NETWORKS = 4
N_FIRST = 5  # units of a first layer
N_SECOND = 6  # of a second one
LAYERS = 7  # place of W_1, b_1 in rows of units, then W_2, b_2 likewise, of each network
FIELD = 8  # from here on (modes, place of the weights, place of the modes, 1 if not negative) of each field
PER_FIELD = 4


@kernel
def _coordinate(p, at, j, z, phi):
    """Write t of coordinate `j` at `z`; returns how far z is outside its range, by that range."""
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
    phi[int(p[at + N]) + int(p[at + DEGREES]) * j + 1] = (g - p[c + 4]) * p[c + 5] - 1.0
    return excess


@kernel
def _polynomials(n, first, phi):
    """Write the Chebyshev polynomials 0 and 2 to `n` - 1 of the one of degree 1, which stands at ``phi[first + 1]``."""
    t = phi[first + 1]
    phi[first] = 1.0
    for m in range(2, n):
        phi[first + m] = 2.0 * t * phi[first + m - 1] - phi[first + m - 2]


@kernel
def _splines(n, t, at, phi):
    """Write the four B-splines that do not vanish at `t` to ``phi[at:]``; returns which of the `n` is the first."""
    cells = n - 3
    x = 0.5 * (t + 1.0) * cells
    cell = int(x)
    if cell > cells - 1:
        cell = cells - 1
    elif cell < 0:
        cell = 0
    r = x - cell
    s = 1.0 - r
    phi[at] = s * s * s / 6.0
    phi[at + 1] = (3.0 * r * r * r - 6.0 * r * r + 4.0) / 6.0
    phi[at + 2] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0
    phi[at + 3] = r * r * r / 6.0
    return cell


@kernel
def _sum_up(p, at, table, many, phi, first):
    """Write `many` sums of splines to ``phi[first:]`` and use four times as many places; `table`: of their header."""
    n = int(p[at + N])
    degrees = int(p[at + DEGREES])
    b = n + COORDINATES * degrees
    n_1 = int(p[at + table + 2])
    n_2 = int(p[at + table + 3])
    n_3 = int(p[at + table + 4])
    place = _splines(int(p[at + table + 1]), phi[n + 1], b, phi)
    place = place * n_1 + _splines(n_1, phi[n + degrees + 1], b + 4, phi)
    place = place * n_2 + _splines(n_2, phi[n + 2 * degrees + 1], b + 8, phi)
    place = place * n_3 + _splines(n_3, phi[n + 3 * degrees + 1], b + 12, phi)
    row = 4 * many
    total = phi[first : first + row]
    for m in range(row):
        total[m] = 0.0
    w_0 = phi[b + 8]
    w_1 = phi[b + 9]
    w_2 = phi[b + 10]
    w_3 = phi[b + 11]
    step = n_3 * many
    corner = at + int(p[at + table]) + place * many
    for j in range(4):
        for k in range(4):
            w = phi[b + j] * phi[b + 4 + k]
            c = corner + (j * n_1 + k) * n_2 * step
            row_0 = p[c : c + row]
            row_1 = p[c + step : c + step + row]
            row_2 = p[c + 2 * step : c + 2 * step + row]
            row_3 = p[c + 3 * step : c + 3 * step + row]
            a_0 = w * w_0
            a_1 = w * w_1
            a_2 = w * w_2
            a_3 = w * w_3
            for m in range(row):
                total[m] += (a_0 * row_0[m] + a_1 * row_1[m]) + (a_2 * row_2[m] + a_3 * row_3[m])
    for m in range(many):
        total[m] = (phi[b + 12] * total[m] + phi[b + 13] * total[many + m]) + (
            phi[b + 14] * total[2 * many + m] + phi[b + 15] * total[3 * many + m]
        )


@kernel
def stage_1(p, at, i, xi, kappa, f, phi):
    """Write the coordinates without y, and the logarithm of the thrust ratio.

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
    outside = _coordinate(p, at, 0, i, phi)
    q = (i - 1.0) / (i + 1.0)
    b = p[at + SHIFT + 1]
    excess = _coordinate(p, at, 1, xi - p[at + SHIFT] * q / math.sqrt(q * q + b * b), phi)
    if excess > outside:
        outside = excess
    excess = _coordinate(p, at, 2, kappa, phi)
    if excess > outside:
        outside = excess
    excess = _coordinate(p, at, 3, f, phi)
    if excess > outside:
        outside = excess
    first = int(p[at + N]) + COORDINATES * int(p[at + DEGREES]) + 16
    _sum_up(p, at, THRUST, 1, phi, first)
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
    return exp(phi[int(p[at + N]) + COORDINATES * int(p[at + DEGREES]) + 16])


@kernel
def stage_2(p, at, y, phi):
    """Write the coordinate y = F_CI/F_I,eq behind `stage_1`; returns how far it is outside, as there."""
    outside = _coordinate(p, at, 4, y, phi)
    degrees = int(p[at + DEGREES])
    _polynomials(degrees, int(p[at + N]) + 4 * degrees, phi)
    return outside


@kernel
def laws(p, at, phi, out):
    """Write k, e, c and lambda to `out` behind `stage_2`."""
    n = int(p[at + N_LAW])
    degrees = int(p[at + DEGREES])
    y = int(p[at + N]) + 4 * degrees
    c = y + degrees + 17
    _sum_up(p, at, LAW_SPLINES, N_LAWS * n, phi, c)
    for k in range(N_LAWS):
        total = 0.0
        for m in range(n):
            total += phi[c + n * k + m] * phi[y + m]
        growth = exp(total)
        if k == SIGNED:
            out[k] = 0.5 * SMALL * (growth - 1.0 / growth)
        else:
            out[k] = growth


@kernel
def features(p, at, phi):
    """Write the features behind `stage_2`."""
    n = int(p[at + N])
    degrees = int(p[at + DEGREES])
    for j in range(4):
        _polynomials(degrees, n + j * degrees, phi)
    tape = at + int(p[at + TAPE])
    phi[0] = 1.0
    for m in range(1, n):
        phi[m] = phi[int(p[tape + 2 * m])] * phi[int(p[tape + 2 * m + 1])]


@kernel
def combine(p, at, first, last, phi, out):
    """Write the peaks `first` to `last` - 1 to `out` behind `features`."""
    n = int(p[at + N])
    for k in range(first, last):
        w = at + int(p[at + WEIGHT]) + n * k
        out[k - first] = exp(dot(n, p[w : w + n], phi))


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
def hidden(p, at, phi):
    """Write the units of the fields' networks behind `stage_2`; `at`: the fields' table."""
    t = int(p[at + INPUT])
    stride = int(p[at + STRIDE])
    n = int(p[at + N_FIRST])
    m = int(p[at + N_SECOND])
    first = int(p[at + UNITS])
    unit = first + n
    t_1 = phi[t]
    t_2 = phi[t + stride]
    t_3 = phi[t + 2 * stride]
    t_4 = phi[t + 3 * stride]
    t_5 = phi[t + 4 * stride]
    g = phi[first : first + n]
    w = at + int(p[at + LAYERS])
    for _ in range(int(p[at + NETWORKS])):
        for j in range(n):
            g[j] = p[w + 5] + p[w] * t_1 + p[w + 1] * t_2 + p[w + 2] * t_3 + p[w + 3] * t_4 + p[w + 4] * t_5
            w += 6
        _bend(n, g)
        h = phi[unit : unit + m]
        for j in range(m):
            h[j] = p[w + n] + dot(n, p[w : w + n], g)
            w += n + 1
        _bend(m, h)
        unit += m
    phi[unit] = 1.0


@kernel
def _bend(n, a):
    """a/sqrt(1 + a^2) in place."""
    for j in range(n):
        a[j] = a[j] / math.sqrt(1.0 + a[j] * a[j])


@kernel
def reconstruct(p, at, field, phi, out, first):
    """Write the values of a field on its cells to `out` from `first` on, behind `hidden`; `at`: the fields' table."""
    cells = int(p[at + CELLS])
    n = int(p[at + NETWORKS]) * int(p[at + N_SECOND]) + 1
    units = int(p[at + UNITS]) + int(p[at + N_FIRST])
    h = at + FIELD + PER_FIELD * field
    modes = int(p[h])
    w = at + int(p[h + 1])
    u = at + int(p[h + 2])
    values = out[first : first + cells]
    for m in range(cells):
        values[m] = 0.0
    for k in range(modes):
        a = dot(n, p[w + n * k : w + n * (k + 1)], phi[units : units + n])
        mode = p[u + cells * k : u + cells * (k + 1)]
        for m in range(cells):
            values[m] += a * mode[m]
    if p[h + 3] == 1.0:
        for m in range(cells):
            if values[m] < 0.0:
                values[m] = 0.0
