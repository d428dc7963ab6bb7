"""Traits of tools: what is assumed of a tool that nobody described, and what a subject means."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from agentcli.core.model import ToolSchema
from agentcli.core.tool import UNKNOWN, CallScope, CommandSandbox, Effect, Tool, ToolOutput, Traits
from tests.tables import each_row


def test_a_tool_that_nobody_described_runs_programs_and_is_nothing_else() -> None:
    assert UNKNOWN.effect == "run"
    said = {each.name: getattr(UNKNOWN, each.name) for each in fields(Traits) if each.name != "effect"}
    assert [name for name, value in said.items() if value] == []
    assert not UNKNOWN.parallel


@each_row(
    ("effect", "subject", "runs", "fetches", "parallel"),
    [
        ("run", "command", True, False, False),
        ("run", "", False, False, False),
        ("network", "url", False, True, False),
        ("network", "", False, False, False),
        ("read", "file_path", False, False, True),
        ("none", "", False, False, True),
        ("write", "file_path", False, False, False),
        ("ask", "", False, False, False),
    ],
)
def test_the_effect_and_the_subject_tell_what_a_call_does(
    effect: Effect, subject: str, runs: bool, fetches: bool, parallel: bool
) -> None:
    traits = Traits(effect, subject)
    assert (traits.runs_commands, traits.fetches, traits.parallel) == (runs, fetches, parallel)
    assert Traits(effect, subject, reads_only=True).parallel


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
