"""Laws and fields over the operating point: kernels against numpy, borders, bad numbers, and the file."""

import itertools

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rtcvt.errors import InputError
from rtcvt.variator.reduced_model import (
    CONSTANTS,
    COORDINATES,
    LAWS,
    Coordinate,
    Law,
    ReducedField,
    ReducedModel,
    read_reduced,
    write_reduced,
)
from rtcvt.variator.regression import combine, distance, dot, reconstruct, stage_1, stage_2, thrust_ratio

RANGES = ((0.45, 2.4), (-0.9, 0.95), (3e-4, 0.3), (0.6, 3.5), (0.5, 1.8))
MAPS = (("bilinear", 1.0), ("sigmoid", 0.5), ("bilinear", 0.02), ("bilinear", 1.5), ("bilinear", 1.0))
AT = 7  # the table does not begin at the parameters' start


def random_model(seed=1):
    rng = np.random.default_rng(seed)
    degrees = (3, 5, 1, 2, 3)
    index = [m for m in itertools.product(*(range(d + 1) for d in degrees)) if sum(np.divide(m, degrees)) <= 1.0]
    index = np.array(sorted(index, key=lambda m: (m[-1] > 0, sum(a > 0 for a in m), m)))
    n, n_1 = len(index), int(np.sum(index[:, -1] == 0))
    names = (*LAWS, "peak.push")
    return ReducedModel(
        "random",
        {name: 1.0 + k for k, name in enumerate(CONSTANTS)},
        tuple(Coordinate(c, *m, *r) for c, m, r in zip(COORDINATES, MAPS, RANGES, strict=True)),
        (0.05, 0.03),
        index,
        0.1 * rng.normal(size=n_1),
        tuple(Law(k, f"about {k}", k != "e", 0.3 * rng.normal(size=n)) for k in names),
        tuple(
            ReducedField(k, u, "a field", rng.normal(size=(K, 16)), rng.normal(size=(K, n)), np.ones(9))
            for k, u, K in (("push", "N", 3), ("flank_normal", "N/m", 1))
        ),
        rng.uniform(-1.0, 1.0, (12, 4)),
        0.4,
        {"heldout.thrust.rms": 0.02},
        "unit text",
        "plan text",
        {"runs": 12},
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
    p = np.concatenate([np.full(AT, np.nan), model.table()])
    q = np.concatenate([np.full(3, np.nan), model.field_table()])
    phi = np.full(model.scratch, np.nan)
    outside = stage_1(p, AT, *z[:4], phi)
    zeta = thrust_ratio(p, AT, phi)
    far = distance(p, AT, phi)
    outside = max(outside, stage_2(p, AT, z[4], phi))
    out = np.full(len(model.laws), np.nan)
    combine(p, AT, 0, len(model.laws), phi, out)
    fields = np.full(40, np.nan)
    for k in range(len(model.fields)):
        reconstruct(q, 3, k, phi, fields, 4 + 16 * k)
    return zeta, out, outside, far, fields


def test_kernels_agree_with_products_of_chebyshev_polynomials(model):
    Z = points(40)
    expected = model.evaluate(Z)
    fields = [model.field(f.name, Z) for f in model.fields]
    for k, z in enumerate(Z):
        zeta, out, outside, _, values = run(model, z)
        assert outside == 0.0
        assert_allclose(zeta, expected["zeta"][k], rtol=1e-13)
        assert_allclose(out, [expected[law.name][k] for law in model.laws], rtol=1e-11, atol=1e-13)
        assert_allclose(values[4:36], np.concatenate([f[k] for f in fields]), rtol=1e-10, atol=1e-11)
        assert np.isnan(values[[0, 3, 36, 39]]).all()


def test_a_part_of_the_outputs_is_that_part(model):
    p, phi = model.table(), np.zeros(model.scratch)
    stage_1(p, 0, *points(1)[0, :4], phi)
    stage_2(p, 0, 1.1, phi)
    whole, part = np.zeros(5), np.zeros(2)
    combine(p, 0, 0, 5, phi, whole)
    combine(p, 0, 2, 4, phi, part)
    assert_array_equal(part, whole[2:4])


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
    assert all(a > 0.0 for a, law in zip(out, _MODEL.laws, strict=True) if law.log)
    assert np.isfinite(fields[4:36]).all()
    assert outside >= 0.0
    assert np.isfinite(far)
    if np.isnan(z).any() or np.isinf(z).any():
        assert outside > 0.0


_MODEL = random_model()


def test_outputs_are_smooth_in_between(model):
    """Second differences over steps of h fall as h^2 along a line through the range."""
    a, b = points(2, seed=9)

    def bend(h):
        z = a + (b - a) * (0.5 + np.array([-h, 0.0, h]))[:, None]
        return abs(np.diff([run(model, k)[1][0] for k in z], 2)[0])

    assert_allclose(bend(1e-3) / bend(5e-4), 4.0, rtol=0.01)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 173])
def test_sum_of_products(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n + 3))
    assert_allclose(dot(n, a, b), a[:n] @ b[:n], atol=1e-12)


def test_file_holds_everything(model, tmp_path):
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    found = read_reduced(path)
    assert found.name == model.name
    assert found.constants == model.constants
    assert found.coordinates == model.coordinates
    assert found.shift == model.shift
    assert found.errors == model.errors
    assert (found.unit_file, found.plan, found.attributes["runs"]) == ("unit text", "plan text", 12)
    assert_array_equal(found.table(), model.table())
    assert_array_equal(found.field_table(), model.field_table())
    assert [(f.name, f.unit, f.description) for f in found.fields] == [
        (f.name, f.unit, f.description) for f in model.fields
    ]
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


def _first(value):
    def changed(data):
        data = np.array(data)
        data.flat[0] = value
        return data

    return changed


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        (_set("thrust", lambda a: a[:-1]), "thrust"),
        (_set("thrust", _first(np.nan)), "thrust"),
        (_set("laws/weights", lambda a: a[:, :-1]), "laws/weights"),
        (_set("laws/weights", _first(np.inf)), "laws/weights"),
        (_set("laws/log", _first(0)), "laws/log"),
        (_set("features/index", lambda a: a[::-1]), "features/index"),
        (_set("features/index", lambda a: np.delete(a, 1, axis=0)), "features/index"),
        (_set("features/index", _first(-1)), "features/index"),
        (_set("coordinates/centre", lambda a: -a), "coordinates"),
        (_set("coordinates/range", lambda a: a[:, ::-1]), "coordinates"),
        (_set("coordinates/shift", [0.1, 0.0]), "coordinates/shift"),
        (_set("constants/mu", 0.0), "constants"),
        (_set("campaign/points", lambda a: a[:, :3]), "campaign/points"),
        (_set("campaign/spacing", 0.0), "campaign/spacing"),
        (_set("fields/push/modes", lambda a: a[:, :-1]), "fields"),
        (_set("fields/push/weights", lambda a: a[:-1]), "fields/push"),
        (lambda file: file.attrs.update(schema_version=99), "schema_version"),
        (lambda file: file.pop("laws"), ""),
    ],
)
def test_a_damaged_file_is_refused_by_name(model, tmp_path, damage, key):
    path = tmp_path / "model.h5"
    write_reduced(model, path)
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(InputError) as refused:
        read_reduced(path)
    assert str(path) in str(refused.value)
    assert key in str(refused.value)


def test_what_is_no_file_of_a_model_is_refused(tmp_path):
    path = tmp_path / "text.h5"
    path.write_text("no")
    for p in (path, tmp_path / "none.h5"):
        with pytest.raises(InputError):
            read_reduced(p)
