"""Tables of variables: places, what is filled in, and what the models of all shipped units say."""

import numpy as np
import pytest
from marks import slow
from numba.core.caching import NullCache

from rtcvt.fmu.translate import translate
from rtcvt.kernel import kernel
from rtcvt.kind import kinds, load_unit
from rtcvt.model.accessors import block, field, listed, member, row, value, whole
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


def test_accessors_read_sizes_places_and_members():
    """Each is a kernel of its own, in C with constants that have its name."""
    data = np.array([2.0, 4.0, 10.0, 1.0, 7.0, 8.0])  # n, place of the list, and of two blocks of scratch
    parts, number = whole("parts", D.N), listed("number", D.LIST)
    pair, block_of = row("pair", D.W_A, Y), block("block_of", D.W_B, parts)
    last, own = member("last", row("places", D.LIST), D.LIST), field("own", D.W_A)
    assert (parts(data), number(1, data), pair(3, data), block_of(2, data)) == (2, 8, 10 + 3 * len(Y), 1 + 2 * 2)
    assert (last(0, data), own(2, data), value("mass", D.W_B)(1, np.array([0.0, 0.0, 5.0]), data)) == (8, 7, 5.0)
    c = translate({"rt_pair": (pair, ["int64", "constants"]), "rt_parts": (parts, ["constants"])})
    assert "RT_PAIR_AT = 2;" in c
    assert "RT_PARTS_AT = 0;" in c


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
