"""Where tests of a pushbelt begin: a case of the shipped unit on its pulleys; the unit with other values."""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.unit.initial import Start, start_state
from rtcvt.offline.pushbelt.unit.parameters import (
    Belt,
    Boundary,
    Parameters,
    Sheaves,
    belt,
    boundary_at,
    load_parameters,
    sheaves,
)

UNIT = load_parameters("pushbelt_24mm")


class Begun(NamedTuple):
    """A belt as it starts; boundary values (frames + 1, 7)."""

    belt: Belt
    sheaves: Sheaves
    inputs: np.ndarray
    start: Start

    @property
    def state(self) -> hy.State:
        """A new one each time."""
        return hy.state(*self.start[:7], n_k=len(self.sheaves.A) - 1)

    def on(self, ring: Any) -> "Begun":
        """With the ring set `ring` on its path."""
        q_R, u_R = ring_set.placed(ring, self.start)
        return self._replace(start=self.start._replace(q_R=q_R, u_R=u_R))


def begun(
    case: str = "MED",
    row: int = 3,
    frames: int = 0,
    plot: float = 1e-4,
    *,
    unit: Parameters = UNIT,
    coupled: bool = True,
    **change: Any,
) -> Begun:
    """A row of a case, its boundary values every `plot` seconds, and a belt with `change` in its fields."""
    c, sh = unit.get_case(case), sheaves(unit)
    b = belt(unit, N_E0=c.N_E0)._replace(**change)
    inputs = boundary_at(c, plot * np.arange(frames + 1), row)
    start = start_state(b, sh if coupled else sh._replace(multiplier=0.0), Boundary(*inputs[0]), c.i_r)
    return Begun(b, sh, inputs, start)


def changed(**tables: dict[str, Any]) -> Parameters:
    """The unit with other values in some of its tables."""
    data = UNIT.model_dump() | {"text": UNIT.text}
    for table, values in tables.items():
        data[table] = {**data[table], **values}
    return Parameters(**data, source="unit.toml")
