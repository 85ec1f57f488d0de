"""Influence functions of sheaves: reciprocity, energy, tilt, the separable form, profiles that do not fit."""

import numpy as np
import pytest
from pydantic import ValidationError
from rows import mistakes

from rtcvt.offline.sheave.elasticity import body
from rtcvt.offline.sheave.influence import influence, separable
from rtcvt.offline.sheave.mesh import mesh
from rtcvt.offline.sheave.profile import Profile

TAN = np.tan(np.deg2rad(11.0))
LOOSE = {"E": "210 GPa", "nu": 0.3, "rings": [{"r": ["17 mm", "25 mm"], "z": ["4 mm", "62 mm"]}],
    "disc": [["25 mm", "30 mm"], ["45 mm", "22 mm"], ["76.5 mm", "10 mm"]],
    "supports": [{"on": "bore", "z": ["4 mm", "16 mm"], "lateral": "1e9 N/m"},
    {"on": "bore", "z": ["48 mm", "60 mm"], "lateral": "1e9 N/m"}],
    "reaction": {"on": "back", "span": ["35 mm", "70 mm"]}}  # fmt: skip
RADII = np.linspace(28e-3, 73e-3, 6)


def of(profile, size=10e-3, radii=RADII):
    p = Profile.model_validate(profile)
    return influence(body(p, mesh(p, TAN, size), TAN), radii, 5.8e-3)


@pytest.fixture(scope="module")
def loose():
    return of(LOOSE)


def test_deflections_are_reciprocal_and_store_energy(loose):
    C = loose.C
    assert np.abs(C - C.swapaxes(1, 2)).max() < 1e-10 * np.abs(C).max()
    assert np.allclose(loose.G, loose.G.transpose(0, 2, 1, 4, 3), rtol=0.0, atol=1e-10 * np.abs(loose.G).max())
    for k, harmonic in enumerate(C):
        assert np.linalg.eigvalsh(harmonic).min() > (0.0 if k else -1e-9 * np.abs(harmonic).max())
    assert np.linalg.eigvalsh(C[1] - loose.tilt).min() > 0.0  # bending


def test_tilt_is_that_of_a_rigid_body_on_two_springs(loose):
    """Guides of 12 mm at 10 and 54 mm: c_t = 2 K (22^2 + 12^2/12) mm^2, about the middle; levers about the apex."""
    assert loose.c_t == pytest.approx(2.0 * 1e9 * (22e-3**2 + 12e-3**2 / 12.0), rel=1e-9)
    assert loose.z_t == pytest.approx(32e-3, rel=1e-9)
    lever = RADII / np.cos(np.deg2rad(11.0)) ** 2 - loose.z_t * TAN
    assert np.diag(loose.tilt) == pytest.approx(lever**2 / loose.c_t + TAN**2 / 2e9, rel=1e-6)


def test_mass_is_that_of_its_rings():
    ring = LOOSE | {
        "disc": [["25 mm", "30 mm"], ["60 mm", "30 mm"]],
        "reaction": {"on": "back", "span": ["35 mm", "50 mm"]},
    }
    made = of(ring, radii=RADII[:1])
    rings = ((0.017, 0.025, 0.058), (0.025, 0.060, 0.030))
    assert made.m == pytest.approx(7850.0 * np.pi * sum((b**2 - a**2) * t for a, b, t in rings), rel=1e-9)
    assert pytest.approx(7850.0 * np.pi / 2.0 * sum((b**4 - a**4) * t for a, b, t in rings), rel=1e-9) == made.J


def test_softer_guides_add_their_tilt_alone(loose):
    softer = LOOSE | {"supports": [s | {"lateral": "1e8 N/m"} for s in LOOSE["supports"]]}
    other = of(softer)
    assert np.abs(other.C[[0, 2, 3]] - loose.C[[0, 2, 3]]).max() < 1e-12 * np.abs(loose.C).max()
    assert other.tilt == pytest.approx(10.0 * loose.tilt, rel=1e-9)
    assert other.C[1] - other.tilt == pytest.approx(loose.C[1] - loose.tilt, rel=0.05)


@pytest.mark.slow
def test_influence_converges_with_the_mesh():
    at = np.array([40e-3, 70e-3])
    coarse, middle, fine = (of(LOOSE, size, at).at_radius for size in (12e-3, 6e-3, 3e-3))
    first, second = (np.abs(a - b).max() for a, b in ((coarse, middle), (middle, fine)))
    assert second < 0.6 * first
    assert second < 0.01 * fine.max()


def test_the_separable_form_finds_its_own_and_tells_what_it_leaves(loose):
    a, A = np.array([4e-10, 0.0, 1e-6]), np.array([0.25, 0.59, 0.09, 0.04, 0.03])
    own = separable(RADII, np.outer(A, np.polyval(a[::-1], RADII)), 2)
    assert own.left < 1e-12
    assert pytest.approx(A, rel=1e-9) == own.A
    assert np.polyval(own.a[::-1], RADII) == pytest.approx(np.polyval(a[::-1], RADII), rel=1e-9)
    assert 0.01 < separable(RADII, loose.at_radius, 4).left < 0.1


@mistakes
def test_a_profile_that_does_not_fit_says_so(change, word):
    with pytest.raises(ValidationError, match=word):
        Profile.model_validate(LOOSE | change)


def test_a_disc_that_stands_beside_its_hub_is_refused():
    p = Profile.model_validate(
        LOOSE
        | {"rings": [{"r": ["17 mm", "25 mm"], "z": ["10 mm", "62 mm"]}]}
        | {"supports": [{"on": "bore", "z": ["10 mm", "60 mm"], "lateral": 1e9}]}
    )
    with pytest.raises(ValueError, match="within the last ring"):
        mesh(p, TAN, 5e-3)
