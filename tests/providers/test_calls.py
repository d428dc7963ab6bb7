from __future__ import annotations

from typing import Any

from agentcli.providers.wire import DEEPEST, can_run, tokens, wire_name
from tests.tables import each_row


def nested(levels: int) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for _ in range(levels):
        given = {"a": [given]}
    return given


@each_row("name", ["", " ", None, 5, ["read"]])
def test_a_call_without_a_name_cannot_run(name: Any) -> None:
    assert can_run("read", {})
    assert not can_run(name, {})


@each_row("given", [None, [], "{}", 5])
def test_an_input_that_is_no_object_cannot_run(given: Any) -> None:
    assert not can_run("read", given)


def test_an_input_that_is_too_deep_cannot_run() -> None:
    assert can_run("read", nested(50))
    assert not can_run("read", nested(DEEPEST))
    assert not can_run("read", nested(100_000))


@each_row(
    ("name", "sent"),
    [("read", "read"), ("mcp__a-b", "mcp__a-b"), ("a b/c", "a_b_c"), ("", "_"), ("9", "_9"), ("\u202e" * 99, "_" * 64)],
)
def test_a_made_up_name_goes_back_in_letters_that_are_taken(name: str, sent: str) -> None:
    assert wire_name(name) == sent


@each_row(
    ("value", "number"),
    [(7, 7), ("12", 12), (1.5, 1), (None, 0), (-5, 0), ("many", 0), (float("inf"), 0), (float("nan"), 0), (10**30, 0), ([1], 0)],
)  # fmt: skip
def test_a_count_that_is_none_counts_nothing(value: Any, number: int) -> None:
    assert tokens(value) == number
