"""Tables of variables: places, what is filled in, and what the models of all shipped units say."""

import numpy as np
import pytest
from marks import slow
from numba.core.caching import NullCache

from rtcvt.kernel import kernel
from rtcvt.kind import kinds, load_unit
from rtcvt.table import Constants, Places, Row, Rows, Table
from rtcvt.unitfile import shipped_units

REAL_TIME = [name for kind in kinds() if kind.build is not None for name in shipped_units(*kind.names)]


class Y(Rows):
    SPEED = Row("{part}.w", "rad/s", "speed of {part}", nominal=100.0)
    ON = Row("{part}.on", "1", "whether {part} runs", boolean=True)


class D(Places):
    N = "parts"
    LIST = "table: a number of each part"
    W_A = "two numbers of each part", lambda d: 2 * d.N
    W_B = "three more", lambda d: 3


def test_a_place_is_that_of_the_row():
    table = Table()
    assert table.add("output", Row("time", "s", "time")) == 0
    assert table.each("output", Y, [{"part": "a"}, {"part": "b"}]) == 1
    assert [v.name for v in table.variables] == ["time", "a.w", "a.on", "b.w", "b.on"]
    assert [v.index for v in table.variables] == list(range(5))
    assert table.variables[1 + len(Y) + Y.SPEED].description == "speed of b"
    assert [v.boolean for v in table.variables] == [False, False, True, False, True]


def test_parameters_give_the_default_vector_and_nominals():
    table = Table()
    row = Row("{part}.m", "kg", "mass of {part}", 0.0)
    assert table.parameters(row, [2.0, 0.0], [{"part": "a"}, {"part": "b"}]) == 0
    assert table.p.tolist() == [2.0, 0.0]
    assert [v.nominal for v in table.variables] == [2.0, None]


def test_constants_know_their_tables_and_blocks():
    data = Constants(D)
    data[D.N] = 2
    data.table(D.LIST, [7.0, 8.0])
    assert data.place_blocks() == 7
    assert data.array().tolist() == [2.0, 4.0, 0.0, 4.0, 7.0, 8.0]


def test_kernels_index_with_rows():
    @kernel
    def place(at):
        return at

    @kernel
    def write(y):
        y[Y.ON] = 3.0
        y[place(Y.SPEED)] = 2.0 * (Y.ON - 0)

    write._cache = NullCache()  # from disk it would not compile `place`
    y = np.zeros(2)
    write(y)
    assert y.tolist() == [2.0, 3.0]
    assert len(place.signatures) == 1
    assert str(place.signatures[0][0]) == "int64"


@pytest.mark.parametrize(
    "name", [n if n in ("toroidal_kers", "pushbelt_cvt", "clutch") else slow(n) for n in REAL_TIME]
)
def test_variables_are_numbered_in_their_order(name):
    unit = load_unit(name)
    for fidelity in unit.models:
        model = unit.build(fidelity)
        for rows in (model.select("input"), model.select("output"), model.states):
            assert [v.index for v in rows] == list(range(len(rows)))
        places = [v.index for v in model.select("parameter")]
        assert places == sorted(set(places))
        assert len(model.by_name) == len(model.variables)
        for state in model.states:
            assert state.causality == "state"
            assert state.nominal is not None
            assert state.nominal > 0.0
