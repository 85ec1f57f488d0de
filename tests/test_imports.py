"""Who imports whom: the direction of the packages, no circles. Imports within functions count too."""

import ast
import importlib
from pathlib import Path

import rtcvt

ROOT = Path(rtcvt.__file__).parents[1]
ABOVE = {"offline": {"offline"}, "fmu": {"fmu"}, "hil": {"hil", "fmu"}, "rtcvt": set()}  # what each imports above rtcvt
ENTRY = "rtcvt.__main__"
COMMANDS = (ENTRY, "rtcvt.cli")


def modules():
    """The source file of each module by its installed name."""
    names = {}
    for folder in ABOVE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            names[".".join(parts if folder == "rtcvt" else ("rtcvt", *parts))] = file
    return names


MODULES = modules()


def imports(file):
    """The modules that a file imports, anywhere in it, also for type checkers alone."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import"
            inner = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name for name in inner if name in MODULES)
            if any(name not in MODULES for name in inner):
                yield node.module


# what a function of the interface returns, for type checkers; and names that `rtcvt` looks up when it is asked for them
FOR_TYPES = {
    "rtcvt.interface": {
        "rtcvt.fmu.calibration",
        "rtcvt.fmu.gradient",
        "rtcvt.offline.variator.campaign",
        "rtcvt.offline.variator.reduction",
    },
    "rtcvt": {"rtcvt.recording", "rtcvt.interface"},
}
GRAPH = {name: sorted({*imports(file)} & MODULES.keys() - FOR_TYPES.get(name, set())) for name, file in MODULES.items()}


def room(module):
    """The distribution folder of a module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ABOVE else "rtcvt"


def test_packages_import_downwards():
    """hil -> fmu -> rtcvt and offline -> rtcvt; only commands may import all. Others name what is above in records."""
    wrong = [
        f"{name} imports {other}"
        for name, others in GRAPH.items()
        if not name.startswith(COMMANDS)
        for other in others
        if other.startswith(COMMANDS) or (room(other) != "rtcvt" and room(other) not in ABOVE[room(name)])
    ]
    assert not wrong, "\n".join(wrong)


def circle(graph):
    """Modules that import one another in a circle, if there are any."""
    left = {name: set(others) - {name} for name, others in graph.items()}
    while ready := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in ready}
    path = list(left)[:1]  # each one left imports one that is left
    while path and path[-1] not in path[:-1]:
        path.append(min(left[path[-1]] & left.keys()))
    return path[path.index(path[-1]) :] if path else []


def test_no_circles():
    """Modules can be sorted so that each imports only earlier ones."""
    found = circle(GRAPH)
    assert not found, " -> ".join(found)


def test_named_functions_exist():
    """All that `lazily` names is there."""
    trees = [ast.walk(ast.parse(file.read_text())) for file in MODULES.values()]
    calls = [n for tree in trees for n in tree if isinstance(n, ast.Call) and ast.unparse(n.func) == "lazily"]
    places = {n.args[0].value for n in calls if isinstance(n.args[0], ast.Constant)}
    assert len(places) > 50
    for module, _, name in (place.partition(":") for place in places):
        assert callable(getattr(importlib.import_module(module), name))


def test_a_former_name_of_a_module_still_gives_it():
    from rtcvt.offline.belt import runs
    from rtcvt.offline.beltdrive import runs as former

    assert all(getattr(former, name) is getattr(runs, name) for name in former.__all__)


def test_a_constant_of_a_module_has_one_value():
    """A second assignment would change what an earlier one is used for."""
    for file in MODULES.values():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = [t.id for a in tree.body if isinstance(a, ast.Assign) for t in a.targets if isinstance(t, ast.Name)]
        again = {name for name in found if found.count(name) > 1 and name.isupper()}
        assert not again, f"{file}: {again}"
