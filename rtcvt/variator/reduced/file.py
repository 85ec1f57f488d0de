"""The HDF5 file of a reduced model.

Attributes: ``schema_version``, ``kind``, ``rtcvt_version``, ``revision``, ``created``, ``name`` and those of the
reduction. Groups: ``constants``; ``coordinates``: names, maps, centres, ranges; ``thrust``, ``laws``: coefficients
of the splines; ``uncertainty``, ``correction``, ``deviation``, ``falling``, ``parametric``, if there are any;
``peaks``: names, weights, both layers of their networks; ``networks``: those of the fields; ``fields/NAME``: weights,
modes, singular values, and weights of the correction, if there are any; ``campaign``: points of the data in the scaled
coordinates; ``errors``; ``unit_file`` and ``plan``: texts. Every dataset has ``units`` and ``description``.
Coefficients are multiples of `GRAIN`; modes and weights are in single precision. The file is sealed, see
`rtcvt.files.hdf5`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files.hdf5 import Schema, open_sealed, refused
from rtcvt.quantity import MAX_MAGNITUDE
from rtcvt.recording import new_hdf5, revision
from rtcvt.variator import regression
from rtcvt.variator.reduced.coordinates import COORDINATES, MAPS, Coordinate
from rtcvt.variator.reduced.model import CORRECTIONS, LAWS, UNCERTAIN, Peak, ReducedField, ReducedModel
from rtcvt.variator.reduced.networks import Networks
from rtcvt.variator.reduced.splines import grained, single_precision

Array = NDArray[np.float64]

SCHEMA_VERSION = 7
KIND = "reduced model of a variator"
SEAL = b"rtcvt reduced 4 "
CONSTANTS = {  # unit and description
    "d_A": ("m", "centre distance"),
    "length": ("m", "length of the taut path of the neutral fibre"),
    "h_off": ("m", "neutral fibre above the rocking edges"),
    "delta_0": ("rad", "half wedge angle"),
    "mu": ("1", "friction of elements on sheaves"),
    "m_star": ("kg/m", "mass of the belt per length"),
    "m_belt": ("kg", "mass of the belt"),
    "F_ref": ("N", "force to which f refers"),
    "K_belt": ("N/m", "stiffness of the belt between the pulleys"),
    "d_belt": ("N.s/m", "damping of the belt between the pulleys"),
    "xi_max": ("1", "torque ratio at which the belt slips as a whole"),
    "ring_stretch": ("m/N", "l_R/EA: offsets are by this and F_CO"),
}
MOST_PEAKS, MOST_MODES, MOST_CELLS, MOST_POINTS, MOST_DEGREE = 100, 100, 2048, 10_000, 40
MOST_UNITS, MOST_SPLINES, MOST_COEFFICIENTS = 2000, 100, 2_000_000


def rounded(model: ReducedModel) -> ReducedModel:
    """The model as its file has it: modes and weights in single precision, coefficients of splines by `GRAIN`."""

    def networks(n: Networks) -> Networks:
        return Networks(single_precision(n.first), single_precision(n.second))

    def each(of: Any, record: Any, *names: str) -> dict[str, Any]:
        return {name: of(getattr(record, name)) for name in names}

    return replace(
        model,
        **each(grained, model, "thrust", "laws", "uncertainty", "deviation", "falling", "parametric"),
        correction=single_precision(model.correction),
        peaks=tuple(replace(a, weights=single_precision(a.weights)) for a in model.peaks),
        peak_networks=networks(model.peak_networks),
        networks=networks(model.networks),
        fields=tuple(replace(f, **each(single_precision, f, "modes", "weights", "across")) for f in model.fields),
    )


def write_reduced(model: ReducedModel, path: Path) -> None:
    """Write a reduced model.

    Raises
    ------
    InputError
        The file cannot be written; no partial file remains.
    """
    with new_hdf5(path, SEAL) as file:
        file.attrs.update(
            schema_version=SCHEMA_VERSION, kind=KIND, rtcvt_version=__version__, revision=revision(),
            created=now().isoformat(timespec="seconds"), name=model.name,
            **{k: v for k, v in model.attributes.items() if k not in _OWN},
        )  # fmt: skip

        def write(name: str, values: Any, unit: str, description: str) -> None:
            packed = {"compression": "gzip", "shuffle": True} if np.size(values) > 1000 else {}
            data = file.create_dataset(name, data=values, **packed)
            data.attrs["units"] = unit
            data.attrs["description"] = description

        def single(values: Any) -> NDArray[np.float32]:
            return np.asarray(values, dtype=np.float32)

        for name, value in model.constants.items():
            write(f"constants/{name}", value, *CONSTANTS[name])
        write("slide", model.slide, "1", "A of the shift rate of a belt that slides on the primary")
        c = model.coordinates
        write("coordinates/name", [a.name for a in c], "1", "i, xi, kappa, f, y")
        write("coordinates/map", [a.map for a in c], "1", "bilinear (z - c)/(z + c) or sigmoid z/sqrt(z^2 + c^2)")
        write("coordinates/centre", [a.centre for a in c], "1", "c of the map")
        write("coordinates/range", [(a.low, a.high) for a in c], "1", "range of the data, to which a point is clamped")
        write("coordinates/shift", model.shift, "1", "a, b of the torque ratio's zero, a q/sqrt(q^2 + b^2)")
        about = "coefficients of the splines along i, xi, kappa and f"
        write("thrust", single(model.thrust), "1", f"{about}: ln of F_eq/F_CO")
        of = "ln k, asinh((e + c xi)/0.002), ln c, ln lambda"
        write("laws", single(model.laws), "1", f"{about}: polynomials in y of {of}")
        if model.uncertainty.size:
            write("uncertainty", single(model.uncertainty), "1", f"{about}: ln of standard deviations")
        if model.parametric.size:
            write("parametric", single(model.parametric), "1", f"{about}: the same from the belt's unknown parameters")
        if model.correction.size:
            of = "thrust ratio, slip, losses, shift rate, exit forces, ring to pillar, peaks"
            write("correction", single(model.correction), "1", f"{about}: {of}, spatial less planar")
        if model.deviation.size:
            write("deviation", single(model.deviation), "1", f"{about}: ln of standard deviations with the correction")
        if model.falling.size:
            write("falling", single(model.falling), "1", f"{about}: more of the slip, so that it falls with the force")
        write("peaks/name", [a.name for a in model.peaks], "1", "forces, of which the largest magnitude over the belt")
        weights = single([a.weights for a in model.peaks])
        write("peaks/weights", weights, "1", "of the units and of 1, a row for each logarithm")
        for group, networks in (("peaks", model.peak_networks), ("networks", model.networks)):
            first, second = single(networks.first), single(networks.second)
            write(f"{group}/first", first, "1", "of the scaled coordinates and of 1, by network and unit")
            write(f"{group}/second", second, "1", "of the first layer and of 1, by network and unit")
        for order, f in enumerate(model.fields):
            write(f"fields/{f.name}/modes", single(f.modes), "1", "a row for each mode, on the cells")
            weights = single(f.weights)
            write(f"fields/{f.name}/weights", weights, "1", "of the units and of 1, a row for each coefficient")
            if f.across.size:
                about = "of the units and of 1: coefficients of the spatial belt less those of the planar one"
                write(f"fields/{f.name}/across", single(f.across), "1", about)
            write(f"fields/{f.name}/sigma", f.sigma, "1", "singular values of the snapshots")
            file[f"fields/{f.name}"].attrs.update(
                units=f.unit, description=f.description, order=order, positive=f.positive
            )
        write("campaign/points", model.points, "1", "settled states of the campaign in scaled i, xi, kappa, f")
        write("campaign/spacing", model.spacing, "1", "typical distance between them")
        for name, value in model.errors.items():
            write(f"errors/{name}", value, "1", "see the documentation of the reduction")
        write("unit_file", model.unit_file, "1", "text of the full model's unit file")
        write("plan", model.plan, "1", "text of the campaign's plan")


_OWN = ("schema_version", "kind", "rtcvt_version", "revision", "created", "name")


def read_reduced(path: Path) -> ReducedModel:
    """Read a reduced model back.

    Raises
    ------
    InputError
        Damaged, not a reduced model, of a schema version that this release does not know, or not consistent in itself.
    """
    schema = Schema(KIND, SCHEMA_VERSION, f"rtcvt reduce RUNS -o {path.name}, from the runs of a campaign,")
    with open_sealed(path, SEAL, KIND, schema) as file:
        model = _read(file, path)
    _require_consistent(model, path)
    return model


def _read(file: h5py.File, path: Path) -> ReducedModel:
    def strings(name: str) -> list[str]:
        with refused(path, f"{name}: texts"):
            return [str(a) for a in file[name].asstr()[()]]

    def array(name: str) -> Array:
        with refused(path, f"{name}: numbers"):
            return np.asarray(file[name][()], dtype=float)

    def number(name: str) -> float:
        with refused(path, f"{name}: one number"):
            value = float(array(name))
            return int(value) if file[name].dtype.kind == "i" else value

    about = [
        strings("coordinates/name"),
        strings("coordinates/map"),
        array("coordinates/centre"),
        array("coordinates/range"),
    ]
    with refused(path, "coordinates: a name, a map, a centre and a range of each"):
        coordinates = tuple(
            Coordinate(n, m, float(c), float(r[0]), float(r[1])) for n, m, c, r in zip(*about, strict=True)
        )
        shift = float(file["coordinates/shift"][0]), float(file["coordinates/shift"][1])
    with refused(path, "peaks: a name and weights of each"):
        peaks = tuple(Peak(n, w) for n, w in zip(strings("peaks/name"), array("peaks/weights"), strict=True))
    fields = sorted(file["fields"].items(), key=lambda item: int(item[1].attrs["order"])) if "fields" in file else []
    return ReducedModel(
        str(file.attrs["name"]),
        {name: number(f"constants/{name}") for name in CONSTANTS},
        coordinates,
        shift,
        array("thrust"),
        array("laws"),
        peaks,
        tuple(
            ReducedField(
                name, str(g.attrs["units"]), str(g.attrs["description"]), array(f"fields/{name}/modes"),
                array(f"fields/{name}/weights"), array(f"fields/{name}/sigma"), bool(g.attrs["positive"]),
                array(f"fields/{name}/across") if "across" in g else np.zeros((0, 0)),
            )
            for name, g in fields
        ),
        array("campaign/points"),
        number("campaign/spacing"),
        Networks(array("networks/first"), array("networks/second")),
        Networks(array("peaks/first"), array("peaks/second")),
        {name: number(f"errors/{name}") for name in file["errors"]} if "errors" in file else {},
        str(file["unit_file"].asstr()[()]),
        str(file["plan"].asstr()[()]),
        {k: v for k, v in file.attrs.items() if k not in ("schema_version", "kind", "name")},
        array("uncertainty") if "uncertainty" in file else np.zeros((0, 0, 0, 0, len(UNCERTAIN))),
        array("correction") if "correction" in file else np.zeros((0, 0, 0, 0, 0)),
        array("deviation") if "deviation" in file else np.zeros((0, 0, 0, 0, len(UNCERTAIN))),
        number("slide") if "slide" in file else 0.0,
        array("falling") if "falling" in file else np.zeros((0, 0, 0, 0)),
        array("parametric") if "parametric" in file else np.zeros((0, 0, 0, 0, len(UNCERTAIN))),
    )  # fmt: skip


def _require_consistent(m: ReducedModel, path: Path) -> None:
    """Check the assumptions of the kernels: places inside the tables, finite numbers."""

    def require(fits: bool, key: str, allowed: str) -> None:
        if not fits:
            raise InputError(path, key, None, allowed)

    def plain(numbers: Array) -> bool:  # no NaN, and nothing whose square is infinite
        return bool(np.all(np.abs(numbers) <= MAX_MAGNITUDE))

    size = f"a number above 0, at most {MAX_MAGNITUDE:g}"
    for name, value in m.constants.items():
        require(0.0 < value <= MAX_MAGNITUDE, f"constants/{name}", size)
    require(0.0 <= m.slide <= MAX_MAGNITUDE, "slide", f"a number from 0 to {MAX_MAGNITUDE:g}")
    require(tuple(c.name for c in m.coordinates) == COORDINATES, "coordinates/name", ", ".join(COORDINATES))
    for c in m.coordinates:
        key = f"coordinates, {c.name}"
        require(c.map in MAPS, key, f"a map: {' or '.join(MAPS)}")
        numbers = np.array([c.centre, c.low, c.high])
        require(plain(numbers) and c.centre > 0.0 and c.low < c.high, key, "centre > 0, low < high")
        require(c.map == "sigmoid" or c.low > -c.centre, key, "a range above -c")
        require(bool(c.mapped(c.low) < c.mapped(c.high)), key, "a range whose ends are apart when mapped")
    fits = plain(np.array(m.shift)) and m.shift[1] > 0.0
    require(fits, "coordinates/shift", "finite numbers, the second above 0")
    aside = [(key, a, 5) for key, a in (("uncertainty", m.uncertainty), ("correction", m.correction)) if a.size]
    for key, table, d in (("thrust", m.thrust, 4), ("laws", m.laws, 5), *aside):
        shape = table.ndim == d and all(regression.ORDER <= k <= MOST_SPLINES for k in table.shape[:4])
        require(shape and table.size <= MOST_COEFFICIENTS, key, "splines along four coordinates")
        require(plain(table), key, f"numbers of at most {MAX_MAGNITUDE:g}")
    in_y = m.laws.shape[4] % len(LAWS) == 0 and 1 <= m.laws.shape[4] // len(LAWS) <= MOST_DEGREE
    require(in_y, "laws", "as many polynomials of each law")
    require(m.uncertainty.shape[4:] == (len(UNCERTAIN),), "uncertainty", f"{len(UNCERTAIN)} logarithms")
    fits = not m.correction.size or m.correction.shape[4] == len(CORRECTIONS) + len(m.peaks)
    require(fits, "correction", f"{len(CORRECTIONS)} differences and one of each peak")
    both = m.correction.size and m.uncertainty.size
    require(not both or m.correction.shape[:4] == m.uncertainty.shape[:4], "correction", "the splines of uncertainty")
    fits = not m.falling.size or (m.falling.shape == m.laws.shape[:4] and plain(m.falling))
    require(fits, "falling", "a number for each spline of the laws")
    for key, table in (("deviation", m.deviation), ("parametric", m.parametric)):
        fits = not table.size or (table.shape == m.uncertainty.shape and plain(table))
        require(fits, key, "the splines of uncertainty")
    for key, networks in (("peaks", m.peak_networks), ("networks", m.networks)):
        W_1, W_2 = networks.first, networks.second
        fits = W_1.ndim == 3 == W_2.ndim and len(W_1) == len(W_2) and W_1.shape[2] == len(COORDINATES) + 1
        fits = fits and W_2.shape[2] == W_1.shape[1] + 1 and W_1.shape[1] + networks.units <= MOST_UNITS
        require(fits, key, f"both layers of as many networks, at most {MOST_UNITS} units")
        require(plain(W_1) and plain(W_2), key, f"numbers of at most {MAX_MAGNITUDE:g}")
    require(len(m.peaks) <= MOST_PEAKS, "peaks", f"at most {MOST_PEAKS}")
    for peak in m.peaks:
        fits = peak.weights.shape == (m.peak_networks.units,) and plain(peak.weights)
        require(fits, "peaks/weights", "a number for each unit and 1")
    cells = {f.modes.shape[1:] for f in m.fields}
    require(len(cells) <= 1, "fields", "as many cells in all fields")
    for f in m.fields:
        key = f"fields/{f.name}"
        require(f.modes.ndim == 2, key, "modes on cells")
        K = len(f.modes)
        fits = 1 <= K <= MOST_MODES and 4 <= f.modes.shape[1] <= MOST_CELLS
        require(fits and f.modes.shape[1] % 4 == 0, key, "modes on cells, as many in each of four sections")
        fits = f.weights.shape == (K, m.networks.units) and (not f.across.size or f.across.shape == f.weights.shape)
        require(fits, key, "weights of each mode's coefficient")
        fits = f.sigma.ndim == 1 and plain(f.sigma) and bool(np.all(f.sigma >= 0.0))
        require(fits, f"{key}/sigma", "singular values")
        require(plain(f.modes) and plain(f.weights) and plain(f.across), key, f"numbers of at most {MAX_MAGNITUDE:g}")
    fits = m.points.ndim == 2 and m.points.shape[1] == 4 and 1 <= len(m.points) <= MOST_POINTS
    require(fits and plain(m.points), "campaign/points", "rows of four finite numbers")
    require(0.0 < m.spacing <= MAX_MAGNITUDE, "campaign/spacing", size)
