"""The sources that a run depends on: what is kept of a check is of no use once one of them has changed."""

import ast
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def sources() -> tuple[Path, ...]:
    """Files of all modules of rtcvt that `run.simulate` imports when it is loaded, directly or not."""
    found: dict[str, Path] = {}
    todo = ["rtcvt.offline.pushbelt.run.simulate"]
    while todo:
        name = todo.pop()
        spec = find_spec(name) if name not in found else None
        if spec is None or spec.origin is None:
            continue
        found[name] = Path(spec.origin)
        for node in ast.parse(found[name].read_bytes()).body:
            if isinstance(node, ast.Import):
                todo += [a.name for a in node.names if a.name.startswith("rtcvt.")]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rtcvt":
                todo += [f"{node.module}", *_modules(f"{node.module}", [a.name for a in node.names])]
    return tuple(found[name] for name in sorted(found))


def _modules(package: str, names: Sequence[str]) -> list[str]:
    """Which names are modules of the package."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [f"{package}.{name}" for name in names if find_spec(f"{package}.{name}") is not None]
