"""Flags of a run: each is written once, and every program that takes it has it from there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from agentcli import manual
from agentcli.core import record
from agentcli.core.dataclass import replace
from agentcli.frontends.cli.arguments import contradiction, plain_options, prepared
from agentcli.program.options import Flag, FlagOptions, Options, flags

PAGES = "\n".join(manual.page(topic) for topic in manual.TOPICS)


def test_the_python_api_takes_flags_with_the_types_of_their_fields() -> None:
    by_name = {flag.name: flag for flag in flags()}
    hints = get_type_hints(FlagOptions, localns={**vars(record), "Path": Path})
    assert hints.keys() <= by_name.keys()
    for name, flag in by_name.items():
        if name in hints and flag.kind != "list" and name not in ("mode", "cwd", "output_schema"):
            assert hints[name] in (flag.type, flag.type | None)


@pytest.mark.parametrize("flag", [flag for flag in flags() if not flag.hidden], ids=lambda flag: flag.name)
def test_the_manual_names_every_flag(flag: Flag) -> None:
    assert any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", PAGES) for name in flag.names)


def test_every_field_but_three_can_be_given_by_a_flag() -> None:
    assert set(Options.__slots__) - {flag.field for flag in flags()} == {"then", "session", "demo"}
    assert {flag.kind for flag in flags()} == {"text", "list", "choice", "whole", "decimal", "switch"}
    assert get_args(get_args(Options.__annotations__["output_format"])[0]) == ("text", "json", "stream-json")


def test_the_value_of_any_flag_before_a_command_is_not_taken_for_the_command() -> None:
    for flag in flags():
        if flag.kind != "switch":
            name = flag.names[-1]
            assert prepared([name, "resume", "resume", "x"], {"run", "resume"}) == ["resume", name, "resume", "x"]


def test_a_copy_of_the_newest_session_needs_no_parser() -> None:
    assert plain_options(["-c", "--fork", "-p", "hi"]) == Options(prompt="hi", print=True, session="--last", fork=True)
    assert plain_options(["--fork", "-p", "hi"]) is None


def test_a_flag_that_needs_a_prompt_without_a_terminal_is_refused_without_one() -> None:
    needing = [flag for flag in flags() if flag.needs_print]
    assert {flag.name for flag in needing} == {"output_schema"}
    for flag in needing:
        name, given = flag.names[-1], replace(Options(), **{flag.field: "x"})
        assert plain_options([name, "x", "-p", "hi"]) == replace(given, prompt="hi", print=True)
        assert plain_options([name, "x"]) is None
        assert contradiction(given) == f"{name} needs -p: agentcli -p PROMPT {name} FILE."
