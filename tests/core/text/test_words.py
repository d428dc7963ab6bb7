"""Counts with their nouns."""

from __future__ import annotations

from agentcli.core.text.words import (
    did_you_mean,
    instead,
    is_slip,
    most_alike,
    name_and_argument,
    near_names,
    one_of,
    plural,
)
from tests.tables import each_row


@each_row(
    ("count", "noun", "expected"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (2_000, "matching line", "2,000 matching lines"),
        (3, "process", "3 processes"),
        (4, "match", "4 matches"),
        (5, "entry", "5 entries"),
    ],
)
def test_a_noun_has_the_form_that_its_count_asks_for(count: int, noun: str, expected: str) -> None:
    assert plural(count, noun) == expected


@each_row(
    ("line", "parts"),
    [
        ("/model sonnet", ("model", "sonnet")),
        (" /rewind   3 turns  ", ("rewind", "3 turns")),
        ("/help", ("help", "")),
        ("/", ("", "")),
        ("", ("", "")),
        ("help me", ("help", "me")),
    ],
)
def test_a_line_is_a_name_and_an_argument(line: str, parts: tuple[str, str]) -> None:
    assert name_and_argument(line) == parts


KNOWN = ("sessions", "stats", "tools", "todo", "fork", "ui.theme", "ui.keys", "claude-sonnet-5", "permissions")


@each_row(
    ("name", "near"),
    [
        ("sesions", ["sessions"]),
        ("sessoins", ["sessions"]),
        ("Sessionz", ["sessions"]),
        ("ssession", ["sessions"]),
        ("ui.them", ["ui.theme"]),
        ("UI_KEYS", ["ui.keys"]),
        ("theme", ["ui.theme"]),
        ("claude-sonet", ["claude-sonnet-5"]),
        ("perm", ["permissions"]),
    ],
)
def test_a_slip_a_part_and_a_beginning_lead_to_the_name(name: str, near: list[str]) -> None:
    assert near_names(name, KNOWN) == near


@each_row("name", ["foo", "", "pe", "hello", "security", "test", "kubernetes", "x" * 10_000])
def test_a_name_that_is_near_to_none_leads_to_none(name: str) -> None:
    assert near_names(name, KNOWN) == []


def test_only_the_nearest_names_are_offered_and_at_most_three() -> None:
    assert near_names("modle", ("mode", "model", "modular")) == ["mode", "model"]
    assert near_names("mod", ("models", "moderate", "modify", "modular")) == ["models", "moderate", "modify"]
    assert near_names("sesions", ("sessions", "seasons")) == ["sessions"]


def test_an_unknown_name_is_answered_with_the_nearest_or_with_another_sentence() -> None:
    assert instead("pln", ("ask", "plan"), "See `x`.") == " Did you mean plan?"
    assert instead("foo", ("ask", "plan"), "See `x`.") == " See `x`."
    assert instead("foo", ("ask", "plan")) == ""
    assert one_of("foo", ("ask", "plan")) == " Use one of: ask, plan."


def test_a_search_ranks_by_likeness() -> None:
    assert most_alike("sesions", ("sessions", "session", "tools"), 0.9) == ["sessions"]


def test_a_question_offers_the_names_and_nothing_is_asked_without_any() -> None:
    assert did_you_mean(["sessions", "session"]) == " Did you mean sessions or session?"
    assert did_you_mean(["a", "b", "c"]) == " Did you mean a, b or c?"
    assert did_you_mean([]) == ""


@each_row(("name", "slip"), [("docter", True), ("dcotor", True), ("docto", True), ("docker", False), ("doctor", False)])
def test_a_slip_is_one_letter_or_two_neighbours(name: str, slip: bool) -> None:
    assert is_slip(name, "doctor") is slip
