"""Sessions in the formats of Claude Code and Codex: what the readers of those formats find again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction
from agentcli.extras.exporters import claude_code, codex
from agentcli.extras.exporters.conversation import Conversation, conversation
from agentcli.extras.importers.sessions import read
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.info import SessionInfo, Times

INFO = SessionInfo(
    "20261127-101112-abc", "p", "/home/dev/my shop.d", name="A name", time=Times("2026-11-27T10:11:12.000Z")
)
CALL = ToolCall("c1", "bash", {"command": "pytest -q"})
EDIT = ToolCall("c2", "edit", {"file_path": "/a.py", "old_string": "1", "new_string": "2"})
WORK: tuple[Body, ...] = (
    Message("user", (Text("Fix a.py; never touch the tests."), Text("It is Friday.", True, "reminder"))),
    Message("assistant", (Thinking("hm", "signed"), Text("I look."), CALL, EDIT), provider="anthropic", model="m"),
    ToolResult("c2", "edit", "error", "not found"),
    ToolResult("c1", "bash", "success", "1 failed"),
    Message("assistant", (Text("Not yet."),), provider="anthropic", model="m"),
    Message("user", (Text("Go on."),)),
    Message("assistant", (Text("Done: 2."),), provider="openai", model="gpt-5.5"),
)  # fmt: skip
FORMS: dict[str, Callable[[Conversation], Any]] = {"claude-code": claude_code.lines, "codex": codex.lines}


def exported(*bodies: Body, clean: Callable[[str], str] = str) -> Conversation:
    session = MemorySession()
    for body in bodies:
        session.append(body)
    return conversation(INFO, list(session.records()), clean)


def found_again(form: str, whole: Conversation, folder: Path) -> Sequence[Body]:
    """What the reader of the format, made from files of the other program, finds."""
    file = folder / "session.jsonl"
    file.write_text("".join(FORMS[form](whole)))
    return [body for _, body in read(file).bodies if isinstance(body, Message | ToolResult | Compaction)]


def told(bodies: Sequence[Body]) -> list[tuple[Any, ...]]:
    """Prompts, texts, calls and results in their order; calls of one reply are one with it."""
    rows: list[tuple[Any, ...]] = []
    for body in bodies:
        match body:
            case Message() as message:
                own = [part.text for part in message.parts if isinstance(part, Text) and not part.synthetic]
                calls = [(call.call_id, call.name, dict(call.input)) for call in message.calls]
                rows.append((message.role, own, calls))
            case ToolResult() as result:
                rows.append(("result", result.call_id, result.output))
            case _:
                pass
    return rows


@pytest.mark.parametrize("form", FORMS)
def test_every_prompt_call_and_result_is_found_again_in_order(form: str, tmp_path: Path) -> None:
    ordered = (*WORK[:2], WORK[3], WORK[2], *WORK[4:])  # results in the order of their calls
    assert told(found_again(form, exported(*WORK), tmp_path)) == told(ordered)


@pytest.mark.parametrize("form", FORMS)
def test_all_texts_are_cleaned(form: str) -> None:
    secret = "s3cret"
    parts = (Text(f"use {secret}", meta={"agentcli": {"line": f"/use {secret}"}}),)
    call = ToolCall("c1", "bash", {"command": f"echo {secret}"})
    bodies = (
        Message("user", parts),
        Message("assistant", (Text(secret), call)),
        ToolResult("c1", "bash", "success", secret, metadata={"x": secret}, title=secret),
        Compaction("auto", "compressed", "auto", (1, 3), 5, secret),
    )
    text = "".join(FORMS[form](exported(*bodies, clean=lambda text: text.replace(secret, "***"))))
    assert "***" in text
    assert secret not in text
