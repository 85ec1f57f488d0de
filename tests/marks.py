"""Marks of parameters."""

from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """Parameters of a long test."""
    return pytest.param(*values, marks=pytest.mark.slow)
