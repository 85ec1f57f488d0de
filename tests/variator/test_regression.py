"""Laws and fields over the operating point: kernels against numpy, borders, bad numbers, and the file."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import isotonic_regression

from rtcvt.errors import InputError
from rtcvt.files.hdf5 import seal
from rtcvt.variator import regression
from rtcvt.variator.reduced.coordinates import COORDINATES, Coordinate, nodes, scaled
from rtcvt.variator.reduced.file import CONSTANTS, SEAL, read_reduced, write_reduced
from rtcvt.variator.reduced.model import BANDS, CORRECTIONS, LAWS, OF_LAWS, UNCERTAIN, Peak, ReducedField, ReducedModel
from rtcvt.variator.reduced.networks import Networks
from rtcvt.variator.reduced.splines import GRAIN, GRAINS, sites, splines, splines_through
from rtcvt.variator.reduced.tables import field_table, law_table, scratch

RANGES = ((0.45, 2.4), (-0.9, 0.95), (3e-4, 0.3), (0.6, 3.5), (0.5, 1.8))
MAPS = (("bilinear", 1.0), ("sigmoid", 0.5), ("bilinear", 0.02), ("bilinear", 1.5), ("bilinear", 1.0))
AT = 7  # the table does not begin at the parameters' start


def random_model(seed=1):
    rng = np.random.default_rng(seed)

    def normal(*shape):  # as a file keeps it
        return rng.normal(size=shape).astype(np.float32).astype(float)

    return ReducedModel(
        "random",
        {name: 1.0 + k for k, name in enumerate(CONSTANTS)},
        tuple(Coordinate(c, *m, *r) for c, m, r in zip(COORDINATES, MAPS, RANGES, strict=True)),
        (0.05, 0.03),
        0.25 * normal(6, 9, 4, 5),
        normal(5, 7, 6, 3, 4 * 3),
        tuple(Peak(f"peak.{k}", normal(4)) for k in ("push", "flank_normal")),
        tuple(
            ReducedField(k, u, "a field", normal(K, 16), normal(K, 11), np.ones(9), positive, across)
            for k, u, K, positive, across in (
                ("push", "N", 6, False, normal(6, 11)),
                ("flank_normal", "N/m", 1, True, np.zeros((0, 0))),
            )
        ),
        rng.uniform(-1.0, 1.0, (150, 4)),
        0.4,
        Networks(normal(2, 9, 6), normal(2, 5, 10)),
        Networks(normal(1, 6, 6), normal(1, 3, 7)),
        {"heldout.thrust.rms": 0.02},
        "unit text",
        "plan text",
        {"runs": 12},
        normal(4, 5, 3, 3, len(UNCERTAIN)),
        0.125 * normal(4, 5, 3, 3, len(CORRECTIONS) + 2),
        normal(4, 5, 3, 3, len(UNCERTAIN)),
        0.25,
        parametric=normal(4, 5, 3, 3, len(UNCERTAIN)),
    )


@pytest.fixture(scope="module")
def model():
    return random_model()


def points(n, seed=2):
    rng = np.random.default_rng(seed)
    z = rng.uniform(*np.array(RANGES).T, (n, 5))
    z[:, 1] *= 0.9  # inside also when it counts from its zero
    return z


def run(model, z):
    """Outputs of the kernels at an operating point, outside measure, distance and fields."""
    p = np.concatenate([np.full(AT, np.nan), law_table(model)])
    q = np.concatenate([np.full(3, np.nan), field_table(model)])
    phi = np.full(scratch(model), np.nan)
    outside = regression.stage_1(p, AT, *z[:4], phi)
    zeta = regression.thrust_ratio(phi)
    far = regression.distance(p, AT, phi)
    outside = max(outside, regression.stage_2(p, AT, z[4], phi))
    out = np.full(6, np.nan)
    regression.laws(p, AT, phi, out)
    top = regression.network(p, AT + int(p[AT + regression.PEAKS]), phi)
    out[4:] = np.exp(phi[top : top + 2])
    fields = np.full(40, np.nan)
    first = regression.network(q, 3 + int(q[3 + regression.FIELD_NETWORKS]), phi)
    for k in range(len(model.fields)):
        regression.reconstruct(q, 3, k, phi, first, fields[4 + 16 * k : 20 + 16 * k])
    return zeta, out, outside, far, fields


def test_kernels_agree_with_arrays_of_all_points(model):
    Z, model = points(40), replace(model.planar, fields=model.fields)
    expected = model.evaluate(Z)
    assert not np.allclose(model.planar.field("push", Z), model.field("push", Z))
    fields = [model.field(f.name, Z) for f in model.fields]
    for k, z in enumerate(Z):
        zeta, out, outside, _, values = run(model, z)
        assert outside == 0.0
        assert_allclose(zeta, expected["zeta"][k], rtol=1e-13)
        assert_allclose(
            out, [expected[name][k] for name in (*LAWS, "peak.push", "peak.flank_normal")], rtol=1e-11, atol=1e-13
        )
        assert_allclose(values[4:36], np.concatenate([f[k] for f in fields]), rtol=1e-10, atol=1e-11)
        assert np.isnan(values[[0, 3, 36, 39]]).all()


def test_tables_begin_where_cache_lines_do(model):
    table, fields = law_table(model), field_table(model)
    places = [int(table[k]) for k in (regression.THRUST, regression.LAW_SPLINES, regression.PEAKS, regression.ASIDE)]
    places += [
        int(fields[regression.FIELD_NETWORKS]),
        *(int(a) for a in fields[regression.FIELD + 2 : regression.FIELD + 2 + 4 * len(model.fields) : 4]),
    ]
    assert [place % regression.ALIGNED for place in places] == [0] * len(places)
    assert regression.LAYERS % regression.ALIGNED == 0


def test_corrections_and_uncertainty_are_those_of_the_arrays_and_may_be_missing(model):
    Z = points(20)
    found, planar = model.evaluate(Z), model.planar.evaluate(Z)
    table, phi = np.concatenate([np.full(AT, np.nan), law_table(model)]), np.full(scratch(model), np.nan)
    for k, z in enumerate(Z):
        outside = max(regression.stage_1(table, AT, *z[:4], phi), regression.stage_2(table, AT, z[4], phi))
        away = (1.0 + regression.OUTSIDE_GROWTH * outside) * max(np.sqrt(regression.distance(table, AT, phi)), 1.0)
        c = regression.aside(table, AT, phi)
        assert_allclose(
            phi[c : c + regression.N_ACROSS], [found[name][k] for name in CORRECTIONS[OF_LAWS:]], rtol=1e-11
        )
        peak = np.exp(phi[c + regression.N_ACROSS + 1]) * planar["peak.flank_normal"][k]
        assert_allclose(peak, found["peak.flank_normal"][k], rtol=1e-11)
        c += regression.N_ACROSS + 2
        s = [found[f"{band}.{name}"][k] for band in BANDS for name in UNCERTAIN]
        assert_allclose(away * np.exp(phi[c : c + 8]), s, rtol=1e-11)
        alone = run(model.planar, z)
        assert_allclose(alone[0], planar["zeta"][k], rtol=1e-13)
        assert_allclose(alone[1][:4], [planar[name][k] for name in LAWS], rtol=1e-11, atol=1e-13)
    assert "uncertainty.slip" not in replace(model, uncertainty=np.zeros((0, 0, 0, 0, 4))).evaluate(Z)


def test_corrections_are_what_the_laws_change_by_at_the_sites(model):
    """Of logarithms of zeta, k, c and lambda; standard deviations have tables of their own."""
    y, model = nodes(model.coordinates[4], 3), replace(model, spacing=100.0)  # all places are next to data
    for shape in (model.thrust.shape, model.laws.shape[:4], model.correction.shape[:4]):
        t = np.array([[sites(n)[k] for n, k in zip(shape, at, strict=True)] for at in np.ndindex(shape)][::7])
        Z = of_scaled(model, np.column_stack([t, y[np.arange(len(t)) % 3]]))
        found, planar = model.evaluate(Z), model.planar.evaluate(Z)
        weights = [splines(n, t[:, j]) for j, n in enumerate(model.correction.shape[:4])]
        d = np.einsum("ra,rb,rc,rd,abcdm->rm", *weights, model.correction, optimize=True)
        if shape == model.thrust.shape:
            assert_allclose(found["zeta"], planar["zeta"] * np.exp(d[:, 0]), rtol=0.5 * GRAINS[0])
        elif shape == model.laws.shape[:4]:
            for name in ("c", "lambda"):
                assert_allclose(found[name], planar[name] * np.exp(d[:, 2]), rtol=GRAINS[1])
            assert_allclose(found["k"], planar["k"] * np.exp(d[:, 3]), rtol=GRAINS[1])
        else:
            assert_allclose(found["ring_to_pillar"], d[:, 6], rtol=GRAIN, atol=1e-6)
            assert_allclose(found["peak.push"], planar["peak.push"] * np.exp(d[:, 7]), rtol=GRAIN)
            tables = (BANDS[0], model.uncertainty, planar), (BANDS[0], model.deviation, found)
            for band, table, of in (*tables, (BANDS[1], model.parametric, planar), (BANDS[1], model.parametric, found)):
                s = np.exp(np.einsum("ra,rb,rc,rd,abcdm->rm", *weights, table, optimize=True))
                for k, name in enumerate(UNCERTAIN):
                    assert_allclose(of[f"{band}.{name}"], s[:, k], rtol=GRAIN)


def test_the_speed_loss_does_not_fall_as_the_torque_ratio_grows(model):
    """At any place of i, kappa and f, at the `nodes` of y; the coefficients are SciPy's."""
    raw = model.laws[..., 3:6].copy()
    more = _at(model.correction[..., 1], [sites(n) for n in raw.shape[:4]])
    raw[..., 0] += splines_through(more)
    in_y = np.polynomial.chebyshev.chebvander(nodes(model.coordinates[4], 3), 2)
    raw = raw @ in_y.T
    nearest = np.apply_along_axis(lambda v: isotonic_regression(v).x, 1, raw)
    t = np.random.default_rng(3).uniform(-1.0, 1.0, (12, 5))
    for k, place in enumerate(t):
        row = np.tile(place, (200, 1))
        row[:, 1], row[:, 4] = np.linspace(-1.0, 1.0, 200), nodes(model.coordinates[4], 3)[k % 3]
        Z = of_scaled(model, row)
        found = model.evaluate(Z)
        slip = found["e"] + found["c"] * Z[:, 1]
        expected = regression.SMALL_SPEED_LOSS * np.sinh(
            _at(nearest[..., k % 3], [a[:1] if j != 1 else a for j, a in enumerate(row.T[:4])])
        )
        assert_allclose(slip, expected.ravel(), rtol=10 * GRAIN, atol=1e-6)
        assert np.diff(slip).min() > -1e-5
    assert (np.diff(raw, axis=1) < 0.0).mean() > 0.2


def _at(coefficients, places):
    """Sums of splines (n_1, n_2, n_3, n_4) at all places along each of four axes."""
    weights = [splines(n, a) for n, a in zip(coefficients.shape, places, strict=True)]
    return np.einsum("ia,jb,kc,ld,abcd->ijkl", *weights, coefficients, optimize=True)


def of_scaled(model, t):
    """Operating points of scaled coordinates (n, 5)."""
    z = np.empty_like(t)
    for j, c in enumerate(model.coordinates):
        low, high = float(c.mapped(c.low)), float(c.mapped(c.high))
        g = low + 0.5 * (t[:, j] + 1.0) * (high - low)
        z[:, j] = c.centre * ((1.0 + g) / (1.0 - g) if c.map == "bilinear" else g / np.sqrt(1.0 - g**2))
    q = (z[:, 0] - 1.0) / (z[:, 0] + 1.0)
    z[:, 1] += model.shift[0] * q / np.hypot(q, model.shift[1])
    return z


def test_a_field_is_that_of_two_layers_and_cut_off_at_zero_where_it_cannot_be_negative(model):
    z = points(30)
    t = np.column_stack([scaled(model.coordinates, model.shift, z), np.ones(30)])
    units = []
    for first, second in zip(model.networks.first, model.networks.second, strict=True):
        g = np.column_stack([t @ first.T / np.hypot(1.0, t @ first.T), np.ones(30)])
        units.append(g @ second.T / np.hypot(1.0, g @ second.T))
    h = np.column_stack([*units, np.ones(30)])
    push, normal = (h @ f.corrected.T @ f.modes for f in model.fields)
    assert push.min() < 0.0
    assert normal.min() < 0.0
    assert_allclose(model.field("push", z), push, rtol=1e-12, atol=1e-13)
    assert_allclose(model.field("flank_normal", z), np.maximum(normal, 0.0), rtol=1e-12, atol=1e-13)


def test_distance_is_that_to_the_nearest_point_of_the_campaign(model):
    low, high = np.array(RANGES)[:4].T
    for z in points(20):
        t = []
        for j, c in enumerate(model.coordinates[:4]):
            value = z[j]
            if c.name == "xi":
                q = (z[0] - 1.0) / (z[0] + 1.0)
                value = np.clip(value - 0.05 * q / np.hypot(q, 0.03), low[j], high[j])
            g = [(a - c.centre) / (a + c.centre) if c.map == "bilinear" else a / np.hypot(a, c.centre)
                 for a in (value, c.low, c.high)]  # fmt: skip
            t.append(2.0 * (g[0] - g[1]) / (g[2] - g[1]) - 1.0)
        nearest = np.min(np.sum((model.points - t) ** 2, axis=1))
        assert_allclose(run(model, z)[3], nearest / model.spacing**2, rtol=1e-10)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 129, 1000])
def test_blocks_that_are_left_out_do_not_change_the_distance(model, n):
    """To the last bit that of all points, one after the other, also where they lie twice and far outside of them."""
    rng = np.random.default_rng(n)
    centres = np.repeat(rng.normal(0.0, 0.4, (n // 5 + 1, 4)), 5, axis=0)[:n]
    many = replace(
        model, points=np.clip(centres + rng.choice([0.0, 0.02], (n, 1)) * rng.normal(size=(n, 4)), -1.0, 1.0)
    )
    table = np.concatenate([np.full(AT, np.nan), law_table(many)])
    phi = np.full(scratch(many), np.nan)
    for t in (*rng.uniform(-1.0, 1.0, (200, 4)), *many.points[:20], 8.0 * np.ones(4)):
        phi[:4] = t
        d = t - many.points
        squares = d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2] + d[:, 3] * d[:, 3]
        assert regression.distance(table, AT, phi) == min(16.0, squares.min()) * (1.0 / many.spacing**2)


@pytest.mark.parametrize("j", range(5))
def test_outside_its_range_a_coordinate_stays_at_the_border_and_says_so(model, j):
    low, high = RANGES[j]
    for border, beyond in ((high, high + 0.25 * (high - low)), (low, low - 0.25 * (high - low))):
        z = points(1, seed=j)[0]
        z[1] *= 0.5
        z[j] = border if j != 1 else border * 1.2  # xi counts from a zero that depends on i
        at, over = z.copy(), z.copy()
        over[j] = beyond if j != 1 else beyond * 1.2
        inside, outside = run(model, at), run(model, over)
        if j == 0:  # i moves that zero by what is left of the slope
            assert outside[2] > 0.2
            continue
        assert_array_equal(inside[0], outside[0])
        assert_array_equal(inside[1], outside[1])
        assert outside[2] > inside[2]
        if j != 1:
            assert_allclose(outside[2], 0.25, rtol=1e-9)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=5, max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_number_gives_finite_outputs_and_what_must_be_positive_is(z):
    zeta, out, outside, far, fields = run(_MODEL, np.array(z))
    assert np.isfinite(zeta)
    assert zeta > 0.0
    assert np.isfinite(out).all()
    assert all(a > 0.0 for name, a in zip((*LAWS, "", ""), out, strict=True) if name != "e")
    assert np.isfinite(fields[4:36]).all()
    assert outside >= 0.0
    assert np.isfinite(far)
    if np.isnan(z).any() or np.isinf(z).any():
        assert outside > 0.0


_MODEL = random_model()


def test_laws_are_smooth_in_between(model):
    """Slopes along a line through the range have no jumps: quadratic splines have steady slopes."""
    a, b = points(2, seed=9)
    places = np.linspace(0.0, 1.0, 4001)
    values = np.array([np.log(run(model, a + (b - a) * s)[1][0]) for s in places])
    slopes = np.diff(values)
    assert np.abs(np.diff(slopes)).max() < 0.01 * np.abs(slopes).max()


@pytest.mark.parametrize("n", [3, 4, 5, 13])
def test_splines_reproduce_parabolas(n):
    t = np.linspace(-1.0, 1.0, 41)
    assert_allclose(splines(n, t).sum(axis=1), 1.0, rtol=1e-14)
    assert np.all(splines(n, t) >= 0.0)
    assert len(np.unique(sites(n))) == n
    parabola = np.polynomial.Polynomial([0.3, -1.0, 0.7])
    assert_allclose(splines(n, t) @ splines_through(parabola(sites(n)), axes=1), parabola(t), atol=1e-12)


def test_splines_go_through_their_values():
    values = np.random.default_rng(3).normal(size=(4, 6, 5, 7, 2))
    c = splines_through(values)
    t = [sites(n) for n in values.shape[:4]]
    found = np.einsum("ia,jb,kc,ld,abcdm->ijklm", *(splines(len(a), a) for a in t), c, optimize=True)
    assert_allclose(found, values, atol=1e-12)


def test_file_holds_everything(model, tmp_path):
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    found = read_reduced(path)
    assert found.name == model.name
    assert found.constants == model.constants
    assert found.coordinates == model.coordinates
    assert found.shift == model.shift
    assert (found.errors, found.slide) == (model.errors, 0.25)
    assert (found.unit_file, found.plan, found.attributes["runs"]) == ("unit text", "plan text", 12)
    assert_array_equal(law_table(found), law_table(model))
    assert_array_equal(field_table(found), field_table(model))
    about = [(f.name, f.unit, f.description, f.positive) for f in model.fields]
    assert [(f.name, f.unit, f.description, f.positive) for f in found.fields] == about
    with h5py.File(path) as file:
        bare = []
        file.visititems(
            lambda name, item: (
                bare.append(name)
                if isinstance(item, h5py.Dataset) and not {"units", "description"} <= set(item.attrs)
                else None
            )
        )
        assert not bare
        assert {"schema_version", "kind", "revision", "created"} <= set(file.attrs)
    assert list(tmp_path.iterdir()) == [path]


def _set(name, value):
    def damage(file):
        data = file[name][()]
        del file[name]
        file[name] = value(data) if callable(value) else value

    return damage


@pytest.mark.parametrize(("damage", "key"), [(_set("thrust", lambda a: a[0]), "thrust"),
    (_set("thrust", lambda a: a[:2]), "thrust"), (_set("laws", lambda a: a[..., :-1]), "laws"),
    (_set("peaks/weights", lambda a: a[:, :-1]), "peaks/weights"), (_set("peaks/first", lambda a: a[:, :-1]), "peaks"),
    (_set("uncertainty", lambda a: a[..., :3]), "uncertainty"),
    (_set("correction", lambda a: a[..., :5]), "correction"), (_set("correction", lambda a: a[:-1]), "correction"),
    (_set("deviation", lambda a: a[:-1]), "deviation"), (_set("parametric", lambda a: a[:-1]), "parametric"),
    (_set("coordinates/centre", lambda a: -a), "coordinates"),
    (_set("coordinates/range", lambda a: a[:, ::-1]), "coordinates"),
    (_set("coordinates/shift", [0.1, 0.0]), "coordinates/shift"), (_set("constants/mu", 0.0), "constants/mu"),
    (_set("campaign/points", lambda a: a[:, :3]), "campaign/points"),
    (_set("campaign/spacing", 0.0), "campaign/spacing"), (_set("fields/push/modes", lambda a: a[:, :-1]), "fields"),
    (_set("fields/push/weights", lambda a: a[:-1]), "fields/push"),
    (_set("fields/push/across", lambda a: a[:, 1:]), "fields/push"),
    (_set("networks/first", lambda a: a[:1]), "networks"), (_set("networks/first", lambda a: a[:, :-1]), "networks"),
    (lambda file: file.attrs.update(schema_version=99), "schema_version"),
    (lambda file: file.attrs.update(schema_version=6), "schema version 7")])  # fmt: skip
def test_a_damaged_file_is_refused_by_name(model, tmp_path, damage, key):
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    with h5py.File(path, "r+") as file:
        damage(file)
    seal(path, SEAL)
    with pytest.raises(InputError) as refused:
        read_reduced(path)
    assert str(path) in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize(("version", "mark", "message"), [
    (5, SEAL, r"made by rtcvt 0.0.9 \(revision abc, 2025-01-01\): rtcvt reduce RUNS -o model.h5, .*, makes it again"),
    (3, b"rtcvt reduced 3 ", r"schema_version = '3': .*made by rtcvt 0.0.9 .*makes it again"),
    (8, SEAL, "made by rtcvt 0.0.9 .*: use that release or a newer one"),
])  # fmt: skip
def test_a_file_of_another_release_says_which_and_what_to_do(model, tmp_path, version, mark, message):
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    with h5py.File(path, "r+") as file:
        file.attrs.update(schema_version=version, rtcvt_version="0.0.9", revision="abc", created="2025-01-01")
        del file["constants"]
    seal(path, mark)
    with pytest.raises(InputError, match=message):
        read_reduced(path)


def _changed(kind, data):
    data = np.array(data, dtype=float)
    if kind in ("nan", "huge"):
        data.flat[0] = np.nan if kind == "nan" else 1e300
    return {"text": "x", "deep": data[None]}.get(kind, data)


def test_every_number_of_a_file_is_in_range_or_refused_by_name(model, tmp_path):
    """Not finite, beyond all machines, a text, with one axis more, or missing."""
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    good, keys = path.read_bytes(), []
    with h5py.File(path) as file:
        file.visititems(lambda key, item: keys.append(key) if str(getattr(item, "dtype", "")).startswith("f") else None)
    free = {"uncertainty", "correction", "deviation", "parametric", "slide"}  # need not be there
    assert {"thrust", "laws", "constants/mu", "campaign/points", "peaks/weights", "fields/push/modes"} | free <= {*keys}
    for k, key in enumerate(keys):
        kind = ("nan", "huge", "text", "deep", "gone")[k % 5]
        if key in free or key.startswith("errors"):
            kind = ("text", "deep")[k % 2]
        path.write_bytes(good)
        with h5py.File(path, "r+") as file:
            data = file.pop(key)[()]
            if kind != "gone":
                file[key] = _changed(kind, data)
        seal(path, SEAL)
        with pytest.raises(InputError, match=rf"model\.h5: {key.partition('/')[0]}"):
            read_reduced(path)


def test_what_is_no_file_of_a_model_is_refused(tmp_path):
    path = tmp_path / "text.h5"
    path.write_text("no")
    for p in (path, tmp_path / "none.h5"):
        with pytest.raises(InputError):
            read_reduced(p)


def test_laws_that_are_there_are_used_at_their_place_only(model):
    """Each coordinate changes alone, there and back; the thrust ratio may be asked for alone."""
    table, kept = np.concatenate([np.full(AT, np.nan), law_table(model)]), np.zeros(scratch(model))
    here, there = points(2)

    def found(z, phi, whole):
        regression.stage_1(table, AT, *z[:4], phi)
        out = [phi[regression.LN_ZETA], *np.zeros(4)]
        if whole:
            regression.stage_2(table, AT, z[4], phi)
            regression.laws(table, AT, phi, laws := np.zeros(4))
            out[1:] = laws
            regression.aside(table, AT, phi)
        return out

    for j in range(5):
        changed = np.where(np.arange(5) == j, there, here)
        for z, whole in ((here, True), (changed, False), (changed, True), (changed, True), (here, False), (here, True)):
            assert found(z, kept, whole) == found(z, np.zeros(scratch(model)), whole)
    phi, held = np.zeros(scratch(model)), slice(regression.HELD, regression.HELD + 4)
    phi[held] = kept[held]  # none are there
    first = found(here, phi, True)
    assert first == found(here, kept, True)
    phi[regression.LN_ZETA] = 7.0
    assert found(here, phi, False)[0] == 7.0
    table[:], phi[regression.IN_Y :] = np.nan, np.nan  # nothing is read of the splines again
    regression.laws(table, AT, phi, laws := np.zeros(4))
    assert laws.tolist() == first[1:]
