"""Clutches, brakes, one-way clutches and dry bearings in gear systems, and the problem that holds several at once."""

import re
from functools import cache
from itertools import product

import numpy as np
import pytest
from differences import jacobian_by_differences
from instances import started as initialised
from instances import stepped
from rows import independent, text_of

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.numerics.complementarity import boxed
from rtcvt.offline.nonsmooth.lemke import lemke
from rtcvt.pog.mesh import mesh_efficiency, mesh_friction
from rtcvt.pog.radii import efficiencies, radii_at
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.shift import shift_table
from rtcvt.pog.unit import Oil
from rtcvt.unitfile import parse_unit_file, read_unit_file

GEARS = ("in", "s0", "p0", "c0", "s1", "s2", "p", "q", "c", "out")


@pytest.mark.parametrize(("fidelity", "speeds", "heats"), [("rigid", 1e-7, 1e-4), ("full", 3e-3, 1e-3)])
def test_shift_of_a_lepelletier_box_against_an_independent_solution(fidelity, speeds, heats):
    """At 1 ms. The elastic box is another machine: its teeth and shafts wind up."""
    box, table = started(ideal_box(), fidelity, {"gear.out.J": 13.0}, {"clutch.A.u": 1.0}), independent("box_shift")
    got, want = [], table[:, 3:-1]
    for tau, c, d in table[:, :3]:
        run(box, 10, {"input.tau": tau, "output.tau": -100.0 if tau else 0.0, "brake.C.u": c, "brake.D.u": d})
        got.append([box.get(f"gear.{g}.w") for g in GEARS])
    assert np.abs(np.array(got) - want).max() < speeds * np.abs(want).max()
    assert box.get("brake.C.Q") + box.get("brake.D.Q") == pytest.approx(table[-1, -1], rel=heats)
    assert box.get("brake.C.stuck") == 1.0


def started(unit, fidelity, parameters=None, inputs=None):
    return initialised(unit.build(fidelity), {**(parameters or {}), **(inputs or {})})


def run(instance, steps, inputs, status=0):
    for name, value in inputs.items():
        instance.set(name, value)
    stepped(instance, steps, status=status)


def planetary(clutch='K = ["s", "r"]', brake='B = "r"'):
    """The shipped set without viscous friction, with elements."""
    text = re.sub(r"friction = [0-9e.-]+, ", "", without_losses("planetary"))
    text = text.replace('K = ["s", "r"]', clutch).replace('B = "r"', brake)
    return read_gear_system(parse_unit_file(text, "set.toml"))


def lossy(unit):
    text = unit.text.replace("damping = 5e3 }", "damping = 5e3, efficiency = 0.97 }")
    return read_gear_system(parse_unit_file(text, "set.toml"))


def ideal_box():
    """The shipped box without losses of its teeth."""
    return read_gear_system(parse_unit_file(without_losses("automatic_6"), "box.toml"))


def without_losses(unit):
    text, count = re.subn(r"\nefficiency = .*", "", read_unit_file(unit).text)
    assert count == 1
    return text


@cache
def every_element():
    return planetary(
        'K = { between = ["s", "r"], capacity = 100.0 }',
        'B = { gear = "r", capacity = 200.0 }\nW = { gear = "c", capacity = 500.0, one_way = "backward" }',
    )


def test_boxes_against_lemke():
    """The same problem with two rows for each torque, one for each bound."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        m = int(rng.integers(1, 9))
        W = rng.normal(size=(m, int(rng.integers(1, 9))))
        A = W @ W.T + np.diag(rng.uniform(1e-6, 1e-2, m))  # often of low rank but for what yields
        skew = rng.normal(size=(m, m))
        A += 0.1 * (skew - skew.T)
        q, high = rng.normal(size=m), rng.uniform(0.0, 1.0, m) * rng.integers(0, 3, m)
        low = np.where(rng.random(m) < 0.7, -high, 0.0)
        w = np.concatenate([A.ravel(), q, low, high, np.zeros(3 * m + m * m + m)])
        a = m * m
        assert boxed(m, w, 0, a, a + m, a + 2 * m, a + 3 * m, a + 4 * m, a + 6 * m, a + 5 * m)
        one = np.eye(m)
        oracle = lemke(np.block([[A, one], [-one, 0 * one]]), np.concatenate([A @ low - q, high - low]))
        assert w[a + 3 * m : a + 4 * m] == pytest.approx(low + oracle.z[:m], abs=1e-8)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_energy_of_a_run_with_all_elements(fidelity):
    """What goes in is stored or heat, which never falls; all slip, stick, break away and lock."""
    box, work = started(every_element(), fidelity), 0.0
    seen, names = set(), ("clutch.K", "brake.B", "brake.W")
    heats = np.zeros(3)
    for k in range(1500):
        inputs = {"sun.tau": 60.0 * np.sin(0.01 * k), "carrier.tau": -40.0 * np.cos(0.003 * k),
                  "clutch.K.u": float(np.sin(0.013 * k) > 0.3), "brake.B.u": 0.5 + 0.5 * np.sin(0.02 * k)}  # fmt: skip
        before = np.array([box.get("sun.w"), box.get("carrier.w")])
        run(box, 1, inputs)
        after = np.array([box.get("sun.w"), box.get("carrier.w")])
        work += 0.5e-3 * float((before + after) @ [inputs["sun.tau"], inputs["carrier.tau"]])
        seen.add(tuple(box.get(f"{name}.stuck") for name in names))
        before, heats = heats, np.array([box.get(f"{name}.Q") for name in names])
        assert (heats >= before).all()
    heat = heats.sum()
    assert len(seen) >= 6
    assert heats[1:] == pytest.approx([2951.0, 0.006], rel=3e-3, abs=0.01)  # at steps of 0.02 ms: 2950.95 J, 6 mJ
    assert heat > 500.0
    assert work - box.get("storage.E") == pytest.approx(heat, rel=1e-5)
    assert box.get("gear.c.w") > -1e-6


def test_a_stuck_element_does_not_creep():
    box = started(every_element(), "rigid")
    run(box, 100, {"sun.tau": 20.0, "carrier.tau": -60.0, "brake.B.u": 1.0})
    assert box.get("brake.B.stuck") == 1.0
    start, angle = box.x.copy(), 0.0
    for _ in range(2000):
        run(box, 1, {})
        assert box.get("brake.B.w_slip") == 0.0
        angle += 1e-3 * box.get("gear.r.w")
    assert abs(angle) < 1e-9
    assert box.get("brake.B.Q") == pytest.approx(start[-2], abs=1e-9)


def test_more_elements_hold_than_needed():
    """Four elements that stop everything, then three that turn the box as one: all stick, torques in balance."""
    box = started(load_unit("automatic_6"), "rigid")
    run(box, 300, {"input.tau": 300.0, "output.tau": -200.0} | {f"clutch.{e}.u": 1.0 for e in "ABE"})
    assert [box.get(f"{e}.stuck") for e in ("clutch.A", "clutch.B", "clutch.E", "brake.F")] == [1.0] * 4
    assert max(abs(box.get(f"gear.{g}.w")) for g in GEARS) < 1e-9
    assert pytest.approx(box.get("brake.F.tau"), rel=1e-6) == 300.0 - 200.0


@pytest.mark.parametrize(("fidelity", "sign"), list(product(("rigid", "full"), (1.0, -1.0))))
def test_losses_of_meshes_are_those_of_the_shift_table(fidelity, sign):
    """Ring held, a heavy carrier driven and coasting: its torque, and the heat in the balance."""
    unit = lossy(planetary('K = ["s", "r"]', 'B = { gear = "r", capacity = 2000.0 }'))
    low = shift_table(unit, radii_at(unit))[0]
    box = started(unit, fidelity, {"gear.c.J": 50.0}, {"brake.B.u": 1.0})
    run(box, 100, {"sun.tau": 500.0})
    run(box, 60, {"sun.tau": 50.0 * sign})
    heat, stored, sun, carrier = books = [], [], [], []
    for steps in (0, 20):
        run(box, steps, {})
        values = (
            box.get("mesh.sp.Q") + box.get("mesh.pr.Q"),
            *(box.get(n) for n in ("storage.E", "sun.w", "carrier.w")),
        )
        for book, value in zip(books, values, strict=True):
            book.append(value)
    torque = 50.0 * (carrier[1] - carrier[0]) / 0.02
    eta = low.efficiency if sign > 0.0 else 1.0 / low.coast
    assert torque == pytest.approx(50.0 * sign * low.ratio * eta, rel=2e-4)  # sun and planets take a little
    work = 50.0 * sign * 0.02 * 0.5 * sum(sun)
    assert work - (stored[1] - stored[0]) == pytest.approx(heat[1] - heat[0], rel=1e-9)


def test_loss_of_a_mesh_against_an_integral_over_the_path_of_contact():
    """Sliding speed times load, shared evenly by the pairs of teeth in contact."""
    for z_1, z_2 in ((20, 61), (31, 40), (25, -83)):
        alpha = np.radians(20.0)
        eps = [abs(z) / (2 * np.pi) * abs(np.tan(np.arccos(z * np.cos(alpha) / (z + 2))) - np.tan(alpha))
               for z in (z_1, z_2)]  # fmt: skip
        x = np.linspace(-eps[0], eps[1], 200_001)
        pairs = 1.0 + ((x + 1.0 < eps[1]) | (x - 1.0 > -eps[0]))
        share = 2.0 * np.pi * abs(1 / z_1 + 1 / z_2) * np.trapezoid(np.abs(x) / pairs, x)
        assert 1.0 - mesh_efficiency(0.06, z_1, z_2) == pytest.approx(0.06 * share, rel=1e-4)
        assert 0.99 < mesh_efficiency(0.06, z_1, z_2) < 1.0


STAGE_OF_MESHES = text_of("units/stage_of_meshes.toml")
OIL = 'oil = { force = "3 kN", speed = "8 m/s", width = "20 mm", viscosity = "15 mPa.s" }'


def test_friction_of_a_mesh_from_load_and_oil():
    """As the source writes it, with the diameter d_1 = 80 mm and the ratio 1.5, rho from both; 15 mPa.s, Ra 0.5 um."""
    d_1, i, alpha = 80.0, 1.5, np.radians(20.0)
    load = 3000.0 / np.cos(alpha) / 20.0  # [N/mm]
    rho = 0.5 * d_1 * np.sin(alpha) * i / (i + 1.0)
    mu = 0.048 * (load / (2.0 * 8.0 * np.sin(alpha) * rho)) ** 0.2 * 15.0**-0.05 * 0.5**0.25
    oil = Oil(force="3 kN", speed="8 m/s", width="20 mm", viscosity="15 mPa.s")
    assert mesh_friction(oil, 0.04, 0.06) == pytest.approx(mu, rel=1e-12)
    assert mesh_friction(oil, 0.04, -0.06) == pytest.approx(mu * ((i - 1.0) / (i + 1.0)) ** 0.2, rel=1e-12)  # a ring
    least, most = (oil.model_copy(update={"force": f, "speed": v}) for f, v in ((1.0, 8.0), (3000.0, 500.0)))
    assert mesh_friction(least, 0.04, 0.06) == pytest.approx(mu * (150.0 / load) ** 0.2, rel=1e-12)
    assert mesh_friction(most, 0.04, 0.06) == pytest.approx(mu * (8.0 / 50.0) ** 0.2, rel=1e-12)
    text = STAGE_OF_MESHES % OIL
    unit = read_gear_system(parse_unit_file(text, "oil.toml"))
    assert efficiencies(unit)["ab"] == mesh_efficiency(mesh_friction(unit.contacts["ab"].oil, 0.04, 0.06), 40.0, 60.0)
    with pytest.raises(InputError, match="either efficiency, or one of friction and oil with module"):
        read_gear_system(parse_unit_file(text.replace("oil =", "friction = 0.05, oil ="), "oil.toml"))


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_friction_of_a_mesh_follows_load_and_speed(fidelity):
    """Heat of a step by the source's mu at the force and speed of now, both ways, beyond both ends too; df/dx."""
    unit = read_gear_system(parse_unit_file(STAGE_OF_MESHES % OIL, "oil.toml"))
    for torque, w in product((400.0, 20.0, -150.0), (15.0, 200.0, 2000.0)):
        start = {"gear.b.J": 50.0, "gear.a.w_start": w}
        box = started(unit, fidelity, start, {"input.tau": torque, "output.tau": -1.5 * torque})
        run(box, 20, {})
        heat, slow = box.get("mesh.ab.Q"), box.get("gear.b.w")
        run(box, 1, {})
        F, v = abs(box.get("contact.ab.F")), 0.03 * abs(box.get("gear.b.w") + slow)
        mu = mesh_friction(unit.contacts["ab"].oil.model_copy(update={"force": F, "speed": v}), 0.04, 0.06)
        eta = mesh_efficiency(mu, 40.0, 60.0)
        lost = F * v * (1.0 - eta) / (1.0 if torque > 0.0 else eta)
        assert (box.get("mesh.ab.Q") - heat) / 1e-3 == pytest.approx(lost, rel=1e-8)
        steps = np.where(np.arange(len(box.x)) < len(box.x) - 2, 1e-4, 1e-8)
        found, exact = jacobian_by_differences(box, steps), box.jacobian()
        assert exact == pytest.approx(found, rel=1e-5, abs=1e-9 * np.abs(found).max())
        if fidelity == "rigid" and 1.0 < v < 50.0:
            assert exact[0, 0] == pytest.approx(found[0, 0], rel=1e-4)
            assert exact[0, 0] > 0.0


CHAIN = text_of("units/chain.toml")
RADII = (0.03, 0.07), (0.05, 0.10), (0.06, 0.14)  # of the gears of each mesh
INERTIA = np.array([1e-3, 5e-3, 2e-2, 5e-2])
SPEED = np.cumprod([1.0, *(r / s for r, s in RADII)])  # of each gear over that of the first
ETAS = ((0.9, 0.8, 0.7), (0.5, 0.6, 0.95), (0.3, 0.9, 0.9))


def chain(etas):
    return read_gear_system(parse_unit_file(CHAIN % etas, "chain.toml"))


@pytest.mark.parametrize(("fidelity", "how"), [("rigid", "ramp"), ("rigid", "jump"), ("full", "ramp")])
@pytest.mark.parametrize("etas", ETAS)
def test_a_chain_of_meshes_holds_its_load(etas, fidelity, how):
    """From eta to 1/eta of the torque that drives, to 1e-6, of either sign: there it stays at rest, for good."""
    eta, ratio = np.prod(etas), 1.0 / SPEED[-1]
    for sign, (limit, moves), margin in product((1.0, -1.0), ((eta, 1.0), (1.0 / eta, -1.0)), (-1e-6, 1e-6)):
        box, speeds = started(chain(etas), fidelity), []
        end = limit * (1.0 + margin)
        for k in range(1500):
            share = min(1.0, (k + 1) / 200) if how == "ramp" else 1.0
            rise = 0.5 - 0.5 * np.cos(np.pi * np.clip((k - 400) / 400, 0.0, 1.0))
            load = 1.0 + (end - 1.0) * rise if how == "ramp" else end
            run(box, 1, {"input.tau": 3.0 * sign * share, "output.tau": -3.0 * sign * ratio * load * share})
            speeds.append(box.get("gear.a.w"))
        if (margin > 0.0) == (limit < 1.0):
            assert np.abs(speeds[-300:]).max() < 1e-12
        else:
            assert sign * moves * speeds[-1] > 1e-5


def coulomb(etas, torques, v):
    """Acceleration of gear a of the chain with the set-valued law: the one consistent choice of all directions."""
    signs = np.array(list(product((1.0, -1.0), repeat=3)))  # of the forces, from gear k to k + 1
    for way in (np.sign(v),) if v else (1.0, -1.0):
        A = np.zeros((8, 4, 4))
        A[:, :, 3] = INERTIA * SPEED
        for k, ((r, s), eta) in enumerate(zip(RADII, etas, strict=True)):  # of power that goes on eta arrives
            A[:, k, k] = r
            A[:, k + 1, k] = -s * np.where(signs[:, k] * way > 0.0, eta, 1.0 / eta)
        x = np.linalg.solve(A, np.broadcast_to(np.array(torques)[:, None], (8, 4, 1)))[:, :, 0]
        consistent = (x[:, :3] * signs >= 0.0).all(axis=1) & (way * x[:, 3] > 0.0 if v == 0.0 else True)
        if consistent.any():
            return x[consistent.argmax(), 3]
    return 0.0


@pytest.mark.parametrize(("fidelity", "allowed"), [("rigid", 3e-3), ("full", 5e-3)])
@pytest.mark.parametrize("etas", ETAS[:2])
def test_a_chain_of_meshes_against_the_set_valued_law(etas, fidelity, allowed):
    """Both sides drive in turn, loads go up and down, and it reverses: speed, rest and lost energy."""
    box, v, work = started(chain(etas), fidelity), 0.0, 0.0
    got, want = [], []
    for k in range(2000):
        t, heats = 1e-3 * k, [box.get(f"mesh.{m}.Q") for m in ("ab", "bc", "cd")]
        T_a, T_d = 3.0 * np.sin(1.7 * t), -3.0 / SPEED[-1] * np.sin(1.7 * t + 0.3) * (1.0 + 0.9 * np.sin(5.0 * t))
        torques, left, before = (T_a, 0.0, 0.0, T_d), 1e-3, box.get("gear.a.w")
        for _ in range(3):
            a = coulomb(etas, torques, v)
            stop = -v / a if a * v < 0.0 else np.inf
            v, left = (v + a * left, 0.0) if stop >= left else (0.0, left - stop)
        out = box.get("gear.d.w")
        run(box, 1, {"input.tau": T_a, "output.tau": T_d})
        work += 0.5e-3 * (T_a * (before + box.get("gear.a.w")) + T_d * (out + box.get("gear.d.w")))
        assert all(box.get(f"mesh.{m}.Q") >= Q for m, Q in zip(("ab", "bc", "cd"), heats, strict=True))
        for m in ("ab", "bc", "cd"):  # it never drives
            assert box.get(f"mesh.{m}.tau") * box.get(f"mesh.{m}.w_slip") >= 0.0
        got.append(box.get("gear.a.w"))
        want.append(v)
    heat = sum(box.get(f"mesh.{m}.Q") for m in ("ab", "bc", "cd"))
    rest = np.abs(got)[np.array(want) == 0.0]
    assert len(rest) > 20
    assert np.median(rest) < (1e-7 if fidelity == "rigid" else 1e-3)  # while loads change, teeth and shafts give way
    assert np.abs(np.array(got) - want).max() < allowed * np.abs(want).max()
    assert work - box.get("storage.E") == pytest.approx(heat, rel=1e-6 if fidelity == "rigid" else 2e-4)  # dampers


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_steps_depend_on_the_state_alone(fidelity):
    """Matrices that were kept from the step before equal new ones: same bits from a fresh instance."""
    box, other = started(chain(ETAS[0]), fidelity), started(chain(ETAS[0]), fidelity)
    for k in range(300):
        inputs = {"input.tau": 3.0 * np.sin(0.05 * k), "output.tau": 30.0 * np.cos(0.03 * k)}
        if k % 7 == 0:
            other.x[:] = box.x
            other.tune("gear.a.b", 0.0)
        for one in (box, other):
            run(one, 1, inputs)
        assert np.array_equal(box.x, other.x)


@pytest.mark.parametrize("fidelity", ["rigid", "full"])
def test_order_with_losses(fidelity):
    """Third order in the speeds while no mesh changes its direction, as without losses."""
    ends = []
    for n in (50, 100, 200, 1600):
        box = started(chain(ETAS[0]), fidelity, {"gear.a.w_start": 100.0, "gear.d.b": 5.0}, {"input.tau": 30.0})
        stepped(box, n, 2e-3 / n)
        ends.append(box.x[:1].copy())
    errors = [abs(end - ends[-1]).max() for end in ends[:-1]]
    assert errors[0] / errors[1] > 6.0
    assert errors[1] / errors[2] > 6.0


def test_a_mesh_takes_no_more_than_its_loss():
    """Through shifts, where forces in meshes that carry little change their sign."""
    unit, rng = load_unit("automatic_6"), np.random.default_rng(5)
    box, R = started(unit, "rigid", {"gear.out.J": 2.0}), radii_at(unit)
    names = ["clutch.A.u", "clutch.B.u", "clutch.E.u", "brake.C.u", "brake.D.u", "input.tau", "output.tau"]
    for k in range(3000):
        if k % 50 == 0:
            values = [*rng.integers(0, 2, 5) * rng.random(5), *rng.normal(0.0, [150.0, 600.0])]
        run(box, 1, dict(zip(names, values, strict=True)))
        for i, (name, contact) in enumerate(unit.contacts.items()):
            most = abs(R[i, list(unit.gears).index(contact.between[1])] * box.get(f"contact.{name}.F")) * (1 / 0.99 - 1)
            assert abs(box.get(f"mesh.{name}.tau")) <= most * (1.0 + 1e-6) + 1e-9
