"""A gear with several ports: their torques add up, each port has its own torque."""

import pytest
from instances import started, stepped

from rtcvt.errors import InputError
from rtcvt.pog.diagram import unit_diagram
from rtcvt.pog.reading import read_gear_system
from rtcvt.unitfile import parse_unit_file, read_unit_file

PLANETARY = read_unit_file("planetary").text
FIRST = 'sun     = { gear = "s", tau_max = 300.0 }'


def variant(ports):
    assert FIRST in PLANETARY
    return read_gear_system(parse_unit_file(PLANETARY.replace(FIRST, ports), "box.toml"))


def run(unit, fidelity, **inputs):
    return stepped(started(unit.build(fidelity), **inputs), 40, status=0)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_torques_of_two_ports_add_up(fidelity):
    one = run(variant(FIRST), fidelity, sun__tau=30.0, ring__tau=5.0)
    two = run(variant(FIRST + '\nbrake = { gear = "s" }'), fidelity, sun__tau=50.0, brake__tau=-20.0, ring__tau=5.0)
    for gear in ("s", "p", "r", "c"):
        assert two.get(f"gear.{gear}.w") == pytest.approx(one.get(f"gear.{gear}.w"), rel=1e-12)
    assert two.get("brake.w") == two.get("sun.w") == two.get("gear.s.w")


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_a_shaft_beside_a_torque_shows_its_own_torque(fidelity):
    """Both ports drive the gear: the shaft's torque is its spring's alone."""
    unit = variant('sun = { gear = "s", spring = "1 kN.m/rad" }\nbrake = { gear = "s" }')
    instance = run(unit, fidelity, sun__w=10.0, brake__tau=-7.0)
    state = {v.name: k for k, v in enumerate(instance.model.states)}
    assert instance.get("sun.tau") == instance.x[state["sun.tau"]]
    assert instance.get("sun.tau") != 0.0


def test_two_shafts_with_springs_on_one_gear_are_refused():
    with pytest.raises(InputError, match=r"ports\.brake\.gear = 's': a gear without another port's spring"):
        variant('sun = { gear = "s", spring = 1e3 }\nbrake = { gear = "s", spring = 1e3 }')


def test_all_ports_are_drawn():
    svg = unit_diagram(variant(FIRST + "\n" + "\n".join(f'p{k} = {{ gear = "s" }}' for k in range(3))))
    assert all(f">p{k}</text>" in svg for k in range(3))
