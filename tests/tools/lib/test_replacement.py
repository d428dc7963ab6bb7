"""The text that replaces a match of an edit."""

from __future__ import annotations

from hypothesis import assume, example, given

from agentcli.tools.lib.matching import find
from agentcli.tools.lib.replacement import replacement
from tests.tools.test_edit import CHARACTERS


@given(before=CHARACTERS, old=CHARACTERS, after=CHARACTERS, new=CHARACTERS)
def test_an_applied_edit_changes_exactly_what_it_says(before: str, old: str, after: str, new: str) -> None:
    assume(old)
    text = before + old + after
    assume(not (before.endswith("\r") and old.startswith("\n")) and not (old.endswith("\r") and after.startswith("\n")))
    assume(text.find(old) == len(before))
    matches, rung = find(text, old)
    assert rung == "exact"
    match = matches[0]
    put_in = replacement(text, match, old, new)
    assert text[match.start : match.end] == old
    same_but_newlines = put_in.replace("\r\n", "\n").replace("\r", "\n") == new.replace("\r\n", "\n").replace(
        "\r", "\n"
    )
    assert same_but_newlines
    assert put_in == new or "\r" not in new


@given(text=CHARACTERS, old=CHARACTERS)
@example(text="a", old="a\r")
def test_an_edit_that_repeats_the_old_text_gives_the_file_back(text: str, old: str) -> None:
    assume(old)
    for match in find(text, old)[0]:
        assert replacement(text, match, old, old) == text[match.start : match.end]
