"""Machines of the contract suite, and any state of each: sticking and slipping, slack and tight, turning either way."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from belt_states import SERPENTINE, decoupled, random_belt, tensioned
from numpy.random import Generator
from rows import tables
from variator_laws import SHAFTS, corrected, instance, laws

from rtcvt.belt.layout import D as BeltD
from rtcvt.kind import Unit, load_unit
from rtcvt.model import Instance, Model
from rtcvt.pog.flange import with_flanges
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.system import matrices
from rtcvt.pog.unit import GearSystem
from rtcvt.unitfile import parse_table, parse_unit_file, shipped_units
from rtcvt.variator.kers_build import build_kers
from rtcvt.variator.layout import D, KersX, P, RigidX, X
from rtcvt.variator.unit import read_variator

__all__ = [
    "Machine", "flanged", "flanges", "gear_state", "in_ranges", "kers_model", "machines", "outer_springs", "state",
    "variant", "variator_state",
]  # fmt: skip

SPEEDS = {"drive.tau": "axle.w"}  # of a torque at a flange that has another's speed

# of a kind, or of a unit whose states differ: lowest and highest states and inputs
RANGES = tables("cases/machines.toml")["ranges"]


class Machine(NamedTuple):
    """A model, what draws a state and inputs of it, and the share of itself by which a state is moved."""

    model: Callable[[], Model]
    draw: Callable[[Instance, Generator], object]
    share: float = 1e-2


def in_ranges(kind: str, one: Instance, rng: Generator) -> None:
    """Anywhere in `RANGES`."""
    x_low, x_high, u_low, u_high = RANGES[kind]
    one.x[:], one.u[:] = rng.uniform(x_low, x_high), rng.uniform(u_low, u_high)


def engine_state(high: float, one: Instance, rng: Generator) -> None:
    """Of a pulsating engine up to a speed, with burning that it can have."""
    in_ranges("engine", one, rng)
    one.x[0] = rng.uniform(-0.1, 1.0) * high
    one.x[1] = rng.uniform(0.0, 60.0)


def flanges(model: Model) -> list[tuple[str, str, float]]:
    """Inputs that carry power, what the machine gives there, and the sign of their product: 1 into the machine."""
    found = []
    for v in model.select("input"):
        name, _, kind = v.name.rpartition(".")
        gives = SPEEDS.get(v.name, f"{name}.{'tau' if kind == 'w' else 'w'}")
        if kind in ("tau", "load", "w") and gives in model.by_name:
            found.append((v.name, gives, -1.0 if kind == "load" else 1.0))
    return found


def outer_springs(one: Instance) -> float:
    """Energy [J] of springs at shafts whose speed is given, outside of the machine."""
    return sum(
        0.5 * tau**2 / one.get(f"{v.name.removesuffix('.tau')}.K")
        for v, tau in zip(one.model.states, one.x, strict=True)
        if v.name.endswith(".tau") and f"{v.name.removesuffix('.tau')}.K" in one.model.by_name
    )


# --- gears ------------------------------------------------------------------------------------------------------------

FLANGES = [("differential", {"left": "speed", "right": "speed"}), ("differential", {"pinion": "speed"}),
    ("planetary", {"ring": "speed"}), ("power_split_ivt", {"engine": "speed"}),
    ("power_split_ivt", {"output": "speed"}), ("power_split_ivt", {"engine": "speed", "output": "speed"}),
    ("toroidal_kers", {"shaft": "speed", "flywheel": "speed"})]  # fmt: skip


def flanged(name: str, choice: dict[str, str], **solver: float) -> GearSystem:
    """A gear system with speeds given at these flanges."""
    unit = load_unit(name)
    data = unit.model_dump(exclude_unset=True) | {"source": unit.source, "text": unit.text}
    if solver:
        data["solver"] = solver
    if "flywheel" in choice:
        data["ports"] = {**data["ports"], "flywheel": {"gear": "a"}}
    return with_flanges(parse_table(GearSystem, data, unit.source), choice)


def with_play() -> GearSystem:
    """A planetary set with a clutch, a brake, a one-way clutch, losses and play."""
    text = load_unit("planetary").text
    for old, new in (
        ('K = ["s", "r"]', 'K = { between = ["s", "r"], capacity = 100.0 }'),
        ('B = "r"', 'B = { gear = "r", capacity = 200.0 }\nW = { gear = "c", capacity = 500.0, one_way = "backward" }'),
        ("damping = 5e3 }", 'damping = 5e3, efficiency = 0.97, play = "0.1 mm" }'),
    ):
        text = text.replace(old, new)
    return read_gear_system(parse_unit_file(text, "set.toml"))


def state(one: Instance, name: str) -> float:
    """A state by its name, 0 if there is none."""
    return next((x for x, v in zip(one.x, one.model.states, strict=True) if v.name == name), 0.0)


def gear_state(one: Instance, rng: Generator) -> None:
    """Away from the limits of a controller, which moves what it controls."""
    scales = {"w": 100.0, "F": 500.0, "tau": 20.0, "tau_1": 20.0, "tau_2": 20.0, "phi": 2e-4}
    for k, v in enumerate(one.model.states):
        one.x[k] = scales.get(v.name.rsplit(".", 1)[-1], 0.2) * rng.uniform(0.2, 1.0)
    for v in one.model.select("input"):
        one.u[v.index] = (v.nominal or 1.0) * rng.uniform(0.1, 0.5)
    theta = state(one, "control.theta")
    if "control.theta_des" in one.model.by_name:
        one.set("control.theta_des", theta + 0.01)
    if "control.tau_des" in one.model.by_name:
        omega = state(one, "gear.d.w")
        one.set("shaft.w", omega)
        A1 = matrices(one, theta).A1
        one.x[[v.name for v in one.model.states].index("control.power")] = 0.0
        one.set("control.tau_des", -A1[0, 0] * omega + 0.05)
    one.outputs()


# --- belts ------------------------------------------------------------------------------------------------------------


def with_arm(one: Instance, rng: Generator) -> None:
    """The arm between and behind its stops."""
    at = random_belt(one, rng, BeltD.X_ARM)
    one.x[at : at + 3] = rng.uniform(-0.3, 0.3), rng.normal(scale=3.0), rng.uniform(-2.0, 2.0)


def with_decoupler(one: Instance, rng: Generator) -> None:
    """The spring wound either way."""
    at = random_belt(one, rng, BeltD.X_DECOUPLER)
    one.x[at : at + 2] = rng.normal(scale=30.0), rng.uniform(-0.2, 0.2)


# --- variators --------------------------------------------------------------------------------------------------------


def variator_state(one: Instance, rng: Generator) -> None:
    """Any state within the geometry and any input, at speeds from standstill up, with and without macro-slip."""
    p, data, u = one.p, one.model.data, one.u
    p[P.CONTROL] = rng.integers(3)
    scale = 10.0 ** rng.uniform(-3.0, 2.5)
    phi = rng.uniform(data[D.PHI_MIN] - 0.05, data[D.PHI_MAX] + 0.05)
    x = rng.normal(size=len(one.x)) * 50.0
    if one.model.fidelity == "hybrid":
        x[:3] = scale * rng.normal(size=3) * [1.0, 0.05, 1.0]
        x[3:8] = *3e3 * rng.normal(size=2), phi, 1e3 * rng.normal(), rng.uniform(0.2, 3.0)
        if rng.random() < 0.5:  # not far from rolling
            x[1], x[2] = 0.054 * x[0] * (1.0 + 0.01 * rng.normal()), x[0] * (1.0 + 0.01 * rng.normal())
    else:
        x[:4] = scale * rng.normal(), phi, 3e3 * rng.normal(), rng.uniform(0.2, 3.0)
    one.x[:] = x
    u[:] = rng.normal(size=7) * [100.0, 100.0, 1e4, 1e4, 1e6, 1e6, 0.0]
    u[6] = rng.uniform(0.0, 3.0)
    if rng.random() < 0.6:
        u[2:6] = np.abs(u[2:6]) + np.array([3e3, 3e3, 3e5, 3e5])


TEXTS = {  # variants: a shipped unit, and what replaces parts of its text
    "warm_clutch": ("clutch", {
        "[parameters]": 'friction = "friction.csv"\n[parameters]\nC_p = "1 kJ/K"\nC_h = "4 kJ/K"\nG = 50\nG_oil = 30\n'
                        'G_air = 10\nT_oil = "90 degC"\nT_air = "20 degC"\nT_start = "90 degC"\nT_max = "150 degC"'}),
}  # fmt: skip
RANGES["warm_clutch"] = tuple(
    (*x, *y) for x, y in zip(RANGES["clutch"], ((280.0, 280.0), (500.0, 500.0), (), ()), strict=True)
)


def variant(name: str, **more: str) -> Unit:
    """One of `TEXTS`, with `more` replaced."""
    base, changes = TEXTS[name]
    text = load_unit(base).text
    for old, new in (changes | more).items():
        text = text.replace(old, new, 1)
    return load_unit(parse_unit_file(text, f"{name}.toml", Path(__file__).parent / "data"))


def kers_model(fidelity: str) -> Model:
    """The KERS behind a variator, with laws in closed form."""
    text = load_unit("pushbelt_kers").text.partition("[[scenario]]")[0]
    text = text.replace('reduced = "pushbelt_24mm_belief"', 'reduced = "laws.h5"')
    return build_kers(read_variator(parse_unit_file(text, "kers.toml")), fidelity, reduced=laws())


def kers_state(one: Instance, rng: Generator) -> None:
    """Turning either way within the geometry."""
    hybrid, data = one.model.fidelity == "hybrid", one.model.data
    x, omega = rng.normal(size=len(one.x)) * 20.0, rng.uniform(-300.0, 300.0)
    x[0], x[X.ANGLE if hybrid else RigidX.ANGLE] = omega, rng.uniform(data[D.PHI_MIN], data[D.PHI_MAX])
    if hybrid:
        x[1], x[2] = 0.05 * omega * (1.0 + 0.01 * rng.normal()), omega * rng.uniform(0.5, 1.5)
        x[3:5] = 2e3 * rng.normal(size=2)
    x[-len(KersX) :] = 0.1 * rng.normal(), rng.uniform(6e3, 2e4), 1e3 * rng.normal(), omega / 1.5, 0.0
    one.x[:] = x
    one.u[:] = omega / 1.5 * (1.0 + 0.02 * rng.normal()), 60.0 * rng.normal()


# --- all --------------------------------------------------------------------------------------------------------------


def machines() -> Iterator[tuple[str, Machine]]:
    """Shipped units with a state that is drawn, and variants of them."""
    draws = {kind: partial(in_ranges, kind) for kind in RANGES if kind not in TEXTS}
    draws |= {"gear_system": gear_state, "belt": random_belt}
    for name in shipped_units(*draws):
        unit = load_unit(name)
        for fidelity in unit.models:
            share = 1e-6 if (unit.kind, fidelity) == ("belt", "hybrid") else 1e-2
            draw = draws.get(name, draws[unit.kind])
            yield f"{name} {fidelity}", Machine(partial(unit.build, fidelity), draw, share)
    for name, choice in FLANGES:
        for fidelity in ("rigid", "full"):
            build = partial(flanged(name, choice).build, fidelity)
            yield f"{name} {'-'.join(choice)} {fidelity}", Machine(build, gear_state)
    for name in TEXTS:
        yield name, Machine(variant(name).build, partial(in_ranges, name))
    yield "planetary play rigid", Machine(partial(with_play().build, "rigid"), gear_state)
    yield "planetary play full", Machine(partial(with_play().build, "full"), gear_state)
    pulsating = load_unit("engine").text.replace("w_start =", "a = 0.3\ntau_k = 20\nJ_2 = 0.01\nw_start =")
    for name, high in (("slow", 2.0), ("fast", 750.0)):
        build = load_unit(parse_unit_file(pulsating, "mine.toml")).build
        yield f"engine pulsating {name}", Machine(build, partial(engine_state, high), 1e-4)
    fast = partial(random_belt, speed=400.0)
    yield "serpentine", Machine(load_unit(SERPENTINE).build, fast, 1e-6)
    for torque in (False, True):
        how = " torque" if torque else ""
        yield f"tensioned{how}", Machine(tensioned(torque).build, with_arm, 1e-6)
        yield f"decoupled{how}", Machine(decoupled(torque, damping=0.3, drag=0.4).build, with_decoupler, 1e-6)
    for fidelity in ("hybrid", "rigid"):
        for k in range(4):
            speeds = {name: "speed" for bit, name in enumerate(("primary", "secondary")) if k >> bit & 1}
            variator = instance(fidelity, corrected() if k else None, speeds, **SHAFTS).model
            yield f"variator {'-'.join(speeds)} {fidelity}", Machine(lambda made=variator: made, variator_state)
        yield f"variator kers {fidelity}", Machine(partial(kers_model, fidelity), kers_state)
