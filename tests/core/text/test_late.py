"""Patterns that are compiled with their first use."""

from __future__ import annotations

import re

import pytest

from agentcli.core.text.late import late


def test_a_late_pattern_finds_what_a_compiled_one_finds() -> None:
    pattern = late(r"(?P<word>\w+)!", re.ASCII)
    found = pattern.search("well done!")
    assert found is not None
    assert found["word"] == "done"
    assert pattern.sub("?", "a! b!") == "? ?"
    assert [*map(str, pattern.findall("a! b!"))] == ["a", "b"]
    assert pattern.pattern == r"(?P<word>\w+)!"


def test_a_late_pattern_is_compiled_with_its_first_use_only() -> None:
    pattern = late("(")
    with pytest.raises(re.error):
        pattern.search("a")
