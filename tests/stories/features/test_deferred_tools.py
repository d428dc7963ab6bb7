"""Tools that Claude loads by references in the results of searches, and what other endpoints get in their place."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.message import Message, ToolResult
from agentcli.providers.scripted.model import Reply, call, say
from tests.features.mcp.running import fake
from tests.features.mcp.server_runs import ATTENDED, closing, define, head, options, program, turn
from tests.loopback.plan import Asked, Refuse
from tests.loopback.server import Loopback


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def prompt(asked: Asked) -> str:
    """The text of the newest message of the user; a reminder may stand behind it."""
    newest = [turn for turn in asked.turns if turn["role"] != "system"][-1]
    return "\n".join(block.get("text", "") for block in newest.get("content") or newest["parts"])


def says(asked: Asked) -> Reply:
    """A call where the newest prompt asks for one, with a thought before it; else a word."""
    wanted = re.search(r"^(find|call) (\w+)", prompt(asked), re.MULTILINE)
    if wanted is None:
        return say("Done.")
    does = call("mcp_search", query=f"select:{wanted[2]}") if wanted[1] == "find" else call(wanted[2], text="hello")
    return say("", does, thinking="I will look.")


def tools(asked: Asked) -> list[dict[str, Any]]:
    return json.loads(asked.body)["tools"]  # type: ignore[no-any-return]


def results(asked: Asked) -> list[Any]:
    messages = json.loads(asked.body)["messages"]
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def given(project: Path, model: str = "anthropic/claude-opus-5-5", deferred: str = "on") -> Any:
    settings = ("agent.titles=false", "mcp.upfront_tokens=0", f"mcp.deferred={deferred}")
    return options(project, model=model, settings=settings)


PROMPTS = ("find mcp__one__echo", "call mcp__one__echo", "find mcp__one__peek", "call mcp__one__peek", "bye")
ECHO, PEEK = ({"type": "tool_reference", "tool_name": f"mcp__one__{name}"} for name in ("echo", "peek"))


async def turns(session: Any, *prompts: str) -> None:
    for prompt in prompts:
        await turn(session, prompt)


def test_what_a_search_finds_becomes_a_tool_of_claude_and_the_beginning_stays_as_it_was(project: Path) -> None:
    define(project, one=fake())
    with Loopback(says) as server:
        with program(given(project), front_end=ATTENDED, **server.env) as run:
            session = run.sessions.new()
            asyncio.run(closing(session, turns(session, *PROMPTS)))
            journal, count = session.journal, len(server.requests)
        (project / ".mcp.json").unlink()
        with program(given(project, deferred="off"), **server.env) as run:
            again = run.sessions.session_for(journal)
            asyncio.run(closing(again, turns(again, "and now?")))
    last, resumed = server.requests[count - 1], server.requests[-1]
    assert {tool["name"]: tool.get("defer_loading") for tool in tools(last) if tool["name"].startswith("mcp_")} == {
        "mcp_search": None,
        "mcp_call": None,
        "mcp__one__echo": True,
        "mcp__one__peek": True,
    }
    assert results(last) == [[ECHO], "hello", [PEEK], "hello"]
    assert {head(asked, deferred=False) for asked in server.requests[:count]} == {head(last, deferred=False)}
    assert all(asked.usage for asked in server.requests)
    outputs = [entry.body.output for entry in journal.history.entries if isinstance(entry.body, ToolResult)]
    assert outputs[0].startswith("mcp__one__echo: Say a text again.")
    bodies = [entry.body for entry in journal.history.entries]
    _, *later = [body.usage for body in bodies if isinstance(body, Message) and body.usage][:count]
    assert sum(usage.cache_read for usage in later) / sum(usage.prompt for usage in later) >= 0.9
    assert head(resumed, deferred=False) == head(last, deferred=False)


@pytest.mark.parametrize(
    ("model", "deferred"),
    [
        ("anthropic/claude-opus-5-5", "off"),
        ("anthropic/claude-opus-5-5", "auto"),  # not the vendor's own address
        pytest.param("google/gemini-3.8-flash", "on", marks=pytest.mark.full),
    ],
)
def test_everywhere_else_a_search_answers_with_the_definitions_as_text(
    project: Path, model: str, deferred: str
) -> None:
    define(project, one=fake())
    with Loopback(says) as server, program(given(project, model, deferred), front_end=ATTENDED, **server.env) as run:
        session = run.sessions.new()
        asyncio.run(closing(session, turns(session, *PROMPTS[:2])))
        sent = b"".join(asked.body for asked in server.requests)
    assert b"defer_loading" not in sent
    assert b"tool_reference" not in sent
    assert b"mcp__one__echo: Say a text again." in sent


def test_an_endpoint_that_refuses_them_gets_the_text_at_once_and_the_turn_goes_on(project: Path) -> None:
    define(project, one=fake())

    def refusing(asked: Asked) -> Any:
        if b"defer_loading" in asked.body:
            return Refuse(400, message="tools.12.custom.defer_loading: Extra inputs are not permitted")
        return says(asked)

    with Loopback(refusing) as server, program(given(project), front_end=ATTENDED, **server.env) as run:
        session = run.sessions.new()
        asyncio.run(closing(session, turns(session, *PROMPTS[:2])))
        first, *_, last = [asked for asked in server.requests if results(asked)]
    assert results(first) == [[ECHO]]
    assert results(last)[0].startswith("mcp__one__echo: Say a text again.")
    assert results(last)[1:] == ["hello"]
