"""What users see of a toroidal variator: its contacts over tilt, the map, three models over time in the check."""

import json
from dataclasses import replace

import numpy as np
import pytest
from recorded_checks import of_traction, recorded, worse
from refusals import refused
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.interface import error_rows
from rtcvt.kind import load_unit
from rtcvt.offline.pog.check import check_unit, with_traction
from rtcvt.offline.pog.report import report_page
from rtcvt.offline.toroidal import charts, check, drive
from rtcvt.offline.toroidal.ellipse import field, traction
from rtcvt.offline.toroidal.variator import held_point
from rtcvt.pog.page import gear_page
from rtcvt.pog.spin import traction_contacts
from rtcvt.pog.tasks import errors
from rtcvt.pog.toroid import CREEP, over_tilt, table_contacts, tilts_of
from rtcvt.scenario import Scenario
from rtcvt.unitfile import shipped_units


def rtcvt(*words):
    done = CliRunner().invoke(app, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_show_has_the_contacts_over_the_tilt():
    unit = load_unit("toroidal_kers")
    rows = json.loads(rtcvt("show", "toroidal_kers", "--json"))["traction"]["contacts"]
    assert [r["contact"] for r in rows] == ["bc", "ac"] * 5
    for r in rows:  # a full toroid: sigma = omega_d cos(theta), r = r_b1 +- r_c sin(theta)
        sign = 1.0 if r["contact"] == "bc" else -1.0
        assert abs(r["spin"]) == pytest.approx(abs(r["speed"] * np.cos(r["theta"])), rel=1e-9)
        assert r["radius"] == pytest.approx(0.0343 + sign * 0.0275 * np.sin(r["theta"]), rel=1e-9)
    middle, drawing = rows[4], traction_contacts(unit)[0].drawing
    N, n = unit.traction.end_load_max / 3, np.ones(len(CREEP))
    full = traction(drawing, unit.traction.fluid.fluid, 0.0343 * n, N, middle["speed"] * 0.0343, CREEP, middle["spin"])
    assert middle["torque"] == pytest.approx(6 * full.F.max() * 0.0343, rel=0.02)
    assert middle["pressure"] == pytest.approx(full.p_0[0], rel=1e-12)
    assert middle["reaction"] == pytest.approx(2.0 * middle["torque"] / (6 * 0.0343))
    assert middle["held"] is None
    assert json.loads(rtcvt("show", "toroidal_kers", "--json", "--set", "traction.end_load_max=20 kN"))["traction"][
        "contacts"][4]["pressure"] == pytest.approx(middle["pressure"] * 0.5 ** (1.0 / 3.0))  # fmt: skip
    assert "53.33 bar" in rtcvt("show", "toroidal_variator")
    assert "traction" not in json.loads(rtcvt("show", "planetary", "--json"))


def test_the_field_has_the_forces():
    drawing, fluid = traction_contacts(unit := load_unit("toroidal_kers"))[0].drawing, unit.traction.fluid.fluid
    t, shear = field(drawing, fluid, np.array([0.03, 0.04]), 3000.0, np.array([1.2, 1.3]), 0.01, 35.0)
    np.testing.assert_allclose(t.Lambda * 3000.0 * shear.F_x, t.F, rtol=1e-6)


def test_the_end_load_leaves_the_margin():
    unit = load_unit("toroidal_kers")
    p = held_point(unit, 0.3, 35.0, 30.0, table_contacts(unit))
    assert np.max(np.abs(p.coefficient) / p.Lambda) == pytest.approx(1.0 / unit.traction.margin, rel=1e-5)
    assert held_point(unit, 0.3, 35.0, 1.0, table_contacts(unit)).end_load == unit.traction.preload


def test_pistons_that_hold_the_rollers_give_the_normal_force():
    unit = load_unit("toroidal_variator")
    p = held_point(unit, 0.3, 35.0, 30.0)
    assert p.reaction == pytest.approx(0.5 / 3.0 * (p.torque_in / p.radius[0] + p.torque_out / p.radius[1]), rel=0.06)
    assert p.end_load == pytest.approx(p.reaction * 75.0 / 2.25, rel=1e-5)
    (row,) = [r for r in over_tilt(unit, unit.build("rigid").instantiate(), [0.3]) if r.contact == "bc"]
    assert np.abs(p.coefficient).mean() == pytest.approx(row.held, rel=1e-5)


WITH_TRACTION = [name for name in shipped_units("gear_system") if load_unit(name).traction]


@pytest.mark.parametrize("unit", [load_unit(name) for name in WITH_TRACTION], ids=WITH_TRACTION)
def test_points_are_on_the_stable_branch(unit):
    """As far as half of what is carried, a contact creeps less than where its traction is largest."""
    law, tilts = table_contacts(unit), tilts_of(unit, 5)
    rows = over_tilt(unit, unit.build("rigid").instantiate(), tilts)
    for tilt, first, last in zip(tilts, rows[::2], rows[1::2], strict=True):
        most = min(first.torque * abs(first.speed / last.speed), last.torque)
        for share in (0.05, 0.25, 0.5):
            p = held_point(unit, float(tilt), abs(first.speed), share * most, law)
            assert np.abs(p.creep).max() < 0.05


def test_the_map_and_its_point(tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "TILTS", 3)
    monkeypatch.setattr(charts, "TORQUES", 4)
    page, figures = tmp_path / "map.html", tmp_path / "map.json"
    rtcvt("map", "toroidal_kers", "--torque", "15 N.m", "--tilt", "0.3 rad", "-o", str(page), "--json", str(figures))
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    assert np.shape(found["efficiency"]) == (4, 3)
    assert found["efficiency"][-1][-1] is None  # slips
    assert 0.88 < found["efficiency"][1][1] < 0.97
    one, two = found["integrated"], found["by_table"]
    assert one["torque_out"] == pytest.approx(15.0)
    assert one["efficiency"] == pytest.approx(two["efficiency"], abs=0.005)
    refused(r"--tilt.*an angle from -0\.9", rtcvt, "map", "toroidal_kers", "--tilt", "60 deg", "-o", str(page))
    refused("transmit by traction", rtcvt, "map", "planetary", "-o", str(page))


@pytest.fixture(scope="module")
def checked():
    pulse = {"time": [0.1, 0.5, 0.9], "value": [0.45, 12.0, 0.45], "interpolation": "smooth"}
    scenario = Scenario(name="pulse", duration=1.0, settle=0.05, inputs={"control.tau_des": pulse})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drive, "WINDOW", 0.1)
        patch.setattr(check, "OPERATING", 1)
        return with_traction(check_unit(load_unit("toroidal_kers"), scenarios=(scenario,)), lambda *_: None)


def test_hybrid_and_rigid_model_over_time(checked):
    assert all(e.holds for e in checked.hybrid)
    (found,) = checked.drives
    assert 0.4 < found.time.mean() < 0.6  # where it transmits most
    hybrid, rigid = ({e.name: e.nrms for e in found.errors(model)} for model in ("hybrid", "rigid"))
    assert set(hybrid) - set(rigid) == {"contact.bc.creep", "contact.ac.creep"}
    assert 1e-6 < hybrid["loss.friction"] < 0.02
    assert rigid["loss.friction"] > 0.2


@pytest.mark.slow
def test_errors_are_those_that_were_recorded():
    found = with_traction(check_unit(load_unit("toroidal_kers")), lambda *_: None)
    assert len(found.drives) == 3
    assert worse(of_traction(found), recorded("toroidal_kers traction")) == []


def test_its_errors_count_and_are_those_of_the_hybrid_unit(checked, monkeypatch):
    page, figures = report_page(checked), json.loads(json.dumps(checked.figures()))
    assert "integrated traction" in page
    rows = errors(checked.unit, "hybrid", {}, figures)
    assert [r.name for r in rows] == [e.name for e in checked.hybrid]
    assert len(errors(checked.unit, "rigid", {}, figures)) == len(checked.scenarios[0].errors)
    monkeypatch.setattr("rtcvt.offline.pog.tasks.check_unit", lambda *_, **__: replace(checked, traction=(), drives=()))
    monkeypatch.setattr("rtcvt.offline.pog.tasks.with_traction", lambda *_: checked)
    exported = error_rows(checked.unit, "hybrid", {}, None, lambda *_: None)
    assert exported == rows
    inside = gear_page(checked.unit.build("hybrid"), checked.unit, exported)
    assert "Hybrid model" in inside
    assert "integrated over the contact ellipse" in inside
    monkeypatch.setitem(drive.LIMITS, "tau", 1e-9)
    assert any("shaft.tau" in failure for failure in checked.failures)


def test_with_the_table_in_both_only_the_steps_differ(checked):
    (d,) = checked.drives
    same = drive.drive(checked.unit, d.hybrid, d.rigid, table_contacts(checked.unit))
    assert max(e.nrms for e in same.errors()) < 3e-3


def test_a_run_within_limits_has_no_window(checked):
    (d,) = checked.drives
    status = np.ones_like(d.hybrid.status)
    assert drive.drive(checked.unit, d.hybrid.__class__(**(vars(d.hybrid) | {"status": status})), d.rigid) is None
