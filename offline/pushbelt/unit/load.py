"""Load of the secondary in a unit file or a plan: ``load = { kind = "bench", inertia = "0.5 kg.m2" }``.

    torque   M_O alone, constant
    bench    M_O on a dynamometer after a shaft
    car      M_O on the mass of a car, after half-shafts and final drive, both as seen from the secondary
    damper   M_O, and a viscous damper: a ring in a housing on the shaft, with oil between them

The equations are those of `contact.sheave`. A shaft's damping is a share of the critical one of the pulley against the
mass after it: d = 2 zeta sqrt(K/(1/J + 1/J_L)). A car of mass m on wheels of radius r, after the final drive i_F, has K
= K_axle/i_F^2 and J_L = (m r^2 + J_wheels)/i_F^2.
"""

from typing import Annotated, Literal

from pydantic import Field, Tag

from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.unitfile import Record, chosen_by, quantity_in

Stiffness = Annotated[float, quantity_in("N.m/rad", above=0.0)]
Inertia = Annotated[float, quantity_in("kg.m2", above=0.0)]
Damping = Annotated[float, Field(ge=0.0, lt=1.0)]


def _shaft(K: float, J: float, zeta: float, J_O: float) -> Load:
    return Load(K, 2.0 * zeta * (K / (1.0 / J_O + 1.0 / J)) ** 0.5, J, 1.0)


class Torque(Record):
    """The load torque alone."""

    kind: Literal["torque"]  # of load

    def at(self, J_O: float, capacity: float, omega_O: float) -> Load:
        """See `Bench.at`."""
        del J_O, capacity, omega_O
        return Load()


class Bench(Record):
    """A dynamometer of 200 kW after a torque meter and a shaft."""

    kind: Literal["bench"]  # of load
    stiffness: Stiffness = 20e3  # from the pulley to the dynamometer
    inertia: Inertia = 0.5  # of the dynamometer's rotor
    damping: Damping = 0.02  # of the shaft, by the critical one

    def at(self, J_O: float, capacity: float, omega_O: float) -> Load:
        """The load of a pulley with `J_O` [kg m2] with the `capacity` [N m] and turns with `omega_O` [rad/s]."""
        del capacity, omega_O
        return _shaft(self.stiffness, self.inertia, self.damping, J_O)


class Car(Record):
    """The car of the unit car_cvt, its half-shafts as in the unit driveline."""

    kind: Literal["car"]  # of load
    mass: Annotated[float, quantity_in("kg", above=0.0)] = 1550.0  # of the car
    wheel_radius: Annotated[float, quantity_in("m", above=0.0)] = 0.316  # rolling radius
    wheels: Inertia = 4.0  # all of them
    final_drive: Annotated[float, Field(gt=0.0)] = 5.0  # speed of the secondary over that of the wheels
    half_shafts: Stiffness = 10e3  # both, at the wheels
    damping: Damping = 0.05  # of the half-shafts, by the critical one

    def at(self, J_O: float, capacity: float, omega_O: float) -> Load:
        """See `Bench.at`."""
        del capacity, omega_O
        square = self.final_drive**2
        J = (self.mass * self.wheel_radius**2 + self.wheels) / square
        return _shaft(self.half_shafts / square, J, self.damping, J_O)


class Damper(Record):
    """Has the torque of the secondary's capacity at a difference of `slip` of its speed; `time` is the ring's."""

    kind: Literal["damper"]  # of load
    slip: Annotated[float, Field(gt=0.0, le=10.0)] = 0.05  # share of the secondary's speed
    time: Annotated[float, quantity_in("s", above=0.0)] = 0.01  # in which the ring follows

    def at(self, J_O: float, capacity: float, omega_O: float) -> Load:
        """See `Bench.at`."""
        del J_O
        d = capacity / (self.slip * omega_O)
        return Load(d=d, J=d * self.time)


Loads = Annotated[
    Annotated[Torque, Tag("TorqueTable")]
    | Annotated[Bench, Tag("BenchTable")]
    | Annotated[Car, Tag("CarTable")]
    | Annotated[Damper, Tag("DamperTable")],
    chosen_by("kind", Torque, Bench, Car, Damper),
]
