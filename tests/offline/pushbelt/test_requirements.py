"""What goes with what: each row of the table refuses what it says, with its own words, and nothing else."""

import re
from dataclasses import replace
from typing import Any

import pytest

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.requirements import TABLE, Range, Requirement, as_markdown, check, facts, holds
from rtcvt.offline.pushbelt.run.schedule import Branch, Case, Point, Run
from rtcvt.offline.pushbelt.unit.parameters import Parameters, load_parameters

UNIT = load_parameters("pushbelt_24mm")
RUNS = (
    Run("point", Point(1.0, 100.0, 0.5, 20e3), settle=1.0, mean=1.0),
    Run("case", Case(next(c.name for c in UNIT.case if not c.M_O)), duration=1e-3),
    Run("row", Case(next(c.name for c in UNIT.case if c.M_O)), duration=1e-3),
)
WRONG = {
    "observe": ("nothing",), "branches": (Branch(1.0, 1.0, 0.5, 1.0, 1.0, 2.0),), "contact": "bilateral", "row": 1,
    "model": "spatial", "rod": "projected", "mu_L": 0.1, "flank_points": 1, "crown": 0.5, "before": 1.0, "rise": 1.0,
    "before_N_E": 110, "before_N_B": 52,
}  # fmt: skip


Made = tuple[Parameters, Run]
OWNERS = {"scheme": "settings", "model": "settings", "mean": "run"}  # of what a row may depend on


def put(made: Made, owner: str, key: str, value: Any) -> Made:
    unit, run = made
    if owner == "run":
        return unit, replace(run, **{key: value})
    if owner in ("settings", "start"):
        return unit, replace(run, **{owner: replace(getattr(run, owner), **{key: value})})
    return unit.model_copy(update={owner: getattr(unit, owner).model_copy(update={key: value})}), run


def fails(made: Made, r: Requirement) -> bool:
    unit, run = made
    owners: dict[str, Any] = {"run": run, "settings": run.settings, "start": run.start}
    owner = owners.get(r.owner) or getattr(unit, r.owner)
    return holds(r.when, facts(*made)) and hasattr(owner, r.key) and not r.admits(getattr(owner, r.key))


def met(r: Requirement) -> Made:
    """A unit and a run for which the row holds, and which fulfil all."""
    for run in RUNS:
        made: Made = UNIT, run
        for key, values in r.when.items():
            made = put(made, OWNERS[key], key, values[0]) if key in OWNERS else made
        if holds(r.when, facts(*made)) and (r.owner != "start" or isinstance(run.start, Case)):
            for other in filter(lambda row: fails(made, row), TABLE):
                made = put(made, other.owner, other.key, other.allowed[0])  # type: ignore[index]
            check(*made)
            return made
    pytest.skip("no case of the unit")


@pytest.mark.parametrize("r", TABLE, ids=lambda r: " ".join([r.key, r.condition]).strip())
def test_a_row_refuses_what_it_says_in_its_words(r: Requirement) -> None:
    made = met(r)
    if isinstance(r.allowed, Range):
        wrong = [r.allowed.least - 1.0, float("nan")] + ([r.allowed.least] if r.allowed.inside else [])
    else:
        wrong = [WRONG[r.key] if r.when or r.key == "observe" else "magic"]
    for value in wrong:
        with pytest.raises(InputError, match=re.escape(r.text)) as error:
            check(*put(made, r.owner, r.key, value))
        assert error.value.parts[1].endswith(r.key)


def test_ends_of_a_range_are_allowed() -> None:
    for r in TABLE:
        if isinstance(r.allowed, Range) and not r.allowed.inside:
            for value in (r.allowed.least, r.allowed.most):
                check(*put(met(r), r.owner, r.key, value))


def test_the_table_is_documented_row_by_row() -> None:
    page = as_markdown()
    assert len(page.splitlines()) == len(TABLE) + 2
    assert all(f"`{r.key}`" in page and r.because in page for r in TABLE)
