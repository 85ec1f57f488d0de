"""The page of a belt: numbers survive the packing, it needs no network, and a browser draws what the file holds."""

import base64
import json
import re
import time
from importlib import resources
from io import BytesIO

import numpy as np
import pytest
from browser import DRAWING, Browser, keep
from matplotlib.image import imread
from typer.testing import CliRunner

from rtcvt import view
from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.belt.scene import SWING
from rtcvt.offline.belt.scene import scene as scene_of_drive
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.scene import _out_of_line, contact_gaps
from rtcvt.offline.pushbelt.scene import scene as scene_of
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.recording import Recording, Signal, write_recording
from rtcvt.unitfile import shipped_units
from rtcvt.view import Channel, Scene, view_page

ELEMENTS_AND_RING = (
    *("elements/place", "elements/position", "elements/angle"),
    *("ring/position", "ring/angle", "ring/deflection"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """220 elements, 500 frames over more than a revolution and a half."""
    parameters = load_parameters("pushbelt_24mm")
    path = tmp_path_factory.mktemp("run") / "med.h5"
    what = Run(name="MED", start=Case("MED", 3), settings=Settings(scheme="multirate"), duration=0.1, plot_step=2e-4,
               observe=("elements", "fields"))  # fmt: skip
    simulate(parameters, what, path, parameters.text)
    return path


@pytest.fixture(scope="module")
def scene(run):
    return scene_of(run, None, None, 600)


def unpacked(page):
    """What the page's script reads: head, and a function that gives a track's values."""
    head = json.loads(re.search(r'<script type="application/json" id="head">(.*?)</script>', page, re.S)[1])
    data = re.search(r'<script type="text/plain" id="data">(.*?)</script>', page, re.S)[1]
    block = np.frombuffer(base64.b64decode(data), dtype="<u2")

    def values(track):
        q = block[track["at"] : track["at"] + head["n"] * track["width"]].reshape(head["n"], track["width"])
        return np.where(q == 65535, np.nan, track["low"] + track["step"] * q)

    return head, values


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_numbers_of_the_page_are_those_of_the_file(scene, run):
    page = view_page(scene)
    assert len(scene.time) == 500
    assert scene.tracks["x"].shape == (500, 220)
    assert len(page) < view.LIMIT
    head, values = unpacked(page)
    with open_run(run) as file:
        flank, tension = file["elements/flank"][..., 0], file["ring/tension"][()]
        position = file["elements/position"][..., 0]
    by_name = {c["name"]: c["track"] for c in head["channels"]}
    for track, a in ((by_name["flank_normal"], flank), (by_name["tension"], tension), (head["tracks"]["x"], position)):
        assert np.abs(values(track) - a).max() <= 0.5001 * track["step"]
        assert track["step"] <= np.ptp(a) / 65533
    turned = values(head["tracks"]["phi"]) - scene.tracks["phi"]
    assert np.abs(turned - 2 * np.pi * np.round(turned / (2 * np.pi))).max() < 1e-4
    flanks = values(by_name["gap_flank"])
    assert (np.isnan(flanks) == np.isnan(next(c.values for c in scene.channels if c.name == "gap_flank"))).all()
    assert 0.2 < np.isnan(flanks).mean() < 0.6  # on the spans there is no sheave


def test_gaps_are_those_that_the_contact_laws_saw(scene):
    """A contact has force where its gap is closed, and the force is that of its spring up to the dampers."""
    of = {c.name: c.values for c in scene.channels}
    b = load_parameters("pushbelt_24mm").contacts
    for force, gap, k in (("rocking", "gap_rocking", b.k_R * 220 / 432), ("saddle", "gap_saddle", b.k_S * 432 / 220)):
        f, g = of[force], of[gap]
        assert ((f > 0.0) == (g < 0.0)).mean() > 0.99
        closed = f > 20.0
        assert closed.sum() > 10_000
        assert np.median(np.abs(f[closed] + k * g[closed]) / f[closed]) < 0.02
    ear = of["ear"] > 0.0
    assert (of["gap_ear"][ear] < 0.0).mean() > 0.99
    both = of["gap_saddle"] + of["gap_ear"]  # together they are the play of the ring, less where an element leans
    assert 0.49e-3 < both.min() < both.max() < 0.50001e-3
    assert (of["gap_flank"][of["flank_normal"] > 20.0] < 5e-6).all()


def test_gaps_follow_an_element_that_is_moved(run):
    """One element 1 um further out: its saddle and ear move by that, the rocking edges of its neighbours do not."""
    parameters = load_parameters("pushbelt_24mm")
    with open_run(run) as file:
        place, position, angle, *nodes = (file[name][40:41] for name in ELEMENTS_AND_RING)
    b, q, q_R = belt(parameters, N_E0=432), np.dstack([position, angle]), np.dstack(nodes)
    before = contact_gaps(b, q, q_R, place)
    phi = q[0, 7, 2]
    q[0, 7, :2] += 1e-6 * np.array([-np.sin(phi), np.cos(phi)])
    moved = {name: (contact_gaps(b, q, q_R, place)[name] - before[name])[0] for name in before}
    assert moved["saddle"][7] == pytest.approx(-1e-6, rel=1e-2)
    assert moved["ear"][7] == pytest.approx(1e-6, rel=1e-2)
    assert np.abs(moved["rocking"]).max() < 1e-7
    assert all(np.abs(np.delete(m, [6, 7])).max() == 0.0 for m in moved.values())


def test_page_needs_nothing_else(scene):
    page = view_page(scene)
    assert "default-src 'none'" in page
    own = page.replace((resources.files("rtcvt.view") / "three/three.module.min.js").read_text(encoding="utf-8"), "")
    own = own.replace((resources.files("rtcvt.view") / "three/OrbitControls.js").read_text(encoding="utf-8"), "")
    assert len(page) - len(own) > 700_000
    assert "://" not in own
    assert "Copyright 2010-2024 Three.js Authors" in page
    licence = (resources.files("rtcvt.view") / "three/LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("The MIT License")


def test_texts_cannot_break_out_of_the_page():
    evil = "</script><script>alert(1)</script>{{data}}"
    one = np.zeros((2, 8))
    made = Scene("fields", evil, np.arange(2.0), {}, {"radius": one}, [Channel("p", evil, "N", one, "cell")], [], evil)
    page = view_page(made)
    assert page.count("<script>alert") == 0
    head, _ = unpacked(page)
    assert head["title"] == head["note"] == head["channels"][0]["label"] == evil


def test_what_cannot_be_shown_is_refused(run, scene, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="two frames or more"):
        scene_of(run, 0.05, 0.05, 600)
    assert len(scene_of(run, 0.02, 0.06, 50).time) <= 50
    monkeypatch.setattr(view, "LIMIT", 1_000_000)
    with pytest.raises(InputError, match="--frames"):
        view_page(scene)
    plain = Recording(np.arange(3.0), {"a": Signal(np.zeros(3), "1")}, {}, 'name = "x"\nkind = "gear_system"\n')
    write_recording(tmp_path / "plain.h5", plain, "simulation")
    unit = shipped_units("variator")["pushbelt_cvt"].read_text(encoding="utf-8")
    bare = Recording(np.arange(3.0), {"belt.v": Signal(np.zeros(3), "m/s")}, {}, unit)
    write_recording(tmp_path / "bare.h5", bare, "simulation")
    for name, message in (("plain", "one of the kinds"), ("bare", "belt fields"), ("none", "cannot be read")):
        found = CliRunner().invoke(app, ["view", str(tmp_path / f"{name}.h5")])
        assert isinstance(found.exception, InputError), found.output
        assert message in str(found.exception)
        assert not (tmp_path / f"{name}.html").exists()


def test_a_run_without_elements_shows_its_fields(tmp_path):
    parameters, path = load_parameters("pushbelt_24mm"), tmp_path / "run.h5"
    what = Run("MED", Case("MED", 3), Settings(scheme="multirate"), duration=2e-3, plot_step=1e-4, observe=("fields",))
    simulate(parameters, what, path, parameters.text)
    made = scene_of(path, None, None, 600)
    assert made.mode == "fields"
    assert {c.name for c in made.channels} >= {"flank_normal", "push", "tension", "slip_ring"}
    g = made.geometry
    depth = g["h_P"] + 0.5 * g["ring_height"] - g["y_P"]
    sunk = made.tracks["apex"] + (made.tracks["radius"] - depth) * np.tan(g["delta_0"]) - g["z_P"]
    assert (np.abs(sunk) < 1e-4).all()  # sheaves hold the belt, but for what all yields
    assert np.diff(made.tracks["way"][:, 0]) == pytest.approx(11.3e-4, rel=0.05)  # at 11.3 m/s
    assert len(view_page(made)) < 2_000_000


# --- a real-time variator ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    from rtcvt.simulate import simulate
    from rtcvt.unitfile import parse_unit_file

    text = shipped_units("variator")["pushbelt_fields"].read_text(encoding="utf-8")
    unit = load_unit(parse_unit_file(text.replace(', "tension"]', "]"), "cvt"))
    model = unit.build()
    result = simulate(model, unit.scenario[0], 0.02)
    signals = {v.name: Signal(result[v.name], v.unit) for v in model.select("input") + model.select("output")}
    path = tmp_path_factory.mktemp("cvt") / "cvt.h5"
    write_recording(path, Recording(result.time, signals, {"scenario": "ratio sweep"}, unit.text), "simulation")
    return path


@pytest.mark.slow
def test_recording_of_a_variator(recording):
    out = recording.with_name("cvt.html")
    found = CliRunner().invoke(app, ["view", str(recording), "-o", str(out), "--frames", "100"])
    assert found.exit_code == 0, found.output
    head, values = unpacked(out.read_text(encoding="utf-8"))
    assert head["mode"] == "fields"
    assert [c["name"] for c in head["channels"]] == ["flank_normal", "push"]
    force, radius = values(head["channels"][0]["track"]), values(head["tracks"]["radius"])
    assert force.shape == (head["n"], 64)
    assert force[:, :16].mean() > 100 * np.abs(force[:, 16:32]).mean()
    assert force.max() > 1e4
    # the cones just hold the belt: P_R of an element, at its half width, lies on both
    g, apex = head["geometry"], values(head["tracks"]["apex"])
    depth = g["h_P"] + 0.5 * g["ring_height"] - g["y_P"]
    assert np.abs(apex + (radius - depth) * np.tan(g["delta_0"]) - g["z_P"]).max() < 2e-6
    assert np.ptp(radius[:, 0]) > 0.01  # the ratio moves


# --- a belt drive -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """A recording of `accessory_6pk`: its arm turns, and each span has a tension of its own."""
    text, n = shipped_units("belt")["accessory_6pk"].read_text(encoding="utf-8"), 31
    names = list(load_unit("accessory_6pk").pulleys)
    found = {f"{name}.w": Signal(np.full(n, 10.0 * (k + 1)), "rad/s") for k, name in enumerate(names)}
    found |= {f"{a}_{b}.F": Signal(np.linspace(300.0, 500.0 + 100.0 * k, n), "N")
              for k, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True))}  # fmt: skip
    found["tensioner.theta"] = Signal(0.1 * np.sin(np.arange(n)), "rad")
    found["pump_idler.x"] = Signal(np.linspace(0.0, 1e-3, n), "m")
    path = tmp_path_factory.mktemp("drive") / "drive.h5"
    write_recording(path, Recording(0.01 * np.arange(n), found, {"scenario": '{"name": "idle"}'}, text), "simulation")
    return path


def test_a_belt_drive_lies_on_its_taut_path_and_has_its_tension(drive):
    made, unit = scene_of_drive(drive, None, None, 600), load_unit("accessory_6pk")
    names, k = list(unit.pulleys), 20
    assert made.title == "accessory_6pk, idle"
    line = np.stack([made.tracks["line_x"][k], made.tracks["line_y"][k]], axis=-1)
    path = unit.path({names.index("tensioner"): 0.1 * np.sin(k)})
    exact = path.at(path.length * np.arange(len(line)) / len(line))[0]
    away = np.linalg.norm(line - exact, axis=1)
    assert away.max() == pytest.approx(SWING * 1e-3 * k / 30.0, rel=1e-2)  # the middle of the span that swings
    assert np.count_nonzero(away > 1e-12) < 0.2 * len(line)
    assert made.tracks["centre"].reshape(-1, len(names), 2)[k] == pytest.approx(path.center)
    (tension,) = [c.values for c in made.channels if c.name == "tension"]
    section = np.searchsorted(path.knots, path.length * np.arange(len(line)) / len(line), side="right") - 1
    for j in range(len(names)):
        assert tension[k, section == 2 * j] == pytest.approx(300.0 + (200.0 + 100.0 * j) * k / 30.0)
    assert (np.diff(tension[k, section == 1]) > 0.0).all()  # rises over the wrap
    turned = np.diff(made.tracks["rotation"], axis=0)
    assert turned[5] / turned[5, 0] == pytest.approx(np.arange(1.0, len(names) + 1.0))


def test_what_is_out_of_line_is_drawn_by_a_factor_that_fits():
    ring = np.stack([np.full((3, 4), 7e-3 + 1e-4), np.full((3, 4), 7e-3 - 1e-4)], axis=1)[..., None]
    tables = {"spatial/ring": ring, "spatial/angle": np.full((3, 8, 2), 0.03)}
    tables |= {"spatial/position": np.full((3, 8), 4e-4), "spatial/place": np.full((3, 2), 4e-4)}
    tracks, factor = _out_of_line(tables.__getitem__, 12e-3)
    assert factor == 10.0  # 0.03 rad reach 0.4 rad at 13
    assert [tracks[f"ring_{side}"][0, 0] for side in ("left", "right")] == pytest.approx([1e-4, 1e-4])
    assert _out_of_line((tables | {"spatial/position": np.full((3, 8), 6e-3)}).__getitem__, 12e-3)[1] == 2.0


@pytest.mark.needs("chromium")
def test_frames_become_pictures(drive, tmp_path):
    command = ["view", str(drive), "-o", str(tmp_path / "d.html"), "--frames", "3", "--size", "320x200"]
    found = CliRunner().invoke(app, [*command, "--pictures", str(tmp_path / "frames")])
    assert found.exit_code == 0, found.output
    files = sorted((tmp_path / "frames").iterdir())
    assert [f.name for f in files] == ["frame_00000.png", "frame_00001.png", "frame_00002.png"]
    first, _, last = (imread(f)[..., :3] for f in files)
    assert first.shape == last.shape == (200, 320, 3)
    assert 0.005 < (np.abs(first - last).max(axis=-1) > 0.04).mean() < 0.5
    assert np.ptp(last, axis=(0, 1)).min() > 0.3  # a belt in colours
    refused = CliRunner().invoke(app, [*command[:-1], "big", "--pictures", str(tmp_path / "none")])
    assert "1280x720" in str(refused.exception)
    assert not (tmp_path / "none").exists()


# --- in a browser -----------------------------------------------------------------------------------------------------


def picture(browser, box=None):
    """What the page looks like now, (h, w, 3) from 0 to 1."""
    time.sleep(0.5)
    data = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
    return imread(BytesIO(data), format="png")[..., :3]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("profile"), *DRAWING)
    yield made
    made.close()


def opened(browser, path):
    browser.session = None
    browser.open(path.as_uri())
    browser.call("Emulation.setDeviceMetricsOverride", width=1000, height=640, deviceScaleFactor=1, mobile=False)
    for _ in range(300):
        if browser.evaluate("document.body?.dataset.ready"):
            break
        time.sleep(0.1)
    assert browser.evaluate("document.body.dataset.ready") == "yes", browser.evaluate("document.body.innerText")
    browser.evaluate("for (const id of ['ribbon', 'rings']) document.getElementById(id).click()")  # out of the way


def changed(a, b):
    """Share of the pixels of the scene that differ."""
    return (np.abs(a - b).max(axis=-1) > 0.04)[:, :660].mean()


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_run_in_a_browser(browser, scene, tmp_path):
    (tmp_path / "run.html").write_text(view_page(scene), encoding="utf-8")
    opened(browser, tmp_path / "run.html")
    browser.evaluate("document.getElementById('sheaves').value = 'none'; belt.look('Front'); belt.seek(0.05)")
    force = next(c.values for c in scene.channels if c.name == "flank_normal")
    frame = int(np.searchsorted(scene.time, browser.evaluate("belt.time") - 1e-9))
    first = picture(browser)
    keep(browser, tmp_path / "run.png")

    def colour(k):  # a flank seen from the front, where the page says that it is
        x, y = (round(v) for v in browser.evaluate(f"belt.where({k})"))
        return np.median(first[y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3), axis=0)

    strong, idle = int(force[frame].argmax()), int(np.flatnonzero(force[frame] == 0.0)[3])
    assert colour(strong)[1] > 1.4 * colour(strong)[2]  # yellow or green
    assert colour(idle)[2] > 1.4 * colour(idle)[1]  # violet
    lit = np.array([colour(k).sum() for k in range(0, 220, 5)])
    assert np.corrcoef(lit, force[frame][::5])[0, 1] > 0.5

    x, y = browser.evaluate(f"belt.where({strong})")
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert abs(browser.evaluate("belt.selected") - strong) <= 1
    assert browser.evaluate("document.querySelectorAll('#charts canvas').length") == 6
    assert changed(first, picture(browser)) < 0.02  # but for the frame around the element

    browser.evaluate("belt.select(-1); belt.choose('push')")
    assert changed(first, picture(browser)) > 0.01
    browser.evaluate("belt.choose('flank_normal')")
    assert changed(first, picture(browser)) < 1e-3  # the same picture again
    browser.evaluate("belt.seek(0.07)")
    assert changed(first, picture(browser)) > 0.005
    for name in ("All", "Top", "Primary", "Follow"):
        browser.evaluate(f"belt.look('{name}')")
        assert changed(first, picture(browser)) > 0.02
    browser.evaluate("belt.look('All'); document.getElementById('sheaves').value = 'half'; belt.seek(0.01)")
    before = browser.evaluate("belt.time")
    browser.evaluate("belt.cost.script = belt.cost.frames = 0; document.getElementById('play').click()")
    time.sleep(3.0)
    script, frames = browser.evaluate("[belt.cost.script, belt.cost.frames]")
    print(f"\n{frames / 3:.0f} frames a second without a graphics card, {script / frames:.2f} ms of script in each")
    assert browser.evaluate("belt.time") > before
    assert frames >= 3
    keep(browser, tmp_path / "playing.png")


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_recording_in_a_browser(browser, recording, tmp_path):
    (tmp_path / "cvt.html").write_text(view_page(scene_of_recording(recording)), encoding="utf-8")
    opened(browser, tmp_path / "cvt.html")
    browser.evaluate("document.getElementById('rings').click(); belt.look('Front'); belt.seek(2.4)")
    first = picture(browser)
    browser.evaluate("document.getElementById('rings').click()")
    without = picture(browser)
    assert changed(first, without) > 0.03  # the belt itself
    browser.evaluate("document.getElementById('ribbon').click()")
    assert changed(without, picture(browser)) > 0.01  # the curve along it
    browser.evaluate("document.getElementById('rings').click(); belt.select(20)")
    assert browser.evaluate("document.querySelectorAll('#charts canvas').length") == 2
    keep(browser, tmp_path / "cvt.png")


def scene_of_recording(path):
    from rtcvt.offline.variator.scene import scene

    return scene(path, None, None, 300)
