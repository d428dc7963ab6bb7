"""Traits of tools: what is assumed of a tool that nobody described, and what a subject means."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from agentcli.core.model import ToolSchema
from agentcli.core.tool import (
    UNKNOWN,
    Behaviour,
    CallScope,
    CommandSandbox,
    Effect,
    Subject,
    Tool,
    ToolOutput,
    ToolServer,
    Traits,
)
from tests.tables import each_row


def test_a_tool_that_nobody_described_runs_programs_and_is_nothing_else() -> None:
    assert UNKNOWN.effect == "run"
    assert UNKNOWN.server is None
    said = [(each.name, getattr(part, each.name)) for part in (Subject(), Behaviour()) for each in fields(part)]
    assert [name for name, value in said if value] == []
    assert not UNKNOWN.parallel


@each_row(
    ("effect", "subject", "does"),
    [
        ("run", Subject("command", "command"), "runs_commands"),
        ("run", Subject(), ""),
        ("network", Subject("url", "url"), "fetches"),
        ("network", Subject(), ""),
        ("read", Subject("file_path", "file"), "reads_files touches_files parallel"),
        ("read", Subject("path", "folder"), "searches touches_files parallel"),
        ("none", Subject(), "parallel"),
        ("write", Subject("file_path", "file"), "edits_files touches_files"),
        ("write", Subject("input", "patch"), "edits_files patches touches_files"),
        ("ask", Subject(), ""),
    ],
)
def test_the_effect_and_the_subject_tell_what_a_call_does(effect: Effect, subject: Subject, does: str) -> None:
    traits = Traits(effect, subject)
    derived = [name for name, value in vars(Traits).items() if isinstance(value, property)]
    assert {name for name in derived if getattr(traits, name)} == set(does.split())
    assert Traits(effect, subject, server=ToolServer("git", reads_only=True)).parallel


def test_a_result_is_whole_and_succeeded_unless_it_says_otherwise() -> None:
    plain = ToolOutput("ok")
    assert (plain.status, plain.truncated, plain.output_file, plain.metadata, plain.images) == (
        "success",
        False,
        "",
        {},
        (),
    )


def test_a_tool_takes_what_its_schema_lists_and_what_no_schema_lists() -> None:
    async def run(*_: object) -> ToolOutput:
        return ToolOutput("")

    schema = ToolSchema("read", "Read.", {"type": "object", "properties": {"path": {}}, "required": ["path"]})
    plain = Tool(schema, run, UNKNOWN)
    assert (plain.name, plain.takes, plain.title({"a": 1}), plain.foreign) == ("read", schema.parameters, "", False)
    more = Tool(schema, run, UNKNOWN, unlisted={"all": {"type": "boolean"}})
    assert more.takes == {**schema.parameters, "properties": {"path": {}, "all": {"type": "boolean"}}}
    assert plain.preview(cast(Any, None), {"path": "a", "n": 1}) == '{"path":"a","n":1}'


def test_a_call_without_a_decision_is_confined_to_nothing_and_follows_no_redirect() -> None:
    scope = CallScope()
    assert scope.objection("https://elsewhere.example") == "it was not judged"
    assert (scope.allowed_paths, scope.hidden, scope.folder, scope.sandbox) == ((), (), None, CommandSandbox())
    sandbox = scope.sandbox
    assert (sandbox.wrap, sandbox.hardened, sandbox.note, sandbox.if_failed) == (None, False, "", "")
    assert sandbox.same_port(80)
