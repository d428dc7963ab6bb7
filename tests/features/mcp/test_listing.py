"""Prompts and resources of servers in what the person sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentcli.core.message import Image
from agentcli.providers.scripted.model import say
from tests.agent.open_session import ended, messages, open_session, say_to
from tests.features.mcp.played_servers import STATUS, Played


def prompted(session: Any) -> list[Any]:
    return [
        part for message in messages(session)[:1] for part in message.parts if not getattr(part, "synthetic", False)
    ]


def test_a_prompt_of_a_server_is_sent_with_its_arguments_by_position(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    assert session.prompt_files.is_entry("/git:explain HEAD")
    assert session.prompt_files.is_entry("/mcp__git__explain HEAD")
    assert not session.prompt_files.is_entry("/git:other")
    say_to(session, '/git:explain "HEAD~1" very short')
    assert [part.text for part in prompted(session)] == ["Explain {'commit': 'HEAD~1', 'style': 'very short'}"]


def test_a_prompt_of_a_server_without_what_it_requires_says_so(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    assert "needs commit. Use /git:explain COMMIT [STYLE]" in str(ended(say_to(session, "/git:explain")).error)


def test_a_mentioned_resource_is_attached(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    say_to(session, "what about @git:note://1, and @nobody:else or a@git:b?")
    attached, typed = prompted(session)
    assert (attached.path, attached.text) == ("git:note://1", "buy milk")
    assert typed.text.startswith("what about")
    say_to(session, "and @git:song://1")
    newest = messages(session)[-2].parts
    assert [part.text for part in newest if getattr(part, "path", "")] == [
        "[blob audio/mpeg song://1: 3 bytes, not kept: this session is not stored]"
    ]
    say_to(session, "and @git:picture://true and @git:picture://false")
    true, false, _ = (part for part in messages(session)[-2].parts if not getattr(part, "synthetic", False))
    assert isinstance(true, Image)
    assert false.text == "[blob image/png picture://false: 10 bytes, not kept: this session is not stored]"
    assert "Can't read @git:gone: no such resource" in str(ended(say_to(session, "and @git:gone")).error)
