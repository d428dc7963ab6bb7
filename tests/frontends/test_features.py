"""A feature is one class: what it brings reaches the model, the person and doctor without another entry."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.ports import Prompt
from agentcli.agent.tool_context import offer
from agentcli.core.event import Event, Noticed
from agentcli.core.message import ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.tool import ToolContext, ToolOutput, Traits
from agentcli.frontends.commands.registry import built_in_commands, slash_commands
from agentcli.frontends.features import FEATURES
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.permissions.started import Started
from agentcli.program.commands import Command, Context, Output, Said, command
from agentcli.program.config.general import General
from agentcli.program.definition import Definition
from agentcli.program.doctor import examine
from agentcli.program.feature import Feature, Row, tools_of, traits_of
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.tools.entry import Entry
from agentcli.tools.registry import TRAITS, tools


class Tide:
    """A service: the state of the tide."""

    def __init__(self, level: str) -> None:
        self.level = level


async def tide(ctx: ToolContext, call_id: str) -> ToolOutput:
    found = ctx.service(Tide)
    return ToolOutput(f"The tide is {found.level if found else 'unknown'}.")


def title(_: Mapping[str, Any]) -> str:
    return "Tide"


@command("Work")
async def tide_(context: Context, _: str) -> AsyncIterator[Output]:
    """Show the tide: /tide"""
    yield Said(["Low tide."])


ENTRY = Entry("tide", tide, title, Traits("none"), description="The state of the tide.")


class Tides(Feature[Program]):
    name = "tide"

    def tools(self) -> Sequence[Entry]:
        return [ENTRY]

    def commands(self) -> Sequence[Command]:
        return [tide_]

    def checks(self, program: Program) -> Iterable[Row]:
        yield "tide", False, "no gauge is connected"

    def prompt(self, program: Program, model: ModelSpec) -> str:
        return f"# Tide\nAsk the tide tool, {model.id}."

    def session(self, program: Program, core: SessionCore) -> SessionPart:
        return TideSession(program, core)


class TideSession(SessionPart):
    name = "tide"
    services = (offer(Tide, Tide("low")),)

    def __init__(self, program: Program, core: SessionCore) -> None:
        self._program, self._core = program, core

    def before_request(self) -> Iterator[Event]:
        folder = self._core.setup.workspace.cwd
        yield Noticed(f"The tide turns in {self._program.cwd.name}, and {folder.name} is wet.")


TIDE = Tides()


def program(folder: Path, *features: Feature, **options: Any) -> Program:
    folder.mkdir(exist_ok=True)
    script = folder / "script.json"
    script.write_text('{"replies": [{"calls": [{"name": "tide", "input": {}}]}, {"text": "Go now."}]}')
    env = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    work = folder / "work"
    work.mkdir()
    asked = Options(model=f"script:{script}", cwd=str(work), no_session=True, **options)
    return program_of(asked, {**env, "HOME": str(folder)}, features=[*FEATURES, *features])


def test_what_a_feature_brings_to_a_session_is_all_there(tmp_path: Path) -> None:
    opened = program(tmp_path, TIDE).sessions.new()

    async def turn() -> list[Event]:
        return [event async for event in opened.turn(Prompt("May I swim?"), asyncio.Event())]

    events = asyncio.run(turn())
    [answer] = [entry.body for entry in opened.history.entries if isinstance(entry.body, ToolResult)]
    assert answer.output == "The tide is low."
    assert any(block.startswith("# Tide\nAsk the tide tool, ") for block in opened.history.system)
    assert [tool["name"] for tool in opened.history.tools][-1] == "tide"
    assert events.count(Noticed("The tide turns in work, and work is wet.")) == 2, "once before each request"
    opened.close()


def test_what_it_brings_to_the_program_is_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    made = program(tmp_path, TIDE, prompt="/tide", print=True)
    assert [found.line for found in examine(made) if found.what == "tide"] == ["warn  tide: no gauge is connected"]
    assert print_mode(made, made.options) == 0
    assert capsys.readouterr().out == "Low tide.\n"
    assert slash_commands(made).find("tide") is tide_
    assert made.traits["tide"] == ENTRY.traits


def test_a_run_without_a_terminal_waits_for_the_first_news_of_any_feature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    waits, news = {"moon": 0, "tide": 0}, ["The tide is high."]

    class Waiting(Feature[Program], SessionPart):
        def __init__(self, name: str) -> None:
            self.name = name

        async def background(self) -> bool:
            waits[self.name] += 1
            if waits[self.name] == 1 and self.name == "moon":
                await asyncio.Event().wait()
            return waits[self.name] == 1

        def news(self) -> Sequence[str]:
            return [news.pop()] if waits["tide"] and news else []

        def session(self, program: Program, core: SessionCore) -> SessionPart:
            return self

    made = program(tmp_path, *map(Waiting, waits), prompt="Wait.", print=True)
    (tmp_path / "script.json").write_text('{"replies": [{"text": "Waiting."}, {"text": "Go now."}]}')
    assert print_mode(made, made.options) == 0
    assert capsys.readouterr().out == "Go now.\n"
    assert (news, waits) == ([], {"moon": 2, "tide": 2})


def test_a_feature_that_is_off_offers_no_tool_and_former_sessions_know_its_traits(tmp_path: Path) -> None:
    class Off(Tides):
        def on(self, program: Program) -> bool:
            return program.config[General].mode == "plan"

    made = program(tmp_path, Off())
    opened = made.sessions.new()
    assert "tide" not in [tool.name for tool in made.tools_with(servers=False)]
    assert "tide" not in [part.name for part in opened.parts.all]
    assert not any(block.startswith("# Tide") for block in made.system_prompt((), opened.core.model, "ask"))
    assert made.traits["tide"] == ENTRY.traits
    opened.close()


def test_what_a_feature_would_start_is_approved_first_and_its_files_are_protected(tmp_path: Path) -> None:
    gauge = Definition("server", "gauge", "tide.json", "./gauge.sh", {})

    class Gauged(Tides):
        def definitions(self, program: Program) -> Iterable[Definition]:
            return [gauge]

        def started(self, program: Program) -> Iterable[Started]:
            return [Started("tide", "./gauge.sh", program.cwd)]

    feature = Gauged()
    made = program(tmp_path, feature)
    assert made.definitions() == []
    assert made.workspace_policy.workspace().started() == {made.cwd / "gauge.sh": "tide runs gauge.sh"}
    trusting = program(tmp_path / "other", feature, trust=True)
    assert trusting.definitions() == [gauge]


def test_the_features_bring_every_built_in_tool_once_in_the_order_of_requests() -> None:
    assert [tool.name for tool in tools_of(FEATURES)] == [tool.name for tool in tools()]
    assert traits_of(FEATURES) == TRAITS
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)


def test_no_slash_command_is_brought_twice() -> None:
    brought = [one.name for feature in FEATURES for one in feature.commands()]
    assert len(brought) == len({*brought})
    assert {"compress", "undo", "mcp", "hooks", "skills", "todo", "quit"} <= {*brought}
    assert {*built_in_commands(FEATURES).all} == {"help", *brought}
