"""Counts with their nouns."""

from __future__ import annotations

from agentcli.core.text.words import did_you_mean, name_and_argument, near_names, one_letter_off, plural
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


@each_row("name", ["sesions", "ssessions", "sessoins", "sessionss", "sessionz", "essions"])
def test_one_letter_too_many_too_few_or_wrong_is_a_slip(name: str) -> None:
    assert one_letter_off(name, "sessions")


@each_row(("name", "other"), [("tools", "tools"), ("tests", "tools"), ("hello", "help"), ("", "ab")])
def test_what_differs_in_more_is_none(name: str, other: str) -> None:
    assert not one_letter_off(name, other)


def test_the_three_nearest_names_are_offered_best_first() -> None:
    known = ("sessions", "session", "sensors", "seasons", "tools")
    assert near_names("sesions", known) == ["sessions", "session", "seasons"]
    assert near_names("xyz", known) == []
    assert near_names("sesions", known, likeness=0.9) == ["sessions"]


def test_a_question_offers_the_names_and_nothing_is_asked_without_any() -> None:
    assert did_you_mean(["sessions", "session"]) == " Did you mean sessions or session?"
    assert did_you_mean(["a", "b", "c"]) == " Did you mean a, b or c?"
    assert did_you_mean([]) == ""


@each_row(
    ("name", "other", "near"),
    [
        ("ab", "ba", True), ("abc", "bac", True), ("abc", "acb", True), ("abc", "cba", False), ("abcd", "badc", False),
        ("a", "b", True), ("abc", "axc", True), ("abc", "xbc", True), ("a", "", True), ("", "", False), ("ab", "a", True), ("abc", "a", False), ("abc", "axx", False),
        ("abc", "abxy", False), ("abc", "bc", True), ("abcd", "abd", True), ("abcd", "bad", False),
    ],
)  # fmt: skip
def test_a_slip_is_one_letter_or_two_neighbours(name: str, other: str, near: bool) -> None:
    assert one_letter_off(name, other) is one_letter_off(other, name) is near
