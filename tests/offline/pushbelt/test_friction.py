"""Laws of friction: their limits, their choice, and that the model runs with the one that is chosen."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from pushbelt_starts import UNIT, begun
from pushbelt_steps import stepping
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact.friction import FLANK_FRICTION, Coulomb, Stribeck, secant, tangent
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.schedule import Case, Run
from rtcvt.offline.pushbelt.unit.parameters import Contacts, read_parameters
from rtcvt.unitfile import read_unit_file

FILE = read_unit_file("pushbelt_24mm")
LAWS = [Coulomb(0.1, 1e-3), Stribeck(0.1, 0.4, 0.02, 1e-3)]
MU = [(0.1, 0.1), (0.14, 0.1)]  # of each: at low slip, at high slip


class Viscous(NamedTuple):
    """A law that only the test has: its kernels are added one by one."""

    c: float


def test_a_law_that_lacks_a_function_is_refused_by_name():
    with pytest.raises(
        TypeError, match=r"lacks friction\.secant, friction\.tangent, the field v_mu; this contact asks"
    ):
        FLANK_FRICTION.register(Viscous)
    secant.of(Viscous)(lambda law, v2: law.c)
    with pytest.raises(TypeError, match=r"Viscous lacks friction\.tangent"):
        FLANK_FRICTION.register(Viscous)
    with pytest.raises(TypeError, match="Viscous lacks tangent"):
        tangent(Viscous(1.0), 0.0)
    tangent.of(Viscous)(lambda law, v2: (law.c, 0.0))
    assert tangent(Viscous(2.0), 0.0) == (2.0, 0.0)
    with pytest.raises(TypeError, match="Viscous lacks the field v_mu; this contact asks for"):
        FLANK_FRICTION.register(Viscous)


@pytest.mark.parametrize(("law", "mu"), [*zip(LAWS, MU, strict=True)])
def test_force_stays_in_the_cone_and_grows_in_proportion_to_small_slip(law, mu):
    v = np.logspace(-9, 2, 200)
    force = v * [secant(law, x * x) for x in v]
    assert (force > 0.0).all()
    assert (force <= max(mu) * (1.0 + 1e-15)).all()  # a sharp law is at mu to rounding
    assert force[-1] == pytest.approx(mu[1], rel=1e-6)
    assert force[0] == pytest.approx(mu[0] * v[0] / law.v_mu, rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_tangent_is_the_derivative(law):
    for v2 in (0.0, 1e-7, 1e-6, 4e-4, 1.0):
        h = 1e-4 * (v2 + law.v_mu**2)
        S, slope = tangent(law, v2)
        assert pytest.approx(secant(law, v2), rel=1e-14) == S
        assert slope == pytest.approx((secant(law, v2 + h) - secant(law, v2 - h)) / h, rel=1e-6)


def test_stribeck_falls_around_its_speed_and_is_coulomb_without_rise():
    law = LAWS[1]
    assert law.v_S * secant(law, law.v_S**2) == pytest.approx(0.12 * law.v_S / np.hypot(law.v_S, law.v_mu))
    for v in (1e-4, 0.02, 3.0):
        assert secant(law._replace(rise=0.0), v * v) == pytest.approx(secant(LAWS[0], v * v), rel=1e-14)


OLD = {"mu": 0.1, "v_mu": 1e-3}  # keys of [contacts] in files of earlier releases
STRIBECK = OLD | {"mu_0": 0.12, "v_S": 0.05}


def contacts(**given: Any) -> Contacts:
    rest = UNIT.contacts.model_dump(exclude_none=True, exclude={"friction"})
    return read_parameters(replace(FILE, data=FILE.data | {"contacts": rest | given})).contacts


@pytest.mark.parametrize(("given", "law"), [({"friction": {"law": "coulomb"} | OLD}, Coulomb(0.1, 1e-3)),
    ({"friction": {"law": "stribeck"} | STRIBECK}, Stribeck(0.1, 0.2, 0.05, 1e-3)), (OLD, Coulomb(0.1, 1e-3)),
    (STRIBECK, Stribeck(0.1, 0.2, 0.05, 1e-3))])  # fmt: skip
def test_a_run_has_the_law_of_its_unit_file(given, law):
    unit = UNIT.model_copy(update={"contacts": contacts(**given)})
    found = prepare(unit, Run("MED", Case("MED"), duration=1e-3, plot_step=1e-4)).model
    assert found.friction == pytest.approx(law)
    assert type(found.friction) is type(law)
    assert (found.belt.mu, found.belt.v_mu) == (0.1, 1e-3)


@mistakes
def test_parameters_that_make_no_law_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        contacts(**given)


@pytest.mark.slow
def test_a_belt_with_more_friction_at_low_slip_has_more_in_its_flanks():
    """Over 1 ms at the load of the largest torque; the start is the same."""
    mobilised = []
    for rise in (0.0, 0.3):
        one = begun("MED", 5, 10)
        b, x = one.belt, one.state
        hybrid.run(hybrid.model(b, one.sheaves), x, one.inputs[:2], 100)
        m = hybrid.model(b, one.sheaves, friction=Stribeck(b.mu, rise, 0.1, b.v_mu))
        w = hybrid.scratch(m, x, 1)
        for _ in stepping(m, x, w, one.inputs[1:], 100, 1e-6):
            pass
        normal, along, outwards, _ = w.flanks.points.force.T
        assert (np.hypot(along, outwards / b.cos_d) <= b.mu * (1.0 + rise) * normal * (1.0 + 1e-6)).all()
        mobilised.append(np.hypot(along, outwards)[normal > 50.0] / normal[normal > 50.0])
    assert np.percentile(mobilised[1], 95) > 1.05 * np.percentile(mobilised[0], 95)
