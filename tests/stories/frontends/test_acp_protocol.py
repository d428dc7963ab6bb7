"""The agent's side of the protocol, request by request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import AudioContentBlock, TextContentBlock

from agentcli.frontends.acp.session import EVERY, TAIL_CHARACTERS, OutputTails
from agentcli.frontends.acp.stdio import LINE_BYTES
from tests.frontends.acp.editor import Json, editing, in_loop

READ: Json = {"name": "read", "input": {"file_path": "a.py"}}
RUN: Json = {"name": "bash", "input": {"command": "touch x"}}


async def code_of(request: Awaitable[Any]) -> tuple[int, str]:
    """The error that a request is answered with."""
    with pytest.raises(RequestError) as refused:
        await request
    return refused.value.code, str(refused.value)


@in_loop
async def test_the_first_answer_states_version_and_capabilities(tmp_path: Path) -> None:
    async with editing(tmp_path) as editor:
        for version in (1, 7):
            answer = await editor.connection.initialize(protocol_version=version)
            assert answer.protocol_version == 1
        given: Json = answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        assert given["agentInfo"]["name"] == "agentcli"
        assert not given.get("authMethods")
        capabilities = given["agentCapabilities"]
        assert capabilities["loadSession"] is True
        assert capabilities["promptCapabilities"] == {"image": True, "embeddedContext": True}
        assert capabilities["mcpCapabilities"] == {"http": True, "sse": True}
        offered = {"list", "resume", "close", "fork", "additionalDirectories"}
        assert set(capabilities["sessionCapabilities"]) == offered
        assert (await code_of(editor.connection.authenticate(method_id="key")))[0] == -32601


@in_loop
async def test_further_folders_are_part_of_the_workspace(tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "far.py").write_text("far = 1\n")
    read: Json = {"name": "read", "input": {"file_path": str(more / "far.py")}}
    async with editing(tmp_path, {"calls": [read]}, {"text": "ok"}) as editor:
        session = await editor.new(additional_directories=[str(more)])
        await editor.say(session, "go")
        assert editor.person.questions == []
        assert "far = 1" in str(editor.person.of("tool_call_update"))
        assert (await code_of(editor.new(additional_directories=["more"])))[0] == -32602
        assert (await code_of(editor.new(additional_directories=[str(more / "none")])))[0] == -32602


@in_loop
async def test_what_cannot_be_answered_has_a_code_of_its_own(tmp_path: Path) -> None:
    async with editing(tmp_path, {"calls": [RUN]}, {"text": "ok"}, choose=lambda _: "wait") as editor:
        connection, cwd = editor.connection, str(editor.work)
        session = await editor.new()
        other = "20260101-000000-x"
        for request in (
            editor.say(other, "hi"),
            connection.close_session(session_id=other),
            connection.set_session_mode(session_id=other, mode_id="plan"),
            connection.resume_session(cwd=cwd, session_id=other),
            connection.fork_session(cwd=cwd, session_id=other),
        ):
            assert (await code_of(request))[0] == -32002
        assert (await code_of(connection.list_sessions(cwd=cwd, cursor=other)))[0] == -32602
        assert (await code_of(editor.say(session, "  ")))[0] == -32602
        audio = AudioContentBlock(type="audio", data="", mime_type="audio/wav")
        assert (await code_of(connection.prompt(session_id=session, prompt=[audio])))[0] == -32602
        turn = asyncio.create_task(editor.say(session, "go"))
        await editor.person.asked.wait()
        busy = (-32600, "A turn is running; cancel it first.")
        assert await code_of(editor.say(session, "meanwhile")) == busy
        assert await code_of(connection.set_config_option("model", session, "script:echo")) == busy
        assert await code_of(connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])) == busy
        assert await code_of(connection.resume_session(cwd=cwd, session_id=session, mcp_servers=[])) == busy
        await connection.set_session_mode(session_id=session, mode_id="plan")
        async with editing(tmp_path, {"text": "ok"}) as second:
            load = second.connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])
            assert (await code_of(load))[0] == -32600
        await connection.cancel(session_id=session)
        assert await turn == "cancelled"


@in_loop
async def test_pieces_of_one_message_have_one_id_and_a_turn_has_its_usage(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").touch()
    replies = [
        {"thinking": "so so", "text": "Let me look at it.", "calls": [READ], "usage": {"input": 10, "output": 5}},
        {"text": "It is empty, quite."},
    ]
    async with editing(tmp_path, *replies) as editor:
        session = await editor.new()
        block = TextContentBlock(type="text", text="go")
        answer = await editor.connection.prompt(session_id=session, prompt=[block])
        texts: dict[str, str] = defaultdict(str)
        for update in (*editor.person.of("agent_thought_chunk"), *editor.person.of("agent_message_chunk")):
            texts[update["messageId"]] += update["content"]["text"]
        assert [*texts.values()] == ["so so", "Let me look at it.", "It is empty, quite."]
        assert answer.usage is not None
        assert answer.usage.total_tokens >= answer.usage.output_tokens > 0
        assert [update["cost"]["currency"] for update in editor.person.of("usage_update")] == ["USD"] * len(replies)
        assert editor.person.of("tool_call")[0]["rawInput"] == READ["input"]


@in_loop
async def test_output_is_sent_by_its_tail_and_not_for_each_piece() -> None:
    sent: list[str] = []
    arrived = asyncio.Event()

    async def send(call_id: str, tail: str) -> None:
        sent.append(tail)
        arrived.set()

    assert EVERY == 0.25
    tails = OutputTails(send, every=3600)
    for _ in range(100):
        tails.add("c1", "x" * TAIL_CHARACTERS)
    await arrived.wait()
    tails.add("c1", "more")
    for _ in range(10):
        await asyncio.sleep(0)
    await tails.end("c1")
    assert sent == ["x" * TAIL_CHARACTERS]


@in_loop
async def test_an_approval_offers_once_session_always_and_no(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("hi\n")
    edit = {"name": "edit", "input": {"file_path": "a.py", "old_string": "hi", "new_string": "ho"}}
    async with editing(tmp_path, {"calls": [edit]}, {"text": "ok"}, choose=lambda _: "session") as editor:
        await editor.say(await editor.new(), "go")
        [question] = editor.person.questions
        kinds = [(option["optionId"], option["kind"]) for option in question["options"]]
        assert kinds == [
            ("once", "allow_once"),
            ("session", "allow_always"),
            ("always", "allow_always"),
            ("no", "reject_once"),
        ]


@in_loop
async def test_a_client_that_goes_with_a_question_open_has_denied_it(tmp_path: Path) -> None:
    async with editing(tmp_path, {"calls": [RUN]}, choose=lambda _: "wait") as editor:
        session = await editor.new()
        turn = asyncio.create_task(editor.say(session, "go"))
        await editor.person.asked.wait()
    await asyncio.gather(turn, return_exceptions=True)
    assert not (tmp_path / "work" / "x").exists()
    async with editing(tmp_path, {"text": "Here again."}) as editor:
        await editor.connection.resume_session(cwd=str(editor.work), session_id=session, mcp_servers=[])
        assert await editor.say(session, "go on") == "end_turn"


def test_a_message_may_have_32_megabytes() -> None:
    assert LINE_BYTES == 32 * 1024 * 1024
