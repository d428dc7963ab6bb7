"""Messages that are too large to begin with, and outputs found again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.oversize import is_oversize, reference, size_of
from agentcli.context.recall import excerpt, find_result, search_results
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.core.message import ToolResult
from agentcli.core.record import Compaction, Prune, Undo
from tests.context.made import call, prompt, records, reply, result

SETTINGS = ContextSettings(large_input_lines=2, large_input_line=10)


def test_only_a_text_above_the_limit_is_too_large() -> None:
    counts = Counts()
    assert not is_oversize("short", counts, ContextSettings(), 100_000)
    assert not is_oversize("x" * 60_000, counts, ContextSettings(), 100_000)
    assert is_oversize("x" * 80_000, counts, ContextSettings(), 100_000)
    assert is_oversize("日" * 20_000, counts, ContextSettings(), 100_000)
    assert is_oversize("x" * 10_000, counts, ContextSettings(), 8_000)


def test_the_reference_names_path_and_size_and_shows_both_ends() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    shown = reference(text, "/s/outputs/in.txt", size_of(text, Counts()), SETTINGS).split("\n")
    assert shown[0].startswith("[Large input saved to /s/outputs/in.txt: 100 lines, 789 bytes, about ")
    assert shown[1:] == ["line 0", "line 1", "[… 96 more lines in /s/outputs/in.txt …]", "line 98", "line 99"]


def test_one_endless_line_is_cut_too() -> None:
    shown = reference("a" * 1_000 + "z", "p", size_of("x", Counts()), SETTINGS).split("\n")
    assert shown[1:] == ["a" * 10 + " [… 991 more characters]"]


@given(st.text(max_size=400))
def test_a_reference_can_be_written_as_utf8_whenever_the_text_can(text: str) -> None:
    shown = reference(text, "p", size_of(text, Counts()), SETTINGS)
    shown.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    assert len(shown) < 600


TALK = records(
    prompt("hi"),
    reply(call("a"), call("b")),
    result("a", "one\ntwo\r\nthree\n"),
    result("b", "four"),
    Prune(("a",), 1, "test"),
    Compaction("auto", "compressed", "auto", (1, 4), 6, "s"),
    prompt("again", 2),
    Undo(1, "rewind"),
)


def test_a_result_is_found_whatever_was_compacted_cleared_or_rewound_since() -> None:
    assert find_result(TALK, "a") == result("a", "one\ntwo\r\nthree\n")
    assert find_result(reversed(TALK), "b") == result("b", "four")
    assert find_result(TALK, "c") is None


def test_results_are_searched_in_their_whole_output() -> None:
    def whole(part: ToolResult) -> str:
        return part.output + ("\nfive" if part.call_id == "b" else "")

    assert [found.call_id for found, _ in search_results(TALK, "^t", whole)] == ["a"]
    assert [text for _, text in search_results(TALK, "five$", whole)] == ["four\nfive"]
    with pytest.raises(re.error):
        list(search_results(TALK, "(", whole))


def test_an_excerpt_is_whole_a_range_or_what_matches() -> None:
    text = "one\ntwo\r\nthree\n"
    assert excerpt(text).text == text
    assert excerpt(text, first=2, count=1).lines == ((2, "two\r"),)
    assert excerpt(text, pattern="^t").lines == ((2, "two\r"), (3, "three"))
    assert excerpt(text, first=3, pattern="o").lines == ()
    assert excerpt(text).total == 4


@given(st.text())
def test_a_whole_excerpt_is_byte_for_byte_the_text(text: str) -> None:
    assert excerpt(text).text == text
