"""Tables of a reduced model, as the kernels of `rtcvt.variator.regression` read them."""

import numpy as np
from numpy.typing import NDArray

from rtcvt.variator import regression
from rtcvt.variator.reduced.coordinates import MAPS
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.reduced.networks import Networks

Array = NDArray[np.float64]


def scratch(model: ReducedModel) -> int:
    """Length of the scratch phi of the kernels."""
    return _fields_at(model) + _scratch(model.networks, sum(len(f.modes) for f in model.fields))


def _peaks_at(model: ReducedModel) -> int:
    """Place of the peaks' layers in phi."""
    return regression.IN_Y + model.in_y + 1 + regression.ORDER * max(table.shape[4] for table in model.tables[1:])


def _fields_at(model: ReducedModel) -> int:
    """Place of the fields' layers in phi."""
    return _peaks_at(model) + _scratch(model.peak_networks, len(model.peaks))


def law_table(model: ReducedModel) -> Array:
    """Laws and peaks as the kernels of `regression` read them."""
    coordinates = []
    for c in model.coordinates:
        low, high = float(c.mapped(c.low)), float(c.mapped(c.high))
        coordinates.append((MAPS.index(c.map), c.centre, c.low, c.high, low, 2.0 / (high - low)))
    blocks = _blocks(model.points, regression.BLOCK)
    weights = np.array([peak.weights for peak in model.peaks]).reshape(-1, model.peak_networks.units)
    thrust, laws, aside = model.tables
    parts = {
        regression.COORDINATE: np.array(coordinates),
        regression.CENTRE: np.array([np.concatenate([b.min(0), b.max(0), b.T.ravel()]) for b in blocks]),
        regression.THRUST: _packed(thrust),
        regression.LAW_SPLINES: _packed(laws),
        regression.PEAKS: _network_table(model.peak_networks, weights, _peaks_at(model)),
        regression.ASIDE: _packed(aside),
    }
    header = np.zeros(regression.HEADER)
    header[regression.N_LAW], header[regression.N_BLOCKS] = model.in_y, len(blocks)
    header[regression.SPACING] = 1.0 / model.spacing**2
    header[regression.SHIFT : regression.SHIFT + 2] = model.shift
    header[regression.THRUST + 1 : regression.THRUST + 5] = thrust.shape
    header[regression.LAW_SPLINES + 1 : regression.LAW_SPLINES + 5] = laws.shape[:4]
    header[regression.ASIDE + 1 : regression.ASIDE + 6] = aside.shape
    filled = [_filled(part) for part in parts.values()]
    header[list(parts)] = regression.HEADER + np.cumsum([0, *(len(a) for a in filled)])[:-1]
    return np.concatenate([header, *filled])


def field_table(model: ReducedModel) -> Array:
    """Fields as `regression.network` and `regression.reconstruct` read them."""
    header = np.zeros(regression.FIELD)
    header[regression.CELLS] = model.fields[0].modes.shape[1] if model.fields else 0
    at = len(_filled(np.zeros(regression.FIELD + regression.PER_FIELD * len(model.fields))))
    header[regression.FIELD_NETWORKS] = at
    weights = np.concatenate([np.zeros((0, model.networks.units)), *(f.corrected for f in model.fields)])
    networks = _network_table(model.networks, weights, _fields_at(model))
    at += networks.size
    places: list[float] = []
    before = 0
    for f in model.fields:
        places += [len(f.modes), before, at, f.positive]
        before += len(f.modes)
        at += _packed(f.modes).size
    return np.concatenate([_filled(np.append(header, places)), networks, *(_packed(f.modes) for f in model.fields)])


def _blocks(points: Array, size: int) -> list[Array]:
    """Points (n, d) in blocks (size, d) of neighbours, by halving across the longest extent.

    The last block is filled with its last point.
    """
    if len(points) <= size:
        return [points[np.minimum(np.arange(size), len(points) - 1)]]
    along = np.argsort(points[:, np.argmax(np.ptp(points, axis=0))], kind="stable")
    half = max(len(points) // size // 2, 1) * size
    return _blocks(points[along[:half]], size) + _blocks(points[along[half:]], size)


def _scratch(networks: Networks, n_out: int) -> int:
    """Size of phi for the networks."""
    return networks.first.shape[1] + networks.units - 1 + n_out


def _network_table(networks: Networks, weights: Array, place: int) -> Array:
    """Networks and weights (K, units) of the outputs, as `regression.network` reads them; `place`: in phi."""
    first, second = networks.first, networks.second
    header = _filled(np.array([len(first), first.shape[1], second.shape[1], len(weights), place]))
    layers = (layer for pair in zip(first, second, strict=True) for layer in pair)
    rows = (np.roll(layer.T, 1, axis=0).ravel() for layer in (*layers, weights))
    return np.concatenate([header, _packed(np.concatenate([*rows]))])


def _packed(part: Array) -> Array:
    """Numbers in single precision, in pairs in the place of doubles, which are finite, too."""
    singles = part.astype(np.float32).ravel()
    return np.append(singles, np.zeros(-singles.size % (2 * regression.ALIGNED), np.float32)).view(np.float64)


def _filled(part: Array) -> Array:
    """Numbers of a table, with zeros up to a multiple of `regression.ALIGNED`."""
    return np.append(part, np.zeros(-part.size % regression.ALIGNED))
