"""The texts that reach people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentcli.frontends.terminal.input.keys import KEYS, help_lines
from tests.texts import PACKAGE, literals, pages, sentences, texts

ODD = (
    "anew",
    "ut back",
    "of yours",
    " goes on ",
    "Mend it",
    "mend it",
    "Say another",
    "Set it anew",
    "tells of",
    "for the word",
    "?.",
)
"""What a native reader stumbles over."""


def test_no_text_has_an_odd_turn() -> None:
    known = list(texts())
    assert len(known) > 300
    assert not [(file, line, text) for file, line, text in known if any(odd in text for odd in ODD)]


TIC = re.compile(
    r"\b(?:holds?|go(?:es)? on|cannot be (?!an?\b|the\b|empty\b|in\b)\w+(?:ed|en|nt|ht|ad|un|lt|ld|de|me|it|rn)|Nobody is there|stands?|anew|of yours|puts? back|pictures?|leav(?:e|es|ing))\b",
    re.IGNORECASE,
)
"""Turns that are correct but foreign: say continue, can't read X, is in view, your own, restored, image, exit."""


FALSE_NO = re.compile(
    r"(?<!there )\b(?:is|are) no (?!longer\b|more\b|one\b|such\b)\w+|\bwhich is none\b|\bany more\b|\btells? of\b",
    re.IGNORECASE,
)
"""Negations of other languages: say that X is not a file, that it is no longer one; and say names, reports."""


@pytest.mark.parametrize("text", ["It is no JSON.", "'x', which is none of a, b", "not shared any more", "tells of it"])
def test_a_negation_of_another_language_is_found(text: str) -> None:
    assert FALSE_NO.search(text)


@pytest.mark.parametrize("text", ["There is no file.", "It is no longer there.", "It is not a file."])
def test_a_negation_is_left_alone(text: str) -> None:
    assert not FALSE_NO.search(text)


@pytest.mark.parametrize(
    "text",
    ["It cannot be read.", "this holds", "he goes on", "a file of yours", "Pictures", "twice: leave", "made anew"],
)
def test_a_foreign_turn_is_found(text: str) -> None:
    assert TIC.search(text)


def test_no_text_for_people_has_a_foreign_turn() -> None:
    keys = [("keys", 0, does) for _, does in help_lines(KEYS)]
    known = [*texts(), *literals(), *pages(), *keys]
    assert len(known) > 5_000
    assert not [(file, line, text) for file, line, text in known if TIC.search(text) or FALSE_NO.search(text)]


HELP = Path(__file__).with_name("golden") / "command-line.json"


def test_no_help_of_the_command_line_has_a_foreign_turn() -> None:
    lines = re.findall(r'[^"\\]+', HELP.read_text(encoding="utf-8"))
    assert len(lines) > 500
    assert not [line for line in lines if TIC.search(line)]


FOLDERS = sorted(each.name for each in PACKAGE.iterdir() if any(each.rglob("*.py")))
MOST_WORDS = 20
"""Maximum words of a sentence in a docstring or comment."""
WORD = re.compile(r"[\w'`$./*<>\[\]=-]+")


def too_long(code: str) -> list[tuple[int, str]]:
    return [(line, text) for line, text in sentences(code) if len(WORD.findall(text)) > MOST_WORDS]


@pytest.mark.parametrize("pattern", ["*.py", *(f"{folder}/**/*.py" for folder in FOLDERS)])
def test_a_sentence_of_the_code_is_short(pattern: str) -> None:
    files = sorted(PACKAGE.glob(pattern))
    assert files
    assert not [(str(file), *each) for file in files for each in too_long(file.read_text(encoding="utf-8"))]


def test_a_long_sentence_is_found_in_a_docstring_and_across_lines_of_a_comment() -> None:
    half = "one two three four five six seven eight nine ten"
    assert too_long(f'"""It is {half} {half}."""\n# A {half}\n# {half}.\n') == [
        (1, f"It is {half} {half}."),
        (2, f"A {half} {half}."),
    ]
    assert not too_long(f'"""{half}. {half} {half}\n\n{half}."""\nx = 1  # {half}\n# {half}. {half} {half}.\n')
