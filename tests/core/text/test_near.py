"""Names near another."""

from __future__ import annotations

import pytest

from agentcli.core.text.near import one_letter_off


@pytest.mark.parametrize("name", ["sesions", "ssessions", "sessoins", "sessionss", "sessionz", "essions"])
def test_one_letter_too_many_too_few_or_wrong_is_a_slip(name: str) -> None:
    assert one_letter_off(name, "sessions")


@pytest.mark.parametrize(("name", "other"), [("tools", "tools"), ("tests", "tools"), ("hello", "help"), ("", "ab")])
def test_what_differs_in_more_is_none(name: str, other: str) -> None:
    assert not one_letter_off(name, other)
