"""Public names of extensions: a change of one is a line in the changelog."""

from __future__ import annotations

import inspect
import typing

import agentcli
from agentcli import extension
from agentcli.extension import EVENTS
from agentcli.extension.events import EventName

NAMES = [
    "API",
    "EVENTS",
    "AgentError",
    "Answer",
    "Cause",
    "Changed",
    "Compaction",
    "Completed",
    "Context",
    "Decision",
    "Ended",
    "Fetched",
    "FileChanged",
    "Idle",
    "Prompt",
    "Reply",
    "Request",
    "Said",
    "SessionEnd",
    "SessionStart",
    "Source",
    "Status",
    "ToolCall",
    "ToolResult",
    "Turn",
    "TurnCost",
    "TurnEnd",
    "Ui",
    "Usage",
    "around_turn",
    "command",
    "money",
    "on",
    "search_engine",
    "settings",
    "tool",
]
CONTEXT = "ask_aside ask_model attended costs cwd execute fetch history log mode model pin prompt run settings state turn_cost ui"
UI = "confirm input notify select show status warn"
SIGNATURES = {
    "on": "(event: 'EventName', *, timeout: 'float' = 5.0, every: 'float' = 60.0) -> 'Callable[[F], F]'",
    "command": (
        "(name: 'str', *, complete: 'Callable[[], Sequence[str]] | None' = None, at_once: 'bool' = False)"
        " -> 'Callable[[F], F]'"
    ),
    "settings": "(cls: 'V') -> 'V'",
}


def members(owner: type) -> str:
    """The public names of a class, sorted."""
    named = {*vars(owner), *vars(owner).get("__annotations__", {})}
    return " ".join(sorted(name for name in named if not name.startswith("_")))


def test_the_public_names_are_these() -> None:
    assert extension.__all__ == NAMES
    assert extension.API == 1
    assert (members(extension.Context), members(extension.Ui)) == (CONTEXT, UI)
    assert {name: str(inspect.signature(getattr(extension, name))) for name in SIGNATURES} == SIGNATURES


def test_every_public_name_is_documented() -> None:
    for name in NAMES:
        value = getattr(extension, name)
        assert name in ("API", "EVENTS") or inspect.getdoc(value), name


def test_the_events_are_those_of_the_type() -> None:
    assert tuple(EVENTS) == typing.get_args(EventName)


def test_a_value_of_a_closed_set_has_a_type_that_names_it() -> None:
    closed = {
        extension.SessionStart: "source",
        extension.ToolResult: "status",
        extension.TurnEnd: "ending",
        extension.Ended: "ending",
        extension.Compaction: "trigger",
        extension.Said: "role",
    }
    assert all(typing.get_args(typing.get_type_hints(owner)[name]) for owner, name in closed.items())


def test_a_tool_of_the_python_api_and_one_of_an_extension_are_made_by_one_function() -> None:
    assert agentcli.tool is extension.tool
