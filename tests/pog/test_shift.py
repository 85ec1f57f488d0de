"""Shift tables of real boxes, from their tooth numbers, against published ratios.

Ratios and torques of the ZF boxes, tooth numbers of the 8HP: Wikipedia, "ZF 3HP transmission", "ZF 6HP transmission",
"ZF 8HP transmission". Tooth numbers of 3HP and 6HP (35/73, 25/32/64, 37/71/31/38/85) are inferred from the ratios.
Ratios of the Lepelletier box also: Ford workshop manual 2010, 6R80, "Gear Ratios". Elements of the box of four sets:
github.com/decs31/MectricHelp. The hybrid's tooth numbers: priuschat.com, post 1048061.
"""

import json
import re

import numpy as np
import pytest
from instances import stepped
from refusals import refused
from rows import mistakes, tables

from rtcvt.kind import load_unit
from rtcvt.pog.radii import radii_at
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.shift import shift_table
from rtcvt.pog.tasks import show
from rtcvt.unitfile import parse_unit_file

SHIFTS = tables("units/shifts.toml")
BOXES = SHIFTS["boxes"]
PUBLISHED = [name for name, box in BOXES.items() if "ratios" in box]
MODULE = 1e-3


class Box:
    """A box from tooth numbers: coaxial bodies that suns, rings and carriers are parts of, and planets."""

    def __init__(self):
        self.gears, self.contacts = {}, []

    def body(self, name, y=0.0, forward=True):
        at = f"through = [0, {y}], direction = [{1 if forward else -1}, 0]"
        self.gears.setdefault(name, f"inertia = 1e-3, stepped = true, axis = {{ {at} }}")

    def planet(self, name, teeth, carrier, y):
        own = f"teeth = {teeth}, module = {MODULE}" if isinstance(teeth, int) else f"radius = {0.5 * teeth * MODULE}"
        axis = f"axis = {{ through = [0, {y}], direction = [1, 0] }}"
        self.gears[name] = f'inertia = 1e-4, {own}, carrier = "{carrier}", {axis}'

    def mesh(self, a, b, y):
        self.contacts.append(f'{a}_{b} = {{ between = ["{a}", "{b}"], point = [0, {y}], stiffness = 1e7 }}')

    def simple(self, sun, carrier, ring, z_s, z_r, planet, z_p=None):
        """A simple set."""
        for name in (sun, carrier, ring):
            self.body(name)
        self.planet(planet, z_p or 0.5 * (z_r - z_s), carrier, 0.25 * (z_r + z_s) * MODULE)
        self.mesh(sun, planet, 0.5 * z_s * MODULE)
        self.mesh(planet, ring, 0.5 * z_r * MODULE)

    def ravigneaux(self, small, large, carrier, ring, z_1, z_2, z_r, z_p):
        """A Ravigneaux set with short planet p of `z_p` teeth and long planet q."""
        for name in (small, large, carrier, ring):
            self.body(name)
        q = 0.5 * (z_r - z_2)
        self.planet("p", z_p, carrier, 0.25 * (z_1 + z_2) * MODULE)
        self.planet("q", q, carrier, 0.5 * (z_2 + q) * MODULE)
        self.mesh(small, "p", 0.5 * z_1 * MODULE)
        self.mesh("p", "q", 0.5 * z_2 * MODULE)
        self.mesh("q", large, 0.5 * z_2 * MODULE)
        self.mesh("q", ring, 0.5 * z_r * MODULE)

    def unit(self, shift, output, given="in"):
        independent = list(self.gears)[: len(self.gears) - len(self.contacts)]
        every = shift.strip().splitlines()
        elements = [line for line in every if line.startswith(("clutches", "brakes"))]
        shift = "\n".join(line for line in every if line not in elements)
        lines = ['name = "box"', 'kind = "gear_system"', *elements, "[gears]"]
        lines += [f"{name} = {{ {text} }}" for name, text in self.gears.items()]
        lines += ["[contacts]", *self.contacts, "[rigid]", f"independent = {json.dumps(independent)}", "[ports]"]
        lines += [f'input = "{given}"', f'output = "{output}"', "[shift]", 'input = "input"', 'output = "output"']
        return read_gear_system(parse_unit_file("\n".join([*lines, shift]), "box.toml"))


def published(name, efficiency=1.0):
    """A box of the table of boxes."""
    box = Box()
    for part, *numbers in BOXES[name]["parts"]:
        getattr(box, part)(*numbers)
    return box.unit(SHIFTS[name].replace("efficiency = 1.0", f"efficiency = {efficiency}"), "out")


def hybrid():
    """Power split with two motors: the engine turns the carrier, mg1 the sun, mg2 the ring through a set of its own."""
    box = Box()
    box.simple("mg1", "in", "ring", 30, 78, "p1", 23)
    box.simple("mg2", "held", "ring", 22, 58, "p2", 18)
    m = 0.5 * MODULE
    box.body("counter", m * (54 + 55), forward=False)
    box.body("out", m * (54 + 55 + 24 + 77))
    box.mesh("ring", "counter", m * 54)
    box.mesh("counter", "out", m * (54 + 55 + 24))
    shift = 'brakes = { mg1 = "mg1", carrier = "held" }\ngears = { mechanical = ["mg1", "carrier"] }'
    return box.unit(shift, "out")


# driven torque for 1 N.m, with 0.98 for the two contacts of a set; third gear: see its test
SPECIFIC = {"R": -3.1186, "1": 4.6217, "2": 3.0603, "4": 1.6446, "5": 1.2720, "6": 1.0, "7": 0.8347,
            "8": 0.6622}  # fmt: skip


def table(unit):
    return {gear.name: gear for gear in shift_table(unit, radii_at(unit))}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_ratios(name):
    rows = table(published(name))
    assert {n: r.ratio for n, r in rows.items()} == pytest.approx(BOXES[name]["ratios"], abs=6e-4)


def test_power_split_with_two_motors():
    """Final drive 3.267, reduction of the motor 2.636, 28 % of the engine's torque on the generator."""
    row = table(hybrid())["mechanical"]
    assert row.ratio * 108 / 78 == pytest.approx(3.267, abs=1e-3)
    assert row.speeds["mg2"] / row.speeds["ring"] == pytest.approx(-2.636, abs=1e-3)
    assert row.torques["mg1"] == pytest.approx(-30 / 108, rel=1e-12)
    assert row.speeds["p1"] == pytest.approx(1.0 + 30 / 23, rel=1e-12)  # Willis, with the planet's own teeth


def test_wilson_box():
    """Tooth numbers of an exercise (expertsmind.com, 301140592); Willis set by set, from the held element on."""
    i, k, m = 70 / 20, 61 / (17 + 61), 70 / 26
    second = 1 / (1 + i)  # speed of annulus 1, for 1 at the input
    third = 1 / (1 + i - i * k)
    want = {"1": 1 + i, "2": (1 + i) / (1 + i * second), "3": (1 + i) / (1 + i * third), "4": 1.0,
            "R": 1 + i - i * (1 + m)}  # fmt: skip
    rows = table(published("wilson"))
    assert {n: r.ratio for n, r in rows.items()} == pytest.approx(want, rel=1e-12)
    assert rows["1"].torques["I1"] == pytest.approx(i)


def test_dual_clutch_box_with_a_gear_preselected_and_without():
    """Two shafts of one axis, two countershafts: an idle shaft is free, a preselected one turns with the output."""
    m, box = 0.5 * MODULE, Box()
    for name in ("in", "odd", "even"):
        box.body(name)
    for name in ("lay", "w1", "w2"):
        box.body(name, m * 80, forward=False)
    box.body("out", m * 180)
    for a, b, z in (("odd", "w1", 18), ("even", "w2", 27)):
        box.mesh(a, b, m * z)
    box.mesh("lay", "out", m * 100)
    rows = table(box.unit(SHIFTS["double_clutch"], "out"))
    first, second = 62 / 18 * 80 / 20, 53 / 27 * 80 / 20
    assert {n: r.ratio for n, r in rows.items()} == pytest.approx({"1": first, "ready": first, "2": second})
    assert np.isnan(rows["1"].speeds["even"])
    assert rows["ready"].speeds["even"] == pytest.approx(second / first)
    assert rows["ready"].torques["second"] == pytest.approx(0.0, abs=1e-12)
    assert rows["1"].torques["first"] == pytest.approx(62 / 18)


@pytest.mark.parametrize("name", PUBLISHED)
def test_torques_of_the_box_are_in_balance(name):
    """Input, output and brakes: the housing takes what is missing (all axes of bodies point one way)."""
    unit = published(name)
    for row in table(unit).values():
        brakes = [t for e, t in row.torques.items() if e in unit.brakes]
        assert 1.0 - row.ratio + sum(brakes) == pytest.approx(0.0, abs=1e-9)


def test_efficiency_against_published_torques():
    """In third gear two sets share the torque: sun by sun, ``(1 + i_4 eta)/(1 + i_4 eta/(1 + i_1 eta))``."""
    eta = 0.98
    torque = {n: r.ratio * r.efficiency for n, r in table(published("four_sets", np.sqrt(eta))).items()}
    third = (1 + 85 / 23 * eta) / (1 + 85 / 23 * eta / (1 + 2 * eta))
    assert torque.pop("3") == pytest.approx(third, rel=1e-12)
    assert torque == pytest.approx(SPECIFIC, abs=6e-4)


@pytest.mark.parametrize("eta", [0.99, 0.9])
def test_efficiency_of_a_set_in_both_directions(eta):
    """Mueller: ring held, ``(1 + i eta_0)/(1 + i)`` from the sun, ``(1 + i)/(1 + i/eta_0)`` to it."""
    box = Box()
    box.simple("in", "out", "r", 30, 90, "p")
    row = table(box.unit(f'efficiency = {eta}\nbrakes = {{ B = "r" }}\ngears = {{ 1 = ["B"] }}', "out"))["1"]
    assert row.efficiency == pytest.approx((1 + 3 * eta**2) / 4, rel=1e-12)
    assert row.coast == pytest.approx(4 / (1 + 3 / eta**2), rel=1e-12)


@mistakes
def test_wrong_tables_are_refused(old, new, message):
    text = published("simpson").text
    assert old in text
    refused(message, lambda: table(read_gear_system(parse_unit_file(text.replace(old, new), "box.toml"))))


def test_the_table_of_a_shipped_unit_is_shown():
    low, direct = show(load_unit("planetary"), {"settings": {}, "at": {}}).data["shift"]
    assert low["ratio"] == pytest.approx(1 + 78 / 30)
    assert low["step"] is None
    assert low["torques"] == {"B": pytest.approx(78 / 30)}
    assert direct["ratio"] == pytest.approx(1.0)
    assert direct["step"] == pytest.approx(3.6)
    assert direct["efficiency"] == pytest.approx(1.0)
    assert low["efficiency"] == pytest.approx((1 + 2.6 * 0.99**2) / 3.6)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
@pytest.mark.parametrize(("unit", "torque"), [("automatic_6", 150.0), ("automatic_6", -100.0), ("planetary", 50.0)])
def test_what_is_shown_is_what_is_simulated(unit, torque, fidelity):
    """Each gear with the shown torque at the output keeps its speed, and its meshes take what is missing."""
    shipped = load_unit(unit)
    text = re.sub(r"friction = [0-9e.-]+, ", "", shipped.text).replace('K = ["s", "r"]', 'K = { between = ["s", "r"], '
        'capacity = 1e3 }').replace('B = "r"', 'B = { gear = "r", capacity = 1e3 }')  # fmt: skip
    quiet = read_gear_system(parse_unit_file(text, "quiet.toml"))
    given, driven = (quiet.ports[p].gear for p in (quiet.shift.input, quiet.shift.output))
    for row in shift_table(quiet, radii_at(quiet)):
        eta = row.efficiency if torque > 0.0 else 1.0 / row.coast
        one = quiet.build(fidelity).instantiate()
        for g in quiet.rigid.independent:
            one.set(f"gear.{g}.w_start", 200.0 * (row.speeds[g] if np.isfinite(row.speeds[g]) else 0.0))
        one.set(f"gear.{driven}.J", 100.0)
        one.initialise()
        for e in row.elements:
            name = f"{'brake' if e in quiet.brakes else 'clutch'}.{e}.u"
            if name in {v.name for v in one.model.variables}:
                one.set(name, 1.0)
        one.set(f"{quiet.shift.input}.tau", torque)
        one.set(f"{quiet.shift.output}.tau", -torque * row.ratio * eta)
        for _ in range(100):
            assert one.step(1e-3) == 0
        heat, w = sum(one.get(f"mesh.{c}.Q") for c in quiet.contacts), one.get(f"gear.{driven}.w")
        stepped(one, 100)
        through = 0.1 * torque * one.get(f"gear.{given}.w")
        lost = sum(one.get(f"mesh.{c}.Q") for c in quiet.contacts) - heat
        assert lost == pytest.approx(through * (1.0 - eta), abs=1e-4 * abs(through)), row.name
        change = 100.0 * (one.get(f"gear.{driven}.w") - w) / 0.1
        assert change == pytest.approx(0.0, abs=1e-4 * abs(torque * row.ratio)), row.name
