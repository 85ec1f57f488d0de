"""Pages: every key of every kind has a meaning in the reference, links lead somewhere, README's commands exist."""

import importlib.util
import re
from pathlib import Path

import pytest
import rows
import typer

import rtcvt
from rtcvt.cli import app
from rtcvt.kind import kinds
from rtcvt.unitfile import shipped_units

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "studies").glob("*.md"))]  # fmt: skip


def script(name):
    """A module of the folder of the pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate():
    return script("generate")


@pytest.fixture(scope="module")
def reference(generate):
    """Of the unit files."""
    return generate.unit_files()


@pytest.fixture(scope="module")
def tables():
    return script("tables")


def test_every_key_of_every_kind_is_in_the_reference_with_its_meaning(generate, reference):
    page = reference
    roots = generate.roots()
    assert set(roots) == {name for kind in kinds() for name in kind.names}
    silent, keys = [], 0
    for name, (_, record) in roots.items():
        for table in generate.tables(record):
            assert f"### {table.__name__}" in page
            for key in generate.keys(table):
                keys += 1
                if not generate.meaning(table, key):
                    silent.append(f"{name}: {table.__name__}.{key}")
                assert f"| `{key}` |" in page
    assert keys > 200
    listed = page[page.index("## Keys that no shipped unit uses") :]
    for key in ("mu_L", "crown", "bending_damping"):
        assert f"| `{key}` |" in listed
    for key in ("mu_R", "pretension", "l_R"):
        assert f"| `{key}` |" not in listed
    assert not silent, "a comment behind the field says what it means"
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    assert all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)


def test_the_reference_says_what_the_records_allow(reference):
    page = reference
    for row in rows.tables("cases/docs.toml")["allowed"]:
        assert row in page
    assert "| `clamp.F_max` |" in page  # parameters by name, from the model's variables
    assert "(rtcvt-pog-unit-gear)=" in page
    for target in re.findall(r"\]\(#([\w-]+)\)", page):
        assert f"({target})=" in page


def test_all_commands_are_shown(generate):
    page = generate.commands()
    shown = ("show", "simulate", "export", "ssp", "run", "plot", "view", "check", "campaign", "reduce", "calibrate")
    for command in shown:
        assert f"## rtcvt {command}\n" in page
    assert "[bold]" not in page


@pytest.mark.slow
def test_all_units_are_drawn(generate, tmp_path):
    gallery = generate.pictures(tmp_path)
    for name in shipped_units():
        assert f"### {name}\n" in gallery
        drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert "<svg" in drawn
        assert len(drawn) > 1000


def anchors(page):
    """Anchors of the headings of a page, as GitHub and the site make them."""
    found = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"`", "", h)).strip().lower().replace(" ", "-") for h in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name}: {target}"
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{page.name}: {target}"


def test_tables_are_what_the_record_says(tables):
    assert tables.stale() == []
    for page, old, new in rows.tables("cases/docs.toml")["results"]:
        text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
        assert tables.fill(text.replace(old, new)) == text != text.replace(old, new)


def test_every_table_of_a_page_is_written(tables):
    used = [name for page in tables.written() for name in tables.BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert set(used) == set(tables.TABLES)
    for page in tables.written():
        assert page.read_text(encoding="utf-8").count("<!-- table ") == len(
            tables.BLOCK.findall(page.read_text("utf-8"))
        )


GIVEN = rows.tables("cases/docs.toml")["given"]  # columns of numbers that are no results


def test_a_table_of_results_is_made_from_the_record(tables):
    loose = []
    for page in tables.pages():
        text = re.sub(r"```.*?```", "", tables.BLOCK.sub("", page.read_text(encoding="utf-8")), flags=re.S)
        for found in re.findall(r"(?:^\|.*\n)+", text, re.M):
            head, rows = found.split("\n")[0], found.count("\n") - 2
            numbers = re.findall(r"\d+\.?\d* (?:%|us|ms|W|N|kN|rad/s|Hz|kJ)(?!\w)|\b\d+\.\d+\b", found)
            if len(numbers) >= rows and not head.startswith(tuple(GIVEN)):
                loose.append(f"{page.name}: {head}")
    assert not loose, "write it with docs/tables.py"


def test_readme_counts_what_holds_of_the_source(tables):
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    for unit, said in (
        ("pushbelt_24mm", "`{unit}` meets {met} of {numbers} printed numbers of its source and {held} of {signs}"),
        ("pushbelt_24mm_belief", "`{unit}`, meets {met} and {held}"),
    ):
        found = tables._chapter7(unit)
        numbers, signs = ([s for s in found if ("printed" in s) == printed] for printed in (True, False))
        met, held = (sum(s["verdict"] == "agrees" for s in some) for some in (numbers, signs))
        assert said.format(unit=unit, met=met, numbers=len(numbers), held=held, signs=len(signs)) in text


def test_readme_is_short_and_its_commands_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    known = typer.main.get_command(app).commands
    used = re.findall(r"rtcvt ([a-z]+) ([a-z_0-9]+)?", "\n".join(re.findall(r"`[^`]+`|^    .+$", text, re.M)))
    assert {command for command, _ in used} <= set(known)
    assert len({command for command, _ in used}) >= 8
    units = {unit for _, unit in used if unit and "_" in unit}
    assert units <= set(shipped_units())
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make ([a-z]+)|`make ([a-z]+)`", text, re.M):
        assert f"\n{''.join(target)}:" in make


def test_site_is_built_where_all_is_tested():
    assert re.search(r"^make docs$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
    assert "--fail-on-warning" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_one_version():
    first = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1]
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)[1]
    assert first == cited == rtcvt.__version__
