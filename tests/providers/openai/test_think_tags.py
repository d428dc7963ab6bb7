"""Thoughts in tags are told from the answer, however the text is cut."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from agentcli.providers.openai.chat_reply import ThinkTags
from tests.tables import each_row


def read(*pieces: str) -> list[tuple[bool, str]]:
    """The runs, neighbours of one kind joined."""
    tags = ThinkTags()
    runs = [run for piece in pieces for run in tags.read(piece)] + tags.end()
    return [(kind, "".join(text for _, text in same)) for kind, same in groupby(runs, key=lambda run: run[0])]


@each_row(
    ("text", "runs"),
    [
        ("plain", [(False, "plain")]),
        ("<think>hm</think>so", [(True, "hm"), (False, "so")]),
        ("\n<think>\nhm\n\n</think>\n\nso\n", [(True, "hm"), (False, "so\n")]),
        ("<think>a < b </ c</think>so", [(True, "a < b </ c"), (False, "so")]),
        ("<think></think>so", [(False, "so")]),
        ("<think>without an end", [(True, "without an end")]),
        ("the tag <think> is text here", [(False, "the tag <think> is text here")]),
        ("<thin ice>", [(False, "<thin ice>")]),
        ("<thi", [(False, "<thi")]),
        ("  indented", [(False, "  indented")]),
        ("", []),
    ],
)
def test_thoughts_at_the_beginning_are_no_text(text: str, runs: list[tuple[bool, str]]) -> None:
    assert read(text) == runs
    assert read(*text) == runs


@given(st.text(alphabet="<think>/ \na", max_size=40), st.integers(1, 9))
def test_it_does_not_matter_how_the_text_is_cut(text: str, size: int) -> None:
    whole = f"<think>{text}"
    assert read(*(whole[start : start + size] for start in range(0, len(whole), size))) == read(whole)
