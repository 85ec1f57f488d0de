"""The laws of a reduced model, corrected by a few runs that are better: of the explicit scheme, or of finer steps.

A campaign of the larger-step scheme covers the operating range; the explicit scheme costs three times as much. What it
would give differs little, and smoothly, from what the campaign says (Kennedy and O'Hagan, Biometrika 87, 2000, eq. (5)
with rho = 1), so that settled states of far fewer runs tell

    ln zeta    = ln zeta_0 + d_zeta(i, xi, kappa, f)
    asinh(l/l_0), ln c, ln(loss) likewise; l = e + c xi the whole speed loss, loss = lambda + 2 mu c xi^2/cos(delta_0)

with the model's own laws (index 0) and Gaussian processes d over the places of `laws`. They are the same for every y:
what shifts keeps its change from the settled state. Laws of shifting, peaks and fields stay.

Windows, weights and cross-validation are those of `laws`; the speed loss, too, counts less where macroscopic slip begins:
with large weights for slips of several percent the correction of small ones got worse.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from offline.variator.alignment import Samples
from offline.variator.laws import (
    SHIFT,
    Law,
    certainty,
    data_of,
    folds,
    grid_of,
    moving_places,
    steady_places,
    tabulated,
    usable,
)
from offline.variator.process import fit
from rtcvt.errors import InputError
from rtcvt.variator.reduced_model import LAWS, ReducedModel, rounded, scaled, splines_through
from rtcvt.variator.regression import SMALL

__all__ = ["corrected"]

Array = NDArray[np.float64]

LEAST = 20  # settled states
CHUNK = 300  # operating points evaluated at a time
_NAMES = ("c", "e", "lambda")


def corrected(
    base: ReducedModel, samples: Samples, name: str, tell: Callable[[str, int, int], None] | None = None
) -> tuple[ReducedModel, dict[str, Law]]:
    """A reduced model with laws that are corrected by the settled states of `samples`.

    Returns
    -------
    ReducedModel, dict : the model, without errors; the laws at the settled states, cross-validated. lambda with the
        loss of creep.

    Raises
    ------
    InputError
        Another belt than the model's, or too few settled states.
    """
    c = base.constants
    for key in ("d_A", "h_off", "delta_0", "mu", "m_star"):
        if not np.isclose(samples.belt[key], c[key], rtol=1e-9):
            raise InputError("campaign", key, samples.belt[key], f"the belt of {base.name}: {c[key]:.6g}")
    s = samples.of(usable(samples))
    s = s.of(s.phase == 0)
    if len(s.run) < LEAST:
        raise InputError("campaign", "runs", len(s.run), f"at least {LEAST} that settle without slipping")
    length, group, every = c["length"], folds(s)[s.run], np.arange(len(s.run))
    carried = 2.0 * c["mu"] / np.cos(c["delta_0"])

    def of_base(z: Array) -> dict[str, Array]:
        """What is regressed by the name of the law, of the base at operating points (n, 5)."""
        parts = [base.evaluate(part) for part in np.array_split(z, len(z) // CHUNK + 1)]
        v = {k: np.concatenate([part[k] for part in parts]) for k in ("zeta", *LAWS)}
        creep = v["c"] * z[:, 1]
        e, loss = np.arcsinh((v["e"] + creep) / SMALL), np.log(v["lambda"] + carried * creep * z[:, 1])
        return {"zeta": np.log(v["zeta"]), "k": np.log(v["k"]), "c": np.log(v["c"]), "e": e, "lambda": loss}

    def moving(z: Array, ln_zeta: Array) -> Array:
        return moving_places(base.coordinates, np.column_stack([z[:, :4], np.ones(len(z))]), ln_zeta, length, s.belt)

    at = np.column_stack([s.point, np.ones(len(s.run))])
    first = of_base(at)
    thrust = np.log(s.values["thrust"])
    steps = 1 + len(_NAMES)
    if tell is not None:
        tell("regression", 0, steps)
    places = steady_places(base.coordinates, s.point, length, s.belt)[0]
    d_zeta, crossed = fit(places, thrust - first["zeta"], group, certainty(s, every))
    laws = {"zeta": Law(every, s.values["thrust"], True, first["zeta"] + crossed, d_zeta.noise)}

    def more_zeta(z: Array) -> Array:
        return d_zeta.mean(steady_places(base.coordinates, z[:, :4], length, s.belt)[0])

    data, _ = data_of(s, np.ones(len(s.run)))
    firm = data["c"].weights
    places = moving(at, first["zeta"] + more_zeta(at))
    found = {}
    for n, law in enumerate(_NAMES):
        if tell is not None:
            tell("regression", 1 + n, steps)
        d = data[law]
        found[law], crossed = fit(places, d.values - first[law], group, firm)
        crossed += first[law]
        if law == "e":
            creep = np.exp(first["c"] + found["c"].mean(places)) * s.point[:, 1]
            laws[law] = Law(every, s.values["slip"] - creep, False, SMALL * np.sinh(crossed) - creep, found[law].noise)
        else:
            laws[law] = Law(every, np.exp(d.values), True, crossed, found[law].noise)

    def means(z: Array) -> dict[str, Array]:
        v = of_base(z)
        places = moving(z, v["zeta"] + more_zeta(z))
        return {law: a + found[law].mean(places) if law in found else a for law, a in v.items()}

    grid = grid_of(base.coordinates, base.thrust.shape)
    points = scaled(base.coordinates[:4], SHIFT, s.point)
    model = replace(
        base,
        name=name,
        thrust=base.thrust + splines_through(more_zeta(grid).reshape(base.thrust.shape)),
        laws=tabulated(base.coordinates, base.laws.shape[:4], means, s.belt),
        points=np.concatenate([base.points, points]),
        errors={},
        attributes=dict(base.attributes)
        | {
            "correction_revision": s.texts["revision"],
            "correction_runs": len(s.names),
            "correction_plan": s.texts["plan"],
        },
    )
    return rounded(model), laws
