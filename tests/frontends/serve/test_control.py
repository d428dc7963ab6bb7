"""A shared session answers its clients on a socket of its own: state, events, answers, messages, stop."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.core.event import TextDelta, ThinkingDelta, TurnEnded
from agentcli.frontends.serve import client
from agentcli.frontends.serve.control import share
from agentcli.frontends.serve.registry import FOLDER, Registration, registration
from agentcli.frontends.serve.shared import JOINED
from agentcli.providers.scripted.model import Reply, say
from agentcli.sessions.exporting.redactor import Redactor
from tests.frontends.serve.front import ScriptedFront, Waiting

SECRET = "hunter2-is-a-secret"


async def shared(tmp_path: Path, *replies: Reply, person: Waiting | None = None) -> tuple[ScriptedFront, Registration]:
    front = ScriptedFront(tmp_path, list(replies), person)
    front.sharing.start = partial(share, state=tmp_path / "state", clean=Redactor([SECRET]))
    await front.sharing.begin()
    found = registration(tmp_path / "state", front.session.journal.id)
    assert found is not None
    return front, found


async def events(to: Registration, after: str, until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    found = []
    async for batch in client.follow(to, "reader", after):
        found += [dict(item.event) for item in batch]
        if any(map(until, found)):
            break
    return found


def idle(event: dict[str, Any]) -> bool:
    return event["type"] == "state" and event["state"] == "idle"


def ended(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "turn_ended")


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


def test_a_client_sends_a_message_and_follows_the_turn(tmp_path: Path) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path, say(f"Hello, {SECRET} and more. " * 3))
        state = await client.request(to, "page", do="state")
        reading = asyncio.ensure_future(events(to, state["cursor"], idle))
        begun = await client.request(to, "page", do="say", text="hi")
        assert (begun["how"], begun["turn"]) == ("begun", 1)
        found = await reading
        ends = [(each["turn"], each["ending"]) for each in found if each["type"] == "turn_ended"]
        assert ends == [(1, "done")]
        assert SECRET not in json.dumps(found)
        whole = [each["text"] for each in found if each["type"] == "message" and not each.get("delta")]
        assert whole == ["hi", "Hello, [redacted secret] and more. " * 3]
        deltas = "".join(each["text"] for each in found if each.get("delta"))
        assert whole[1].startswith(deltas.rstrip())
        assert len(deltas) > 60
        assert front.told == ["Message from page."]
        await front.sharing.end()
        assert not list((tmp_path / "state" / FOLDER).iterdir())

    run(test)


def test_each_of_many_readers_gets_the_whole_text_in_few_events(tmp_path: Path) -> None:
    async def test() -> None:
        text = "A word and some more of them. " * 400
        front, to = await shared(tmp_path, say(text))
        state = await client.request(to, "page", do="state")
        reading = [asyncio.ensure_future(events(to, state["cursor"], idle)) for _ in range(20)]
        await client.request(to, "page", do="say", text="hi")
        for found in await asyncio.gather(*reading):
            pieces = [each["text"] for each in found if each.get("delta")]
            assert "".join(pieces) == text
            assert len(pieces) < 60  # of more than a thousand
        await front.sharing.end()

    run(test)


def test_pieces_of_texts_are_gathered_and_keep_their_order(tmp_path: Path) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path)
        share_ = front.sharing.share
        start = (await client.request(to, "page", do="state"))["cursor"]
        pieces = [f"word{n} " for n in range(1000)]
        for piece in pieces:
            share_.show(TextDelta(piece))
        state = await client.request(to, "page", do="state")  # what comes now has another id
        for piece in pieces:
            share_.show(TextDelta(piece))
        share_.show(ThinkingDelta("so "))
        share_.show(TextDelta("and "))
        share_.turned()
        share_.show(TurnEnded("done"))
        found = await events(to, start, ended)
        texts = [each["text"] for each in found if each.get("delta")]
        assert texts == ["".join(pieces), "".join(pieces), "so ", "and "]
        assert state["partial"]["text"] == texts[0]
        assert [each.get("text") for each in await events(to, state["cursor"], ended)][:3] == texts[1:]
        await front.sharing.end()

    run(test)


def test_no_event_of_a_text_becomes_long_while_no_reader_takes_it(tmp_path: Path) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path)
        start = (await client.request(to, "page", do="state"))["cursor"]
        for _ in range(20_000):
            front.sharing.share.show(TextDelta("word and " * 3))
        front.sharing.share.show(TurnEnded("done"))
        found = await events(to, start, ended)
        sizes = [len(each["text"]) for each in found if each.get("delta")]
        assert sum(sizes) == 20_000 * 27
        assert max(sizes) < JOINED + 100
        await front.sharing.end()

    run(test)


def test_secrets_are_searched_once_for_all_pieces_of_a_while(tmp_path: Path) -> None:
    async def test() -> None:
        searched = []

        def clean(text: str) -> str:
            searched.append(text)
            return text

        front = ScriptedFront(tmp_path, [])
        front.sharing.start = partial(share, state=tmp_path / "state", clean=clean)
        await front.sharing.begin()
        to = registration(tmp_path / "state", front.session.journal.id)
        assert to is not None
        start = (await client.request(to, "page", do="state"))["cursor"]
        for n in range(2000):
            front.sharing.share.show(TextDelta(f"word{n} "))
        front.sharing.share.show(TurnEnded("done"))
        await events(to, start, ended)
        assert len(searched) < 10
        await front.sharing.end()

    run(test)


def test_the_socket_and_its_secret_are_for_the_owner_alone(tmp_path: Path) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path, say("Hi."))
        file = tmp_path / "state" / FOLDER / f"{to.session}.json"
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(to.socket).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(Path(to.socket).parent).st_mode) == 0o700
        await front.sharing.end()

    run(test)


def test_a_session_that_is_not_shared_encodes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        front, _ = await shared(tmp_path, say("word " * 50))
        front.take("hi")
        await front.done()
        share_ = front.sharing.share
        assert not share_.feed._kept  # type: ignore[union-attr]
        await front.sharing.end()

    run(test)
