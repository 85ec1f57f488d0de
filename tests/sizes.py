"""Sizes of source, tests and pages against their budgets; `make lint` calls it, and it fails if one is exceeded.

Lines of code are lines with a token: neither blank lines nor comments nor docstrings. Pages are counted in words.
"""

import ast
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
BUDGETS = {"source": 60_400, "tests": 34_000, "pages": 30_000}


def lines_of_code(file: Path) -> int:
    """Lines of code of a Python file."""
    text = file.read_text(encoding="utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    tokens = tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__)
    code = {line for t in tokens if t.type not in LEFT_OUT for line in range(t.start[0], t.end[0] + 1)}
    return len(code - docstrings)


def in_folders(*folders: str) -> int:
    """Lines of code of all Python files in these folders, without what is generated."""
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return sum(lines_of_code(file) for file in files if "__pycache__" not in file.parts)


def main() -> None:
    """Print the sizes; exit code 1 if one is above its budget."""
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    sizes = {"source": in_folders("rtcvt", "fmu", "hil", "offline"), "tests": in_folders("tests"),
        "pages": sum(len(page.read_text(encoding="utf-8").split()) for page in pages)}  # fmt: skip
    for what, size in sizes.items():
        print(f"{what}: {size} of {BUDGETS[what]} {'words' if what == 'pages' else 'lines of code'}")
    sys.exit(any(size > BUDGETS[what] for what, size in sizes.items()))


if __name__ == "__main__":
    main()
