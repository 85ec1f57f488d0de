"""Pushbelt unit file: geometry, stiffness, friction, cases; and the records of the kernels.

Symbols are those of Cebulla 2014. The element's mass, centre of gravity (t_S, h_S) and inertia are integrals over its
outline, a half width over height with t(y) for the thickness:

    m = rho int t 2 b dy,   m h_S = rho int y t 2 b dy,   m t_S = rho int (t^2/2) 2 b dy,
    Theta_x = Y + Z,  Theta_y = X + Z,  Theta_z = X + Y   with   X = rho int (t^3/3) 2 b dy - m t_S^2,
    Y = rho int y^2 t 2 b dy - m h_S^2,   Z = rho int t (2 b^3/3) dy.

N_E elements represent N_E0 real ones (section 3.2.1). With s = N_E0/N_E: thicknesses, tapers, mass, flank and saddle
stiffness grow with s, since s real elements act in parallel. Joint stiffnesses shrink with 1/s, since s real joints act
in series and the compression of the chain must stay. Damping keeps its ratio to the critical one. Two elements of
thickness t on an arc of radius r' at their rocking edges turn by dphi = t/r' and lie t + (r_R/2 - t/12) dphi^2 apart
along it, rolling less chord; r_R becomes r_R/s + (s - 1/s) t_R/6, which keeps the sum over all joints.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rtcvt.errors import InputError, ask, ask_about_friction
from rtcvt.kind import Unit
from rtcvt.model import Variable, VariableTable
from rtcvt.offline.pushbelt.contact.friction import Coefficient, FlankFriction, Velocity
from rtcvt.offline.pushbelt.unit.load import Loads
from rtcvt.offline.sheave.profile import Drawing
from rtcvt.scenario import Scenario, Signal, sample_inputs
from rtcvt.unitfile import Record, UnitFile, quantity_in, read_unit_file, shipped_units
from rtcvt.variator.capacity import capacity

if TYPE_CHECKING:
    from rtcvt.offline.sheave.pulley import Drawn

Array = NDArray[np.float64]

PLAY = 0.3e-3  # [m] usual endplay of a belt of this class without load
MAX_PLAY = 2e-3  # [m] largest accepted endplay
USUAL_MU = 0.2  # steel on steel in oil
RIM_ATOL = 0.5e-3  # [m] by which the rim of a drawn sheave may differ from that of the pulleys
OUTLINE_ATOL = 0.3e-3, np.radians(1.0)  # [m], [rad] by which z_P and delta_0 may differ from the drawn outline
MAX_EXCESS = 3.0  # largest excess of the elements of a case over the room in the unloaded ring, in thicknesses
FORCE, RATE = 0, 1  # input at the sheaves of a pulley: clamping force, or end stop that moves at a rate
TORQUE, SPEED, DRIVEN = 0, 1, 2  # inputs at the shafts: omega_I with M_O or omega_O, or M_I with omega_O


Length = Annotated[float, quantity_in("m", above=0.0)]
Offset = Annotated[float, quantity_in("m")]
Play = Annotated[float, quantity_in("m", at_least=0.0)]
Stiffness = Annotated[float, quantity_in("N/m", above=0.0)]
Ratio = Annotated[float, Field(ge=0.0, lt=1.0)]  # damping ratio
Time = Annotated[float, quantity_in("s", at_least=0.0)]
Positive = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, Field(ge=0.0)]
Force = Annotated[float, quantity_in("N", at_least=0.0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]


class Element(Record):
    """Real element. Heights count from the bottom edge, lengths along the belt from the plane rear side."""

    N_E0: Annotated[int, Field(ge=20, le=2000)]  # elements of the real belt
    N_E: Annotated[int, Field(ge=20, le=2000)]  # elements of the model; each represents N_E0/N_E
    t_R: Length  # thickness at the rocking edge
    taper: Play = 0.0  # t_T - t_R: elements that are thinner or thicker at the top edge
    t_B: Length  # thickness at the bottom edge
    delta_0: Annotated[float, quantity_in("rad", above=0.0, below=0.25 * np.pi)]  # half wedge angle
    density: Annotated[float, quantity_in("kg/m3", above=0.0)]  # of the steel
    outline: tuple[tuple[Play, Play], ...] = Field(min_length=2)  # (height, half width), heights do not decrease
    h_R: Length  # rocking edge
    r_R: Length  # radius of its arc
    h_P: Length  # saddle
    h_E: Length  # ear
    h_T: Length  # top contact
    h_H: Length  # axis of pin and hole
    pin_length: Length  # of the pin
    t_H: Length  # depth of the hole
    r_P1: Length  # pin at its base, at its tip
    r_P2: Length  # radius of the pin at its tip
    r_H1: Length  # hole at its mouth, at its bottom
    r_H2: Length  # radius of the hole at its bottom
    y_F0: Play  # flank from, to
    y_F1: Length  # flank to
    y_P: Length  # fixed contact point P_R of the simple flank contact
    z_P: Length  # half width of the element there
    r_F: Length  # crown radius of the flank in the extended contact

    @model_validator(mode="after")
    def _fits(self) -> "Element":
        y = [p[0] for p in self.outline]
        if any(b < a for a, b in pairwise(y)):
            raise ValueError("outline: heights that do not decrease")
        if not self.h_R < self.h_P < self.h_E <= self.h_T <= y[-1]:
            raise ValueError("h_R < h_P < h_E <= h_T <= height of the outline")
        if not self.y_F0 < self.y_P < self.y_F1 <= y[-1]:
            raise ValueError("y_F0 < y_P < y_F1 <= height of the outline")
        if not (self.r_P2 < self.r_P1 < self.r_H1 and self.r_H2 < self.r_H1):
            raise ValueError("r_P2 < r_P1 < r_H1 and r_H2 < r_H1: the pin enters the hole")
        if not self.t_B <= self.t_R:
            raise ValueError("t_B <= t_R: elements tilt about their rocking edges")
        return self


class Ring(Record):
    """Both ring sets as one beam of twice the width (6.1.1)."""

    N_B: Annotated[int, Field(ge=12, le=1000)]  # finite elements of the ring
    l_R: Length  # relaxed neutral fibre
    layers: Annotated[int, Field(ge=1, le=20)]  # of a ring set
    layer_height: Length  # thickness of a layer
    width: Length  # of one set
    E: Annotated[float, quantity_in("Pa", above=0.0)]  # Young's modulus
    density: Annotated[float, quantity_in("kg/m3", above=0.0)]  # of the steel
    bending_factor: Annotated[float, Field(gt=0.0)] = 1.0  # on EI of layers that slide freely, to see its effect
    axial_time: Time  # damping / stiffness
    bending_time: Time  # damping / stiffness
    rod: Literal["rcm", "cosserat", "projected"] = "rcm"  # beam (6.1.1), Cosserat rod (6.2) or this on its modes (6.3)
    rotatory_factor: Positive = 1.0  # of the Cosserat rod, on a layer's rotatory inertia: allows larger steps
    modes: Annotated[int, Field(ge=1, le=500)] = 20  # of the projected rod
    snapshots: str | None = None  # file of a run of this belt next to the unit file, which gives the modes

    @model_validator(mode="after")
    def _has_modes(self) -> "Ring":
        if (self.rod == "projected") != (self.snapshots is not None):
            raise ValueError('snapshots: the file of a run with rod = "projected", else none')
        for key, rods in (("modes", ("projected",)), ("rotatory_factor", ("cosserat", "projected"))):
            if getattr(self, key) != type(self).model_fields[key].default and self.rod not in rods:
                raise ValueError(f"{key}: only with rod = {' or '.join(rods)}, not with {self.rod}")
        return self


Polynomial = Annotated[tuple[float, ...], Field(min_length=1, max_length=9)]  # the constant first


class Pulleys(Record):
    """Sheaves; all but J are values of each of the two symmetric sheaves of a pulley."""

    d_A: Length  # distance of the axes
    alignment_offset: Offset = 0.0  # of the pulleys; moves nothing in the planar belt
    r_min: Length  # radius of the shaft
    r_max: Length  # radius of the rim
    m: Annotated[float, quantity_in("kg", above=0.0)]  # mass of a sheave
    J: Annotated[float, quantity_in("kg.m2", above=0.0)]  # of the two sheaves and their shaft, about it
    Theta_t: Annotated[float, quantity_in("kg.m2", above=0.0)]  # about a diameter
    d_z: Annotated[float, quantity_in("N.s/m", at_least=0.0)]  # viscous friction of its axial motion
    c_t: Annotated[float, quantity_in("N.m/rad", above=0.0)]  # guide of the sheave on the shaft
    tilt_damping: Ratio  # of the guide, by the critical one
    a: Polynomial | Annotated[tuple[Polynomial, ...], Field(min_length=1, max_length=12)] | None = (
        None  # (5.51) [m/N, 1/N, 1/(N m), ...], of any degree; or one polynomial for each harmonic; without: as drawn
    )
    A: tuple[float, ...] = Field((), max_length=12)  # Fourier weights (5.52); without: 1 each
    multiplier: Annotated[float, Field(ge=0.0)] = 1.0  # of the sheaves' influence numbers, to see their effect

    @model_validator(mode="after")
    def _fits(self) -> "Pulleys":
        if not self.r_min < self.r_max < self.d_A - self.r_min:
            raise ValueError("r_min < r_max < d_A - r_min")
        if any(a <= 0.0 for a in self.A):
            raise ValueError("A: weights above 0, else the influence matrix is not positive")
        if self.a is None:
            if self.A:
                raise ValueError("A: needs a")
            return self
        each = isinstance(self.a[0], tuple)
        if not (self.A or each):
            raise ValueError("A: the Fourier weights, unless a has a polynomial for each harmonic")
        if self.A and each and len(self.A) != len(self.a):
            raise ValueError("A: as many weights as a has polynomials")
        r = np.linspace(self.r_min, self.r_max, 1000)
        lowest = min(float(np.polyval(row[::-1], r).min()) for row in _rows(self))
        if lowest < 0.0:
            raise ValueError(f"a: c_rad(r) at least 0 from r_min to r_max; its smallest value is {lowest:.3g} m/N")
        return self


def _rows(pulleys: Pulleys) -> tuple[tuple[float, ...], ...]:
    """A polynomial for each harmonic."""
    a: Any = pulleys.a
    return a if isinstance(a[0], tuple) else (a,) * len(pulleys.A)


class Contacts(Record):
    """Stiffness of real contacts, damping ratios, and friction with the speed below which it is regularised."""

    k_R: Stiffness  # rocking edge
    k_T: Stiffness  # top
    k_B: Stiffness  # bottom
    k_PH: Stiffness  # pin-hole
    c_el: Stiffness  # element between its flanks, per flank
    k_S: Stiffness  # saddle and ear
    joint_damping: Ratio  # of element and element, by the critical one
    flank_damping: Ratio  # of element and sheave, by the critical one
    saddle_damping: Ratio  # of element and ring, by the critical one
    friction: FlankFriction  # law of element and sheave
    mu_R: Coefficient  # element-ring
    v_muR: Velocity  # slip below which the ring's friction is regularised
    mu_L: Annotated[float, Field(gt=0.0, lt=1.0)] | None = (
        None  # layer on layer, for the loss within the set; without: its section stays plane
    )
    v_muL: Velocity = 0.01  # slip below which the layers' friction is regularised

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_releases(cls, data: Any) -> Any:
        """Read a file in which the parameters of the flanks' friction are keys of this table."""
        if not isinstance(data, dict) or "friction" in data or "mu" not in data:
            return data
        rest = dict(data)
        own = {k: v for k in ("mu", "v_mu", "mu_0", "v_S") if (v := rest.pop(k, None)) is not None}
        law = "stribeck" if {"mu_0", "v_S"} & set(own) else "coulomb"
        return rest | {"friction": {"law": law, **own}}


class Spatial(Record):
    """Further data of the spatial model; lengths across the belt."""

    z_R: Length  # rocking contacts left and right of the middle
    w_S: Length  # over both saddles, pillar included
    w_P: Length  # pillar
    k_P: Stiffness  # ring against pillar
    crown: Play = 0.0  # radius of the saddle, 0: flat; guides the rings by their roll, explicit scheme only
    tracking: tuple[Force, Force] = (0.0, 0.0)  # L, F of (5.3)-(5.11), 0: none
    camber: Annotated[float, quantity_in("1/m")] = 0.0  # of the relaxed rings, edgewise: rings that are not straight
    lateral_time: Time  # damping / stiffness of the rings across their plane
    compliance: tuple[Positive, Positive] = (1.0, 1.0)  # of loose and fixed sheave, over their mean
    ring_friction: tuple[Share, Share] = (1.0, 1.0)  # of left and right ring set, over mu_R: sets that differ

    @model_validator(mode="after")
    def _fits(self) -> "Spatial":
        if not self.w_P < self.w_S:
            raise ValueError("w_P < w_S: a saddle next to the pillar")
        L, F = self.tracking
        if not (L == F == 0.0 or 0.0 < L < F):
            raise ValueError("tracking: two forces, 0 < L < F, or 0 and 0 for none")
        return self


class Case(Record):
    """An operating point or a row of them: inputs of the pulleys over time."""

    name: Name
    description: str = ""
    source: str = ""  # source of the case
    i_r: Annotated[float, Field(gt=0.1, lt=10.0)] | None = None  # ratio r_O/r_I at the start, see `initial.start_state`
    i_s: Annotated[float, Field(gt=0.1, lt=10.0)] | None = None  # speed ratio of the measurement
    N_E0: Annotated[int, Field(ge=20, le=2000)] | None = None  # elements of the real belt, if others
    inputs: dict[str, Signal]  # inputs of pulleys and shafts over time
    M_O: tuple[float, ...] = ()  # row of load torques [N m] ...
    xi: tuple[float, ...] = ()  # ... and the torque ratios (7.1) printed with them
    M_O_max: Annotated[float, quantity_in("N.m", above=0.0)] | None = None  # load torque at xi = 1

    @model_validator(mode="after")
    def _complete(self) -> "Case":
        given = set(self.inputs)
        unknown = given - set(_INPUTS)
        if unknown:
            raise ValueError(f"inputs: unknown '{min(unknown)}'; allowed: {', '.join(_INPUTS)}")
        if self.M_O and "M_O" in given:
            raise ValueError("the load torque either as inputs.M_O or as a row M_O")
        if self.M_O:
            given.add("M_O")
        stops = {"rate_I", "rate_O"} <= given
        if stops and "F_CO" not in given:
            raise ValueError("two end stops need inputs.F_CO, the clamping force at the start, which sets the grooves")
        for pair in (("omega_I", "M_I"), ("F_CI", "rate_I"), ("F_CO", "rate_O"), ("M_O", "omega_O")):
            if len(given & set(pair)) != 1 and not (stops and pair[0] == "F_CO"):
                raise ValueError(f"exactly one of inputs.{pair[0]} and inputs.{pair[1]}")
        if {"M_I", "M_O"} <= given:
            raise ValueError("inputs.M_I needs inputs.omega_O: of the two shafts one has its speed")
        if self.i_r is None and not {"omega_I", "omega_O"} <= given:
            raise ValueError("i_r is required, but where both speeds are given")
        if self.xi and len(self.xi) != len(self.M_O):
            raise ValueError(f"as many xi as M_O: {len(self.xi)}, {len(self.M_O)}")
        return self


class Parameters(Unit):
    """A unit of kind ``pushbelt``."""

    kind: Literal["pushbelt"]
    folder: Path = Path()  # of the unit file, in which ring.snapshots is looked for
    element: Element  # geometry of an element
    ring: Ring  # both ring sets
    pulleys: Pulleys  # sheaves and shafts
    contacts: Contacts  # stiffness, damping, friction
    sheaves: Drawing | None = None  # profiles of the sheaves; pulleys.a, where given, is used instead
    spatial: Spatial | None = None  # data of the spatial parts
    load: Loads | None = None  # load of the secondary, else its load torque alone
    case: tuple[Case, ...] = ()  # operating points

    @model_validator(mode="after")
    def _names_once(self) -> "Parameters":
        names = [c.name for c in self.case]
        if len(names) != len(set(names)):
            raise ValueError("case: names that are used once")
        return self

    @model_validator(mode="after")
    def _fits(self) -> "Parameters":
        e, top = self.element, self.element.h_P + self.ring.layers * self.ring.layer_height
        if not top < e.h_E:
            raise ValueError(f"h_P + layers layer_height = {top:g} m < h_E = {e.h_E:g} m: the ring lies below the ears")
        if self.spatial is not None and not self.contacts.mu_R * max(self.spatial.ring_friction) < 1.0:
            shares = list(self.spatial.ring_friction)
            raise ValueError(f"spatial.ring_friction = {shares} times contacts.mu_R = {self.contacts.mu_R:g} below 1")
        if self.pulleys.a is None and self.sheaves is None:
            raise ValueError("pulleys.a and A, or the tables sheaves.loose and sheaves.fixed")
        r = (self.ring.l_R - 2.0 * self.pulleys.d_A) / (2.0 * np.pi)
        whole = belt(self)
        play = endplay(whole, np.pi, np.pi, r, r) if r > whole.h_off else -np.inf
        if not 0.0 <= play <= MAX_PLAY:
            if play == -np.inf:
                raise ValueError(
                    f"ring.l_R = {1e3 * self.ring.l_R:g} mm goes round d_A = {1e3 * self.pulleys.d_A:g} mm"
                )
            number = e.N_E0 + int(np.floor((play - PLAY) / e.t_R))
            raise ValueError(
                f"ring.l_R = {1e3 * self.ring.l_R:g} mm leaves {e.N_E0} elements {1e3 * play:.2f} mm of endplay; 0 to "
                f'{1e3 * MAX_PLAY:g} mm are allowed: l_R = "{1e3 * _fitting_ring(whole):.2f} mm" fits, or N_E0 = '
                f"{number}"
            )
        for case in self.case:
            number = case.N_E0 or e.N_E0
            left = endplay(belt(self, N_E0=number), np.pi, np.pi, r, r)
            if not -MAX_EXCESS * e.t_R < left <= MAX_PLAY:
                most = number + int(np.ceil((left + MAX_EXCESS * e.t_R) / e.t_R)) - 1
                least = number + int(np.ceil((left - MAX_PLAY) / e.t_R))
                raise ValueError(
                    f"case '{case.name}', N_E0 = {number}: ring.l_R = {1e3 * self.ring.l_R:g} mm leaves "
                    f"{1e3 * left:.2f} mm of endplay; {least} to {most} elements fit, and without this key "
                    f"element.N_E0 = {e.N_E0} holds"
                )
        held = capacity(whole.mu, whole.cos_d, 20e3) * (r - whole.h_off)
        friction = {f"friction.{key}": value for key, value in self.contacts.friction if key in ("mu", "mu_0")}
        for key, value in (friction | {"mu_R": self.contacts.mu_R, "mu_L": self.contacts.mu_L}).items():
            if value is not None:
                effect = f", and 20 kN would hold {held:.0f} N.m at ratio 1" if key == "friction.mu" else ""
                ask_about_friction(self.source, f"contacts.{key}", value, USUAL_MU, effect)
        y, half = np.array(e.outline).T
        width, lower, upper = np.interp((e.y_P, e.y_F0, e.y_F1), y, half)
        angle = float(np.arctan2(upper - lower, e.y_F1 - e.y_F0))
        if abs(width - e.z_P) > OUTLINE_ATOL[0]:
            ask(self.source, "element.z_P", e.z_P, f"the outline has {width:.4g} m at y_P; which of the two is meant?")
        if abs(angle - e.delta_0) > OUTLINE_ATOL[1]:
            told = f"the outline's flanks have {np.degrees(angle):.3g} deg; which of the two is meant?"
            ask(self.source, "element.delta_0", e.delta_0, told)
        if self.sheaves is not None:
            for name, profile in (("loose", self.sheaves.loose), ("fixed", self.sheaves.fixed)):
                rim, r_max = profile.disc[-1][0], self.pulleys.r_max
                if abs(rim - r_max) > RIM_ATOL:
                    raise ValueError(
                        f"sheaves.{name}.disc ends at {1e3 * rim:g} mm, pulleys.r_max is {1e3 * r_max:g} mm: one rim; "
                        "draw these sheaves, or delete the tables [sheaves] and give pulleys.a and A"
                    )
        return self

    def get_case(self, name: str | None) -> Case:
        """The case of that name.

        Raises
        ------
        InputError
            There is none, or the option ``--case`` is missing (None).
        """
        for c in self.case:
            if c.name == name:
                return c
        where = (self.source, "case") if name else ("--case", "")
        raise InputError(*where, name, f"one of {', '.join(c.name for c in self.case) or 'none'}")


class MassProperties(NamedTuple):
    """Mass [kg], centre of gravity from rear plane and bottom [m], inertia about it [kg m2]: run, yaw, pitch axis."""

    m: float
    t_S: float
    h_S: float
    Theta: tuple[float, float, float]


class Belt(NamedTuple):
    """Belt of N_E elements in SI units, scaled from N_E0 real ones. Names are those of `Element`, `Ring`, `Contacts`.

    ``mu`` is that of the flanks at high slip; ``h_off`` is the height of the ring's neutral fibre
    on the saddle above the rocking edge, ``h_ring`` the height of the ring set, ``d_align`` the alignment offset,
    ``m_star`` the mass per length of undeformed belt.
    """

    N_E: int
    N_E0: int
    t_R: float
    t_T: float
    t_B: float
    m_E: float
    J_E: float
    t_S: float
    h_S: float
    h_R: float
    r_R: float
    h_T: float
    h_P: float
    h_E: float
    h_H: float
    t_P: float
    t_H: float
    r_P1: float
    r_P2: float
    r_H1: float
    r_H2: float
    y_P: float
    z_P: float
    y_F0: float
    y_F1: float
    r_F: float
    delta_0: float
    tan_d: float
    cos_d: float
    sin_d: float
    k_R: float
    d_R: float
    k_T: float
    d_T: float
    k_B: float
    d_B: float
    k_PH: float
    d_PH: float
    c_el: float
    d_el: float
    mu: float
    v_mu: float
    mu_R: float
    v_muR: float
    k_S: float
    d_S: float
    N_B: int
    l_R: float
    EA: float
    EI: float
    rhoA: float
    h_ring: float
    d_axial: float  # [N s]
    d_bend: float  # [N m2 s]
    d_A: float
    d_align: float
    h_off: float
    m_star: float
    layers: int = 1


class Sheaves(NamedTuple):
    """One of the two symmetric sheaves of a pulley, but J of the whole; a (by harmonic), A: (5.51), (5.52)."""

    m: float
    J: float
    Theta_t: float
    d_z: float
    c_t: float
    d_t: float
    r_min: float
    r_max: float
    a: tuple[tuple[float, ...], ...]
    A: tuple[float, ...]
    multiplier: float


class Boundary(NamedTuple):
    """A setting of Table 4.1, or of chapter 8, at one time. Forces press the belt, rates open the groove.

    ``value_I``, ``value_O``: clamping force [N], or rate of the groove's full opening [m/s]; ``value_load``: torque
    M_O [N m] that the secondary shaft gives off, or its speed [rad/s]. With the mode `DRIVEN` ``omega_I`` is the torque
    M_I [N m] that drives the primary, and ``value_load`` the speed of the secondary.
    """

    mode_I: int
    value_I: float
    mode_O: int
    value_O: float
    omega_I: float
    mode_load: int
    value_load: float


def load_parameters(unit: str | Path) -> Parameters:
    """Read and validate a pushbelt unit file or a shipped unit.

    Raises
    ------
    InputError
        Missing file, not TOML, or not a valid unit; names file, key, value and what is allowed.
    """
    return read_parameters(read_unit_file(unit))


def read_parameters(file: UnitFile) -> Parameters:
    """Validate a pushbelt unit file.

    Raises
    ------
    InputError
        Not a valid unit.
    """
    if file.kind != "pushbelt":
        raise InputError(file.source, "kind", file.kind, "pushbelt")
    return file.parse(Parameters)


def is_belt_of(unit: str, numbers: Mapping[str, Any]) -> bool:
    """Whether these numbers of a `Belt` are those of a shipped unit, and not of a changed copy."""
    if unit not in shipped_units("pushbelt"):
        return False
    known = belt(load_parameters(unit))._asdict()
    return all(np.isclose(numbers.get(k, np.nan), known[k]) for k in ("N_E0", "l_R", "d_A", "delta_0", "h_P"))


def mass_properties(outline: Array, thickness: Array, density: float) -> MassProperties:
    """Exact integrals over an outline that is piecewise linear in width and thickness.

    Parameters
    ----------
    outline : (n, 2) array
        Height and half width [m]; equal heights make a step.
    thickness : (k, 2) array
        Height and thickness [m], increasing heights that span the outline.
    density : float
        [kg/m3]
    """
    g, w = np.polynomial.legendre.leggauss(3)  # exact to degree 5; the integrands have 4
    total = np.zeros(6)
    for (y0, b0), (y1, b1) in pairwise(outline):
        cuts = [y0, *(c for c in thickness[:, 0] if y0 < c < y1), y1]
        for lower, upper in pairwise(cuts):
            if upper == lower:
                continue
            y = 0.5 * (lower + upper) + 0.5 * (upper - lower) * g
            b = b0 + (b1 - b0) * (y - y0) / (y1 - y0)
            t = np.interp(y, thickness[:, 0], thickness[:, 1])
            parts = np.array([t * 2 * b, t**2 * b, y * t * 2 * b, t**3 * 2 * b / 3, y**2 * t * 2 * b, t * 2 * b**3 / 3])
            total += 0.5 * (upper - lower) * parts @ w
    m, mx, my, xx, yy, zz = (density * total).tolist()
    X, Y = xx - mx**2 / m, yy - my**2 / m
    return MassProperties(m, mx / m, my / m, (Y + zz, X + zz, X + Y))


def element_mass(e: Element, t_R: float, t_T: float, t_B: float) -> MassProperties:
    """Mass of an element with the outline of `e` and these (scaled) thicknesses [m]."""
    outline = np.array(e.outline)
    top = t_R + (t_T - t_R) * (outline[-1, 0] - e.h_R) / (e.h_T - e.h_R)
    return mass_properties(outline, np.array([(0.0, t_B), (e.h_R, t_R), (outline[-1, 0], top)]), e.density)


def belt(
    parameters: Parameters,
    *,
    N_E: int | None = None,
    N_E0: int | None = None,
    N_B: int | None = None,
    taper: float | None = None,
) -> Belt:
    """The belt with N_E modelled elements, N_E0 real ones, N_B ring nodes and the taper t_T - t_R [m] of a real one."""
    e, r, c, p = parameters.element, parameters.ring, parameters.contacts, parameters.pulleys
    N_E, N_E0, N_B = N_E or e.N_E, N_E0 or e.N_E0, N_B or r.N_B
    s = N_E0 / N_E
    t_R, t_B = e.t_R * s, e.t_B * s
    t_T = t_R + (e.taper if taper is None else taper) * s
    mass = element_mass(e, t_R, t_T, t_B)

    h_ring = r.layers * r.layer_height
    area = 2.0 * r.width * h_ring
    EI = r.E * 2.0 * r.width * h_ring**3 / (12.0 * r.layers**2) * r.bending_factor
    rhoA = r.density * area

    k = {name: getattr(c, name) / s for name in ("k_R", "k_T", "k_B", "k_PH")}  # of a joint
    c_el, k_S = c.c_el * s, c.k_S * s
    tan_d = float(np.tan(e.delta_0))
    changed: dict[str, Any] = {
        "N_E": N_E,
        "N_E0": N_E0,
        "N_B": N_B,
        "t_R": t_R,
        "t_T": t_T,
        "t_B": t_B,
        "r_R": e.r_R / s + e.t_R * (s - 1.0 / s) / 6.0,
        "m_E": mass.m,
        "J_E": mass.Theta[2],
        "t_S": mass.t_S,
        "h_S": mass.h_S,
        "t_P": t_R + e.pin_length,
        "tan_d": tan_d,
        "cos_d": float(np.cos(e.delta_0)),
        "sin_d": float(np.sin(e.delta_0)),
        **k,
        **{name.replace("k", "d"): 2.0 * c.joint_damping * float(np.sqrt(v * mass.m / 2.0)) for name, v in k.items()},
        "c_el": c_el,
        # ratio to the critical damping of the radial motion on two flanks: 2 c_el tan^2, 2 d_el tan^2
        "d_el": c.flank_damping * float(np.sqrt(2.0 * c_el * mass.m)) / tan_d,
        "k_S": k_S,
        "d_S": 2.0 * c.saddle_damping * float(np.sqrt(k_S * mass.m / 2.0)),
        "EA": r.E * area,
        "EI": EI,
        "rhoA": rhoA,
        "h_ring": h_ring,
        "d_axial": r.E * area * r.axial_time,
        "d_bend": EI * r.bending_time,
        "d_align": p.alignment_offset,
        "h_off": e.h_P - e.h_R + 0.5 * h_ring,
        "m_star": rhoA + N_E * mass.m / r.l_R,
    }
    given = {name: value for of in (e, r, c, c.friction, p) for name, value in of if name in Belt._fields}
    return Belt(**given | changed)


def sheaves(parameters: Parameters) -> Sheaves:
    """One of the two symmetric sheaves of a pulley; a drawn one is computed from its finite elements."""
    p = parameters.pulleys
    a = drawn_sheaves(parameters).a if p.a is None else _rows(p)
    given = {name: value for name, value in p if name in Sheaves._fields}
    d_t = 2.0 * p.tilt_damping * float(np.sqrt(p.c_t * p.Theta_t))
    return Sheaves(**given | {"d_t": d_t, "a": a, "A": p.A or (1.0,) * len(a)})


def influence_numbers(s: Sheaves, r: float) -> Array:
    """C_k(r, r) of each harmonic, multiplier included [m/N], (5.53)."""
    return s.multiplier * np.array([np.polyval(row[::-1], r) * A for row, A in zip(s.a, s.A, strict=True)])


def drawn_sheaves(parameters: Parameters) -> "Drawn":
    """Influence of the sheaves that the file draws, under the flanks of its elements.

    Raises
    ------
    InputError
        The file draws none, or one whose disc is next to its hub.
    """
    from rtcvt.offline.sheave.pulley import Flank, drawn

    if parameters.sheaves is None:
        raise InputError(parameters.source, "sheaves", None, "tables loose and fixed: profiles of the sheaves")
    e, p = parameters.element, parameters.pulleys
    depth = e.y_P - 0.5 * (e.y_F0 + e.y_F1)
    try:
        return drawn(parameters.sheaves, Flank(e.delta_0, e.y_F1 - e.y_F0, depth, p.r_min + e.y_P, p.r_max))
    except ValueError as error:
        raise InputError(parameters.source, "sheaves", None, str(error)) from None


def endplay(b: Belt, wrap_I: float, wrap_O: float, r_I: float, r_O: float) -> float:
    """Endplay [m] without load: free length in the ring along the rocking edges.

    The rocking edges run h_off below the neutral fibre, 2 pi h_off shorter. An arc needs (r_R/2 - t_R/12) dphi^2 at
    each of wrap/dphi joints, dphi = t_R/r', on top of the thicknesses.

    Parameters
    ----------
    wrap_I, wrap_O : float
        Wrapped angles [rad].
    r_I, r_O : float
        Radii of the neutral fibre [m].
    """
    rolling = (0.5 * b.r_R - b.t_R / 12.0) * b.t_R * (wrap_I / (r_I - b.h_off) + wrap_O / (r_O - b.h_off))
    return b.l_R - 2.0 * np.pi * b.h_off - b.N_E * b.t_R - rolling


def _fitting_ring(b: Belt) -> float:
    """Length [m] of the ring that leaves `PLAY` at i = 1; the joints' share depends on the radius, and hardly."""
    l_R = 2.0 * np.pi * b.h_off + b.N_E * b.t_R
    for _ in range(4):
        r = (l_R - 2.0 * b.d_A) / (2.0 * np.pi)
        l_R += PLAY - endplay(b._replace(l_R=l_R), np.pi, np.pi, r, r)
    return float(l_R)


_INPUTS = {
    "omega_I": "rad/s",
    "F_CI": "N",
    "rate_I": "m/s",
    "F_CO": "N",
    "rate_O": "m/s",
    "M_O": "N.m",
    "omega_O": "rad/s",
    "M_I": "N.m",
}
_TABLE = VariableTable(
    "pushbelt", tuple(Variable(n, "input", k, u, "", 0.0) for k, (n, u) in enumerate(_INPUTS.items()))
)


def boundary_at(case: Case, time: Array, row: int = 0) -> Array:
    """Inputs of a case at `time` [s], shape (len(time), 7): rows are the values of a `Boundary`.

    `row` picks the load torque where the case has a row of them.

    Raises
    ------
    InputError
        A signal that is not valid, or a row that the case does not have.
    """
    inputs = dict(case.inputs)
    if case.M_O:
        if not 0 <= row < len(case.M_O):
            raise InputError(f"case {case.name}", "row", row, f"0 to {len(case.M_O) - 1}")
        inputs["M_O"] = case.M_O[row]
    time = np.asarray(time, dtype=float)
    u = sample_inputs(_TABLE, Scenario(name=case.name, duration=max(float(time[-1]), 1e-9), inputs=inputs), time)
    column = dict(zip(_INPUTS, u.T, strict=True))
    b = np.empty((len(time), 7))
    b[:, 0] = RATE if "rate_I" in inputs else FORCE
    b[:, 1] = column["rate_I" if "rate_I" in inputs else "F_CI"]
    b[:, 2] = RATE if "rate_O" in inputs else FORCE
    b[:, 3] = column["rate_O" if "rate_O" in inputs else "F_CO"]
    b[:, 4] = column["M_I" if "M_I" in inputs else "omega_I"]
    b[:, 5] = DRIVEN if "M_I" in inputs else SPEED if "omega_O" in inputs else TORQUE
    b[:, 6] = column["omega_O" if "omega_O" in inputs else "M_O"]
    return b
