"""Planets that are not in one plane: the radius that a planet declares counts for its speed and its inertia.

Closed forms: Willis, ``(w_planet - w_c) z_planet = -(w_sun - w_c) z_sun``.
"""

import numpy as np
import pytest
from refusals import refused
from rows import mistakes

from rtcvt.pog.radii import radii_at
from rtcvt.pog.reading import read_gear_system
from rtcvt.unitfile import parse_unit_file

MODULE = 2e-3
AXIS = "inertia = 1e-3, axis = { through = [0, 0], direction = [1, 0] }"


def planet(teeth, y):
    return f'inertia = 1e-4, teeth = {teeth}, module = {MODULE}, carrier = "c", ' + (
        f"axis = {{ through = [0, {y}], direction = [1, 0] }}"
    )


def unit_of(gears, contacts, independent):
    """A gear system of lines of gears, and of contacts drawn at a radius."""
    lines = ['name = "set"', 'kind = "gear_system"', "[gears]"]
    lines += [f"{name} = {{ {text} }}" for name, text in gears.items()]
    lines += ["[contacts]"]
    lines += [
        f'{a}_{b} = {{ between = ["{a}", "{b}"], point = [{x}, {y}], stiffness = 1e7 }}' for a, b, x, y in contacts
    ]
    lines += ["[rigid]", f"independent = {independent}".replace("'", '"'), "[ports]", 'out = "c"']
    return read_gear_system(parse_unit_file("\n".join(lines), "set.toml"))


def ravigneaux(s1, s2, p, q, r, drawn=1.0):
    """Small sun s1 with short planet p, large sun s2 with long planet q, ring r; p's picture is unfolded."""
    radius = {g: 0.5 * z * MODULE for g, z in {"s1": s1, "s2": s2, "p": p, "q": q, "r": r}.items()}
    y_q = 0.5 * (radius["s2"] + radius["r"])
    y_pq = y_q - drawn * radius["q"]
    gears = {"s1": AXIS, "s2": AXIS, "r": AXIS, "c": AXIS}
    gears |= {"p": planet(p, 0.5 * (radius["s1"] + y_pq)), "q": planet(q, y_q)}
    contacts = [("s1", "p", -0.01, radius["s1"]), ("p", "q", -0.01, y_pq)]
    contacts += [("q", "s2", 0.01, radius["s2"]), ("q", "r", 0.0, radius["r"])]
    return unit_of(gears, contacts, ["c", "r"])


def speeds(unit, **given):
    """Speeds by gear of ``R omega = 0`` with the given ones."""
    gears = list(unit.gears)
    held = np.array([[float(g == name) for g in gears] for name in given])
    system = np.vstack([radii_at(unit) / MODULE, held])
    values = np.concatenate([np.zeros(len(unit.contacts)), list(given.values())])
    return dict(zip(gears, np.linalg.solve(system, values), strict=True))


@pytest.mark.parametrize("teeth", [(28, 35, 18, 18, 71), (31, 38, 24, 23, 85)])
@pytest.mark.parametrize(("w_c", "w_r"), [(1.0, 0.0), (0.0, 1.0), (-0.7, 2.3)])
def test_ravigneaux_against_willis(teeth, w_c, w_r):
    s1, s2, p, q, r = teeth
    w = speeds(ravigneaux(*teeth), c=w_c, r=w_r)
    expected = {"q": w_c + (w_r - w_c) * r / q, "p": w_c - (w_r - w_c) * r / p, "s1": w_c + (w_r - w_c) * r / s1,
        "s2": w_c - (w_r - w_c) * r / s2}  # fmt: skip
    for gear, value in expected.items():
        assert w[gear] == pytest.approx(value, rel=1e-12), gear


def test_the_picture_does_not_count():
    """The same planets drawn differently turn at the same speeds, and reflect the same inertia."""
    one, other = (speeds(ravigneaux(28, 35, 18, 18, 71, drawn), c=0.3, r=1.0) for drawn in (1.0, 0.8))
    assert one == pytest.approx(other, rel=1e-12)


def test_simpson_against_willis():
    """Two planetary sets of one sun: carrier c and ring r of the first, ring r2 of the second about its carrier d."""
    s, p, r = 36, 15, 66
    m = 0.5 * MODULE
    second = planet(p, m * (s + p)).replace('"c"', '"d"')
    gears = {"s": AXIS, "r": AXIS, "c": AXIS, "r2": AXIS, "d": AXIS, "p": planet(p, 0.9 * m * (s + p)), "p2": second}
    contacts = [("s", "p", -0.01, m * s), ("p", "r", -0.01, m * r), ("s", "p2", 0.01, m * s), ("p2", "r2", 0.01, m * r)]
    w = speeds(unit_of(gears, contacts, ["s", "c", "d"]), s=1.0, c=0.2, d=-0.4)
    for carrier, pinion, ring in (("c", "p", "r"), ("d", "p2", "r2")):
        relative = w["s"] - w[carrier]
        assert w[pinion] == pytest.approx(w[carrier] - relative * s / p, rel=1e-12)
        assert w[ring] == pytest.approx(w[carrier] - relative * s / r, rel=1e-12)


@mistakes
def test_radii_that_contradict_each_other_are_refused(teeth, message):
    refused(message, ravigneaux, *teeth)
