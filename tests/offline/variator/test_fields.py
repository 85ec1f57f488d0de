"""Fields: gradient and last layer of the training, fronts that move, modes that are kept, and unseen runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.variator import fields as fields_module
from rtcvt.offline.variator.fields import DECAY, KEPT, POSITIVE, RIDGE, kept_modes, loss, reduce_fields, train
from rtcvt.offline.variator.pod import pod
from rtcvt.variator.reduced.networks import Networks


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_gradient_is_that_of_the_loss(rng):
    """The last layer moves along with the others; at its least that does not count."""
    t, z = rng.uniform(-1.0, 1.0, (40, 5)), rng.normal(size=(40, 3))
    x = rng.normal(size=4 * 6 + 3 * 5)
    slope = approx_fprime(x, lambda x: loss(x, t, z, (4, 3))[0], 1e-7)
    assert_allclose(loss(x, t, z, (4, 3))[1], slope, rtol=1e-4, atol=1e-6)


def test_loss_is_what_the_best_last_layer_leaves(rng):
    t, z = rng.uniform(-1.0, 1.0, (40, 5)), rng.normal(size=(40, 3))
    x = rng.normal(size=4 * 6 + 3 * 5)
    first, second = x[:24].reshape(4, 6), x[24:].reshape(3, 5)
    h = Networks(first[None], second[None]).hidden(t)[:, :-1]
    # ridge regression as least squares with rows for the penalty; the constant has none
    A = np.block([[h, np.ones((40, 1))], [np.sqrt(40 * RIDGE) * np.eye(3), np.zeros((3, 1))]])
    b = np.concatenate([z, np.zeros((3, 3))])
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    weights = np.sum(first[:, :-1] ** 2) + np.sum(second[:, :-1] ** 2)
    assert_allclose(loss(x, t, z, (4, 3))[0], 0.5 * (np.sum((A @ w - b) ** 2) / 40 + DECAY * weights), rtol=1e-9)


def test_training_is_the_same_each_time_and_starts_where_it_is_told(rng):
    t = rng.uniform(-1.0, 1.0, (60, 5))
    z = np.tanh(4.0 * (t[:, :1] + t[:, 1:2] ** 2))
    a, b, other = (train(t, z, seed, (6, 5)) for seed in (0, 0, 1))
    assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))
    assert not np.allclose(a[0], other[0])
    assert a[0].shape == (6, 6)
    assert a[1].shape == (5, 7)


def fronts(rng, n):
    """Snapshots of all fields: a steep front whose place depends on two coordinates, five windows of each run."""
    t = rng.uniform(-1.0, 1.0, (n, 5))
    place = (np.arange(4 * CELLS) + 0.5) / (4 * CELLS)
    front = 0.5 + 0.25 * np.tanh(2.0 * t[:, 0]) + 0.1 * t[:, 1]
    shape = 0.5 * (1.0 + np.tanh(30.0 * (place - front[:, None])))
    fields = {name: (1.0 + k + 0.2 * t[:, 2:3]) * shape for k, name in enumerate(FIELDS)}
    return fields, t, np.arange(n) // 5


def test_fronts_that_move_are_followed_in_runs_that_had_no_part(rng, monkeypatch):
    monkeypatch.setattr(fields_module, "ITERATIONS", 150)
    fields, t, run = fronts(rng, 300)
    calls = []
    found = reduce_fields(fields, t, run, (12, 10), lambda *a: calls.append(a))
    assert calls == [(k, 12) for k in range(12)]
    assert [f.name for f in found.fields] == list(KEPT)
    h = found.networks.hidden(t)
    for f in found.fields:
        X = fields[f.name]
        size = np.sqrt(np.mean(X**2))
        assert (f.unit, f.description) == FIELDS[f.name]
        assert f.positive == (f.name in POSITIVE)
        assert f.weights.shape == (len(f.modes), found.networks.units)
        assert np.sqrt(np.mean((h @ f.weights.T @ f.modes - X) ** 2)) < 0.04 * size
        assert np.sqrt(np.mean((found.crossed[f.name] - X) ** 2)) < 0.06 * size
        assert f.positive == (found.crossed[f.name].min() >= 0.0)


def test_left_out_runs_have_no_part_in_what_is_said_of_them(rng, monkeypatch):
    """Each training is given the runs of the other folds, and all runs once for the networks that are kept."""
    seen = []
    monkeypatch.setattr(fields_module, "ITERATIONS", 2)
    monkeypatch.setattr(fields_module, "train", lambda t, *a: (seen.append(t), train(t, *a))[1])
    fields, t, run = fronts(rng, 100)
    reduce_fields(fields, t, run, (4, 3))
    assert len(seen) == fields_module.TRAININGS
    left_out = []
    for rows in seen:
        out = ~(t[:, None] == rows[None]).all(axis=2).any(axis=1)
        assert set(run[out]).isdisjoint(run[~out])
        left_out.append(out)
    assert_allclose(np.sum(left_out, axis=0), fields_module.NETWORKS)
    assert sum(len(rows) == 100 for rows in seen) == fields_module.NETWORKS


def test_what_fails_in_a_training_ends_the_others(rng, monkeypatch):
    fields, t, run = fronts(rng, 100)
    first = iter([True])

    def failing(*args):
        if next(first, False):
            raise KeyboardInterrupt
        return train(*args)

    monkeypatch.setattr(fields_module, "train", failing)
    monkeypatch.setattr(fields_module, "ITERATIONS", 10**6)  # would take for ever
    with pytest.raises(KeyboardInterrupt):
        reduce_fields(fields, t, run, (4, 3))


def test_modes_that_are_not_predicted_are_not_kept(rng):
    X = rng.normal(size=(200, 3)) @ np.diag([3.0, 1.0, 0.5]) @ np.linalg.qr(rng.normal(size=(20, 3)))[0].T
    basis = pod(X, energy=1.0, most=3)
    a = X @ basis.modes.T
    assert kept_modes(X, basis, a) == 3
    a[:, 2] = rng.normal(size=200)
    assert kept_modes(X, basis, a) == 2
    a[:, 1:] = 0.0
    assert kept_modes(X, basis, a) == 1
