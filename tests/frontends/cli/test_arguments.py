"""Plain arguments: read without the parser, to the same options."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.__main__ import OTHER_COMMANDS
from agentcli.core.errors import UsageError
from agentcli.frontends.cli.arguments import plain_options, prepared
from agentcli.frontends.cli.parser import invoke, whole_group
from tests.tables import each_row

TEXTS = st.sampled_from(["hi", "two words", "a=b", "@file", "é", "-", "", "--model", "7", "resume", " x ", "a\\nb"])
NUMBERS = st.sampled_from(["0", "7", "007", "1.5", "0.25", "-1", "1e3", "x", " 5", "٣", "1_000", "999999999", "1."])
VALUED = ("-p", "--prompt", "-m", "--model", "-C", "--cwd", "--mode", "--agent", "--session-id", "--system-prompt")
LISTS = ("--append-system-prompt", "--allow", "--deny", "--add-dir", "--mcp-config", "--set")
ARGUMENTS = st.one_of(
    st.tuples(st.sampled_from(VALUED + LISTS), TEXTS),
    st.tuples(st.sampled_from(["-o", "--output-format"]), st.sampled_from(["text", "json", "stream-json", "xml"])),
    st.tuples(st.sampled_from(["--max-turns", "--max-tokens", "--max-cost", "--max-time"]), NUMBERS),
    st.sampled_from(["--no-session", "--trust", "--plain", "-c", "--continue", "--print", "--fork"]).map(
        lambda one: (one,)
    ),
    TEXTS.map(lambda one: (one,)),
)


@settings(max_examples=150)
@given(
    st.sampled_from([[], ["resume"], ["resume", "mine"]]),
    st.lists(ARGUMENTS, max_size=4).map(lambda found: [word for words in found for word in words]),
)
def test_whatever_is_read_without_the_parser_is_read_by_it_to_the_same_options(
    command: list[str], options: list[str]
) -> None:
    arguments = command + options
    read = plain_options(arguments)
    if read is not None:
        assert read == invoke(arguments)


@each_row(
    "arguments",
    [
        [],
        ["-c"],
        ["-p", "hi"],
        ["-p", "hi", "-m", "opus", "-o", "json", "--allow", "bash(ls)", "--allow", "edit", "--set", "a=1"],
        ["--prompt", "hi", "--max-turns", "3", "--max-cost", "0.5", "--no-session", "--trust"],
        ["resume", "mine"],
        ["resume", "mine", "-p", "hi", "-m", "opus"],
    ],
)
def test_the_usual_command_lines_need_no_parser(arguments: list[str]) -> None:
    assert plain_options(arguments) is not None


@each_row(
    "arguments",
    [
        ["hi"],
        ["-p"],
        ["-p", "-m"],
        ["resume"],
        ["resume", "-c"],
        ["resume", "mine", "-c"],
        ["resume", "mine", "hi"],
        ["resume", "mine", "--session-id", "other"],
        ["--help"],
        ["-p", "a", "-p", "b"],
        ["--model=opus"],
        ["-o", "xml"],
        ["-c", "--session-id", "mine"],
        ["--max-turns", "1٢"],
        ["--max-cost", "1.٢"],
        ["--"],
    ],
)
def test_all_others_are_left_to_the_parser(arguments: list[str]) -> None:
    assert plain_options(arguments) is None


def test_a_wrong_number_is_refused_by_the_parser() -> None:
    assert plain_options(["-p", "a", "--max-turns", "-1"]) is None
    with pytest.raises(UsageError, match="max-turns"):
        invoke(["-p", "a", "--max-turns", "-1"])


def test_words_after_two_dashes_are_a_prompt_as_they_stand() -> None:
    assert prepared(["--", "-p"], {"run"}) == ["run", "--", "-p"]
    assert prepared(["-c", "--", "--print"], {"run"}) == ["run", "-c", "--", "--print"]


def test_every_command_but_those_of_a_session_keeps_the_prompt_from_being_painted() -> None:
    assert set(OTHER_COMMANDS) == whole_group().commands.keys() - {"run", "resume", "demo"}
