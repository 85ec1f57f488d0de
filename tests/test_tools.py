"""Tests that lack a tool are skipped, and fail where the tool is required."""

import pytest
import tools


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(tools.TOOLS, "cc", ("a C compiler", lambda: False))


def test_a_tool_that_is_missing_skips(without, monkeypatch):
    monkeypatch.setattr(tools, "REQUIRED", {"zig"})
    with pytest.raises(pytest.skip.Exception, match=r"^needs a C compiler$"):
        tools.require(["cc"])


def test_a_required_tool_that_is_missing_or_does_not_work_fails(without, monkeypatch):
    monkeypatch.setattr(tools, "REQUIRED", {"cc"})
    with pytest.raises(pytest.fail.Exception, match=r"^needs a C compiler; RTCVT_REQUIRE names cc$"):
        tools.require(["cc"])
    with pytest.raises(pytest.fail.Exception, match=r"does not start; RTCVT_REQUIRE"):
        tools.absent("cc", "does not start")
