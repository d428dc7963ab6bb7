"""The hooks of a session without any."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

from agentcli.agent.hooks import Outcome, Source, Subagent, Verdict
from agentcli.core.errors import ModelError
from agentcli.core.message import ToolCall, ToolResult
from agentcli.features.hooks.files import EVENTS
from agentcli.providers.scripted.model import say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.open_session import open_session


def test_no_event_has_a_hook_and_subagents_are_told_nothing(tmp_path: Path) -> None:
    hooks = open_session(tmp_path, [say("done")]).core.hooks
    assert not hooks.has(*EVENTS)
    assert not hooks.is_subagent
    assert hooks.identity("explore", MemorySession()) is None
    assert (hooks.last, hooks.variables) == ({}, {})


def test_every_event_passes_and_nothing_is_said(tmp_path: Path) -> None:
    hooks = open_session(tmp_path, [say("done")]).core.hooks
    call = ToolCall("c", "bash", {"command": "make"})

    async def fired() -> list[Outcome]:
        never = asyncio.Event()
        return [
            *[await hooks.session_start(source, never) for source in get_args(Source)],
            await hooks.session_end("exit"),
            await hooks.prompt("go", never),
            await hooks.pre_tool(call),
            await hooks.permission(call, "bash(make)", "bash(make *)"),
            await hooks.post_tool(call, ToolResult("c", "bash", "success", "ok")),
            await hooks.stop("done", False, (), never),
            await hooks.stop_failed(ModelError("overloaded", "overloaded"), "", never),
            await hooks.pre_compact("auto", "", None),
            await hooks.post_compact("auto", "a summary", never),
        ]

    for outcome in asyncio.run(fired()):
        assert not outcome.verdict.blocks
        assert outcome == Outcome()


def test_a_verdict_blocks_only_if_it_denies_and_ends_no_turn_unasked() -> None:
    assert [answer for answer in ("", "allow", "ask", "deny") if Verdict(answer).blocks is True] == ["deny"]  # type: ignore[arg-type]
    plain = Verdict()
    assert (plain.ends, plain.input, plain.output, plain.reason, plain.failed) == (False, None, None, "", "")
    assert Subagent("s1", "explore").variables == {}
