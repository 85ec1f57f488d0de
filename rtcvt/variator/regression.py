"""Laws, peaks and field coefficients over the operating point.

An operating point has five coordinates, ``z = (i, xi, kappa, f, y)``. Each is clamped to the range of the data, mapped
and scaled to [-1, 1]::

    BILINEAR  g(z) = (z - c)/(z + c)        even in factors: a logarithm around c, bounded
    SIGMOID   g(z) = z/sqrt(z^2 + c^2)      odd, fine around zero
    t = 2 (g(z) - g(low))/(g(high) - g(low)) - 1

The torque ratio is measured from the point where the push force changes strands, ``xi - a q/sqrt(q^2 + b^2)`` with
``q = (i - 1)/(i + 1)``: there the rings alone carry the torque, by friction on the saddles, whose direction changes at
i = 1.

**Laws.** The logarithm of the thrust ratio is a tensor product of uniform quadratic B-splines in (t_1, ..., t_4), and
so is each coefficient of the polynomials in t_5 that the laws are: the logarithms of k, c and lambda, and asinh(s/e_0)
of the speed loss s = e + c xi, which has either sign and grows over decades; e is the rest of it::

    s(t) = sum_abcd B_a(t_1) B_b(t_2) B_c(t_3) B_d(t_4) C_abcd,    law(t) = sum_m s_m(t_1, ..., t_4) T_m(t_5)

with 81 terms at any point, for any number of splines. Those of all laws are summed up at once; the three along t_4 are
neighbours. T are Chebyshev polynomials.

**Peaks and fields.** The logarithms of the peaks, and the coefficients a_k of a field ``sum_k a_k u_k`` with modes u_k
on cells along the belt, are sums over the units of small networks with two hidden layers. Fronts that move along the
belt need units that bend at their own places. Peaks and fields have separate networks::

    g = s(W_1 t + b_1),    h = s(W_2 g + b_2),    out = W h + b,    s(a) = a/sqrt(1 + a^2)

with the units h of all its networks side by side. A field that cannot be negative is cut off at zero.

**Aside.** Forces across the belt, logarithms of factors of the peaks, and logarithms of standard deviations are
splines, too, on few places; a file may have none.

Outside the data all values are those at the border, and a number gives the distance outside. The distance of a point
from data is the distance to the nearest point of the campaign in (t_1, ..., t_4), relative to a typical distance
between these.

The kernels read two flat tables, `ReducedModel.table` and `ReducedModel.field_table`, that begin at ``data[at]`` with
the headers below; places in a table count from ``at``. Coefficients, weights and modes are in single precision, two in
the place of a double: half the memory, so that more of them fit a processor's cache. ``phi`` is scratch: the
coordinates, the splines' weights and sums, the torque ratio, the polynomials in t_5, distances, and the layers of the
networks. Inner loops run over neighbouring numbers that are independent of each other, so that a compiler may vectorise
them with the same result.
"""

import math

import numpy as np

from rtcvt.kernel import kernel, kernel_of_rows
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import exp

BILINEAR, SIGMOID = range(2)
COORDINATES = 5  # i, xi, kappa, f, y

N_LAWS = 4  # k, e, c, lambda
SIGNED = 1  # the one of them that is no exponential; e is the speed loss that it is, less c xi
CREEP = 2
SMALL_SPEED_LOSS = 0.002  # e_0
ORDER = 3  # splines that do not vanish at a place

ALIGNED = 8  # numbers: rows of tables begin with a cache line, else reading them is up to a tenth slower

# the header of the laws
N_LAW = 0  # polynomials in t_5 of a law
N_BLOCKS = 1  # blocks of neighbouring points of the campaign; the last point is repeated in the last block
COORDINATE = 2  # place of (map, c, low, high, g(low), 2/(g(high) - g(low))) of each coordinate
CENTRE = 3  # place of their blocks: least t_1 to t_4, largest ones, then BLOCK times t_1, then t_2, t_3, t_4
SPACING = 4  # 1/(typical distance between them)^2
SHIFT = 5  # a, b of the torque ratio's zero
THRUST = 7  # place of the splines' coefficients of ln zeta; then the number of splines along t_1 to t_4
LAW_SPLINES = 12  # the same for the laws, with the polynomials in t_5 of each law
PEAKS = 17  # place of the peaks' networks
ASIDE = 18  # place of the splines' coefficients of the outputs aside; then the number of splines along t_1 to t_4
N_ASIDE = 23  # how many that are: across the belt and of each peak, then of each band of uncertainty, if there are any
HEADER = 24
N_ACROSS = 3  # both exit forces, least distance of ring and pillar
N_UNCERTAIN = 4  # thrust ratio, slip, efficiency, peak of the flank normal force
OUTSIDE_GROWTH = 10.0  # of uncertainty, by how far a point is outside the data: a tenth of the range doubles it
BLOCK = 64
LANES = 8  # distances at a time; the step of `_nearest` has the same number
PER_BLOCK = 8 + 4 * BLOCK
MAX_DISTANCE_SQUARED = 16.0  # square of the largest distance

# the header of networks, followed by W_1, W_2 of each network and W: the row of b, then one for each weight
NETWORKS = 0
N_FIRST = 1  # units of a first layer
N_SECOND = 2  # of a second one
N_OUT = 3
PLACE = 4  # in phi: a first layer, then the units of all networks, then the outputs
LAYERS = 8  # a multiple of `ALIGNED`

# the header of the fields
CELLS = 0  # of a field
FIELD_NETWORKS = 1  # place of the networks
FIELD = 2  # from here on (modes, how many coefficients are before, place of the modes, 1 if not negative) of each field
PER_FIELD = 4

# phi
WEIGHTS = COORDINATES  # of the splines along t_1 to t_4
LN_ZETA = WEIGHTS + 4 * ORDER  # the other two are scratch
XI = LN_ZETA + ORDER  # torque ratio, clamped to the range of the data
NEAREST = XI + 1  # squares of distances
HELD = NEAREST + LANES  # t_1 to t_5 of the laws that are there, 1 if there are any, then these before ``- c xi``
IN_Y = HELD + COORDINATES + 1 + N_LAWS  # the polynomials in t_5; then the splines' sums of the laws
NOWHERE = 2.0  # t_5 of no laws


@kernel
def _coordinate(data, at, j, z, phi):
    """Write t of coordinate `j` at `z`; returns how far z is outside its range, as a share of it."""
    c = at + entry(at + COORDINATE, data) + 6 * j
    low = data[c + 2]
    high = data[c + 3]
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
    if data[c] == BILINEAR:
        g = (z - data[c + 1]) / (z + data[c + 1])
    else:
        g = z / math.sqrt(z * z + data[c + 1] * data[c + 1])
    phi[j] = (g - data[c + 4]) * data[c + 5] - 1.0
    return excess


@kernel
def _splines(n, t, at, phi):
    """Write the three B-splines that do not vanish at `t` to ``phi[at:]``; returns which of the `n` is the first."""
    cells = n - 2
    x = 0.5 * (t + 1.0) * cells
    cell = int(x)
    if cell > cells - 1:
        cell = cells - 1
    elif cell < 0:
        cell = 0
    r = x - cell
    s = 1.0 - r
    phi[at] = 0.5 * s * s
    phi[at + 1] = 0.5 + r * s
    phi[at + 2] = 0.5 * r * r
    return cell


@kernel_of_rows
def _sum_up(data, at, table, many, phi, first):
    """Write `many` sums of splines to ``phi[first:]`` and use three times as many places; `table`: of their header."""
    n_1 = entry(at + table + 2, data)
    n_2 = entry(at + table + 3, data)
    n_3 = entry(at + table + 4, data)
    place = _splines(entry(at + table + 1, data), phi[0], WEIGHTS, phi)
    place = place * n_1 + _splines(n_1, phi[1], WEIGHTS + 3, phi)
    place = place * n_2 + _splines(n_2, phi[2], WEIGHTS + 6, phi)
    place = place * n_3 + _splines(n_3, phi[3], WEIGHTS + 9, phi)
    step = n_3 * many
    corner = place * many
    packed = data[at + entry(at + table, data) :].view(np.float32)
    row = ORDER * many
    total = phi[first : first + row]
    for m in range(row):
        total[m] = 0.0
    for j in range(ORDER):
        for k in range(ORDER):
            w = phi[WEIGHTS + j] * phi[WEIGHTS + 3 + k]
            c = corner + (j * n_1 + k) * n_2 * step
            row_0 = packed[c : c + row]
            row_1 = packed[c + step : c + step + row]
            row_2 = packed[c + 2 * step : c + 2 * step + row]
            a_0 = w * phi[WEIGHTS + 6]
            a_1 = w * phi[WEIGHTS + 7]
            a_2 = w * phi[WEIGHTS + 8]
            for m in range(row):
                total[m] += a_0 * row_0[m] + a_1 * row_1[m] + a_2 * row_2[m]
    for m in range(many):
        total[m] = (
            phi[WEIGHTS + 9] * total[m] + phi[WEIGHTS + 10] * total[many + m] + phi[WEIGHTS + 11] * total[2 * many + m]
        )


@kernel
def stage_1(data, at, i, xi, kappa, f, phi):
    """Write the coordinates without y, and the logarithm of the thrust ratio.

    Parameters
    ----------
    data, at : ndarray, int
        Constants of the model, and where in them the table begins.
    i, xi, kappa, f : float
        Ratio of the radii at the rocking edges, signed torque ratio, m* v^2/F_CO, F_CO/F_ref.
    phi : ndarray
        Scratch, `reduced.tables.scratch` long.

    Returns
    -------
    float : how far the worst of the coordinates is outside the data, as a share of its range; 0 inside
    """
    outside = _coordinate(data, at, 0, i, phi)
    q = (i - 1.0) / (i + 1.0)
    b = data[at + SHIFT + 1]
    zero = data[at + SHIFT] * q / math.sqrt(q * q + b * b)
    if not abs(zero) <= abs(data[at + SHIFT]):  # NaN
        zero = 0.0
    xi -= zero
    excess = _coordinate(data, at, 1, xi, phi)
    if excess > outside:
        outside = excess
    c = at + entry(at + COORDINATE, data) + 6
    if xi > data[c + 3]:
        xi = data[c + 3]
    elif not xi >= data[c + 2]:
        xi = data[c + 2]
    phi[XI] = xi + zero
    excess = _coordinate(data, at, 2, kappa, phi)
    if excess > outside:
        outside = excess
    excess = _coordinate(data, at, 3, f, phi)
    if excess > outside:
        outside = excess
    same = phi[HELD + COORDINATES] == 1.0  # a step begins where one ended
    for j in range(4):
        same = same and phi[HELD + j] == phi[j]
    if not same:
        _sum_up(data, at, THRUST, 1, phi, LN_ZETA)
        for j in range(4):
            phi[HELD + j] = phi[j]
        phi[HELD + 4] = NOWHERE
        phi[HELD + COORDINATES] = 1.0
    return outside


@kernel
def thrust_ratio(phi):
    """F_I,eq/F_CO, after `stage_1`."""
    return exp(phi[LN_ZETA])


@kernel
def stage_2(data, at, y, phi):
    """Write y = F_CI/F_I,eq and its polynomials, after `stage_1`; returns the distance outside, as there."""
    outside = _coordinate(data, at, 4, y, phi)
    t = phi[4]
    phi[IN_Y] = 1.0
    phi[IN_Y + 1] = t
    for m in range(2, entry(at + N_LAW, data)):
        phi[IN_Y + m] = 2.0 * t * phi[IN_Y + m - 1] - phi[IN_Y + m - 2]
    return outside


@kernel
def laws(data, at, phi, out):
    """Write k, e, c and lambda to `out`, after `stage_2`."""
    found = HELD + COORDINATES + 1
    if phi[HELD + 4] != phi[4]:
        n = entry(at + N_LAW, data)
        c = IN_Y + n + 1
        _sum_up(data, at, LAW_SPLINES, N_LAWS * n, phi, c)
        for k in range(N_LAWS):
            total = 0.0
            for m in range(n):
                total += phi[c + n * k + m] * phi[IN_Y + m]
            growth = exp(total)
            phi[found + k] = 0.5 * SMALL_SPEED_LOSS * (growth - 1.0 / growth) if k == SIGNED else growth
        phi[HELD + 4] = phi[4]
    for k in range(N_LAWS):
        out[k] = phi[found + k]
    out[SIGNED] -= out[CREEP] * phi[XI]


@kernel
def aside(data, at, phi):
    """Sum up the outputs aside, after `laws`, whose sums are overwritten; returns their place in phi."""
    c = IN_Y + entry(at + N_LAW, data) + 1
    _sum_up(data, at, ASIDE, entry(at + N_ASIDE, data), phi, c)
    return c


@kernel
def _outside(data, c, t):
    """Square of the distance from `t` to the bounds at ``data[c]``; never above that to a point within."""
    total = 0.0
    for j in range(4):
        d = data[c + j] - t[j]
        above = t[j] - data[c + 4 + j]
        if above > d:
            d = above
        if d > 0.0:
            total += d * d
    return total


@kernel
def distance(data, at, phi):
    """Square of the distance to the nearest point of the campaign, by the square of a typical one, after `stage_1`.

    It is at most 16. The block whose bounds are nearest comes first, others only if their bounds are nearer than all
    points so far.
    """
    c = at + entry(at + CENTRE, data)
    first = 0
    least = MAX_DISTANCE_SQUARED
    for k in range(entry(at + N_BLOCKS, data)):
        outside = _outside(data, c + k * PER_BLOCK, phi)
        if outside < least:
            least = outside
            first = k
    least = _nearest(data, c + first * PER_BLOCK + 8, phi)
    for k in range(entry(at + N_BLOCKS, data)):
        outside = _outside(data, c + k * PER_BLOCK, phi)
        if k != first and outside < least:
            d = _nearest(data, c + k * PER_BLOCK + 8, phi)
            least = d if d < least else least
    return least * data[at + SPACING]


@kernel_of_rows
def _nearest(data, c, phi):
    """Square of the distance to the nearest of the points at ``data[c]``, at most `MAX_DISTANCE_SQUARED`."""
    t_0 = phi[0]
    t_1 = phi[1]
    t_2 = phi[2]
    t_3 = phi[3]
    nearest = phi[NEAREST : NEAREST + LANES]
    for m in range(LANES):
        nearest[m] = MAX_DISTANCE_SQUARED
    for first in range(c, c + BLOCK, 8):
        c_0 = data[first : first + LANES]
        c_1 = data[first + BLOCK : first + BLOCK + LANES]
        c_2 = data[first + 2 * BLOCK : first + 2 * BLOCK + LANES]
        c_3 = data[first + 3 * BLOCK : first + 3 * BLOCK + LANES]
        for m in range(LANES):
            d_0 = t_0 - c_0[m]
            d_1 = t_1 - c_1[m]
            d_2 = t_2 - c_2[m]
            d_3 = t_3 - c_3[m]
            d = d_0 * d_0 + d_1 * d_1 + d_2 * d_2 + d_3 * d_3
            nearest[m] = d if d < nearest[m] else nearest[m]
    least = nearest[0]
    for m in range(1, LANES):
        least = nearest[m] if nearest[m] < least else least
    return least


@kernel_of_rows
def add_rows(n, m, a, w, out):
    """Add ``sum_j a_j w_j`` to the `m` numbers of `out`; w_j are the `n` rows of `w`. Four rows are added at a time."""
    whole = n - (n & 3)
    for j in range(0, whole, 4):
        c = j * m
        row_0 = w[c : c + m]
        row_1 = w[c + m : c + 2 * m]
        row_2 = w[c + 2 * m : c + 3 * m]
        row_3 = w[c + 3 * m : c + 4 * m]
        a_0 = a[j]
        a_1 = a[j + 1]
        a_2 = a[j + 2]
        a_3 = a[j + 3]
        for k in range(m):
            out[k] += (a_0 * row_0[k] + a_1 * row_1[k]) + (a_2 * row_2[k] + a_3 * row_3[k])
    for j in range(whole, n):
        row = w[j * m : (j + 1) * m]
        a_0 = a[j]
        for k in range(m):
            out[k] += a_0 * row[k]


@kernel
def _layer(n, m, a, w, out):
    """Write W a + b to the `m` numbers of `out`: `w` is b, then the `n` columns of W."""
    for k in range(m):
        out[k] = w[k]
    add_rows(n, m, a, w[m : m + n * m], out)


@kernel_of_rows
def _bend(n, a):
    """a/sqrt(1 + a^2) in place."""
    for j in range(n):
        a[j] = a[j] / math.sqrt(1.0 + a[j] * a[j])


@kernel
def network(data, at, phi):
    """Evaluate networks, after `stage_2`; their table begins at `at`. Returns the place in `phi` of the outputs."""
    networks = entry(at + NETWORKS, data)
    n = entry(at + N_FIRST, data)
    m = entry(at + N_SECOND, data)
    n_out = entry(at + N_OUT, data)
    first = entry(at + PLACE, data)
    units = first + n
    out = units + networks * m
    g = phi[first : first + n]
    packed = data[at + LAYERS :].view(np.float32)
    w = 0
    for k in range(networks):
        h = phi[units + k * m : units + (k + 1) * m]
        _layer(COORDINATES, n, phi, packed[w : w + (COORDINATES + 1) * n], g)
        _bend(n, g)
        w += (COORDINATES + 1) * n
        _layer(n, m, g, packed[w : w + (n + 1) * m], h)
        _bend(m, h)
        w += (n + 1) * m
    whole = networks * m
    _layer(whole, n_out, phi[units:out], packed[w : w + (whole + 1) * n_out], phi[out : out + n_out])
    return out


@kernel
def reconstruct(data, at, field, phi, first, values):
    """Write a field to the cells `values`; `at`: the fields' table, `first`: place that `network` returned for it."""
    cells = entry(at + CELLS, data)
    h = at + FIELD + PER_FIELD * field
    modes = entry(h, data)
    a = first + entry(h + 1, data)
    u = at + entry(h + 2, data)
    for m in range(cells):
        values[m] = 0.0
    add_rows(modes, cells, phi[a : a + modes], data[u:].view(np.float32), values)
    if data[h + 3] == 1.0:
        for m in range(cells):
            values[m] = 0.0 if values[m] < 0.0 else values[m]
