"""A shared session answers its clients on a socket of its own: state, events, answers, messages, stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.agent.ports import ApprovalResponse
from agentcli.frontends.serve import client
from agentcli.frontends.serve.control import share
from agentcli.frontends.serve.registry import FOLDER, Registration, registration, registrations
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.exporting.redactor import Redactor
from tests.frontends.serve.front import ScriptedFront, Waiting
from tests.tables import each_row

SECRET = "hunter2-is-a-secret"
TOUCH = call("bash", "c1", command=f"touch a && echo {SECRET}", description="Make a")


async def shared(tmp_path: Path, *replies: Reply, person: Waiting | None = None) -> tuple[ScriptedFront, Registration]:
    front = ScriptedFront(tmp_path, list(replies), person)
    front.sharing.start = partial(share, state=tmp_path / "state", clean=Redactor([SECRET]))
    await front.sharing.begin()
    found = registration(tmp_path / "state", front.session.journal.id)
    assert found is not None
    return front, found


async def events(to: Registration, after: str, until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    found = []
    async for item in client.follow(to, "reader", after):
        found.append(item["event"])
        if until(item["event"]):
            break
    return found


def idle(event: dict[str, Any]) -> bool:
    return event["type"] == "state" and event["state"] == "idle"


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


def test_two_answer_one_question_and_the_first_wins(tmp_path: Path) -> None:
    async def test() -> None:
        person = Waiting()
        front, to = await shared(tmp_path, say("", TOUCH), say("Done."), person=person)
        front.take("make it")
        await person.asks.wait()
        state = await client.request(to, "page", do="state")
        (question,) = state["questions"]
        assert state["state"] == "waits"
        assert question["title"] == "Run this command?"
        assert SECRET not in json.dumps(question)
        assert question["choices"][0]["choice"] == "once"
        one, two = await asyncio.gather(
            *(client.request(to, who, do="answer", hash=question["hash"], choice="no", reason=who) for who in "ab")
        )
        assert [one["ok"], two["ok"]].count(True) == 1
        late = one if not one["ok"] else two
        winner = "a" if one["ok"] else "b"
        assert (late["code"], late["by"], late["choice"]) == ("too_late", winner, "no")
        await front.done()
        again = await client.request(to, "c", do="answer", hash=question["hash"], choice="once")
        assert (again["code"], again["by"]) == ("too_late", winner)
        assert not (tmp_path / "a").exists()
        await front.sharing.end()

    run(test)


def test_the_terminal_answers_first_and_a_client_is_told(tmp_path: Path) -> None:
    async def test() -> None:
        person = Waiting()
        front, to = await shared(tmp_path, say("", TOUCH), say("Done."), person=person)
        front.take("make it")
        await person.asks.wait()
        (question,) = (await client.request(to, "page", do="state"))["questions"]
        person.answer.set_result(ApprovalResponse("no"))
        await front.done()
        late = await client.request(to, "page", do="answer", hash=question["hash"], choice="once")
        assert (late["code"], late["by"], late["choice"]) == ("too_late", "the terminal", "no")
        await front.sharing.end()

    run(test)


def test_an_answer_is_bound_to_its_question(tmp_path: Path) -> None:
    async def test() -> None:
        person = Waiting()
        front, to = await shared(tmp_path, say("", TOUCH), say("Done."), person=person)
        front.take("make it")
        await person.asks.wait()
        (question,) = (await client.request(to, "page", do="state"))["questions"]
        for key, choice in (("0" * 64, "once"), (question["call"], "once"), (question["hash"], "yolo"), ("", "once")):
            refused = await client.request(to, "page", do="answer", hash=key, choice=choice)
            assert refused["code"] == "refused"
        assert (await client.request(to, "page", do="state"))["state"] == "waits"
        await client.request(to, "page", do="stop")
        await front.done()
        assert not (tmp_path / "a").exists()
        await front.sharing.end()

    run(test)


def test_commands_are_refused_and_a_running_turn_is_steered(tmp_path: Path) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path, say("x" * 40, rate=40), say("Ok."))
        for text in ("/mode yolo", "!touch a", "  !touch a", "", "x" * 200_000):
            assert (await client.request(to, "page", do="say", text=text))["code"] == "refused"
        front.take("begin")
        await asyncio.sleep(0)
        assert (await client.request(to, "page", do="say", text="and this"))["how"] == "steered"
        await client.request(to, "page", do="stop")
        await front.done()
        await front.sharing.end()

    run(test)


@each_row(
    "sent",
    [
        b'{"secret": "wrong"}\n{"do": "state"}\n',
        b'{"do": "state"}\n',
        b'{"secret": null}\n{"do": "state"}\n',
        b'["secret"]\n',
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff\xfe\n",
        b"x" * 2_000_000,
        b"",
    ],
)
def test_without_the_secret_the_socket_says_nothing(tmp_path: Path, sent: bytes) -> None:
    async def test() -> None:
        front, to = await shared(tmp_path, say("Hi."))
        reader, writer = await asyncio.open_unix_connection(to.socket)
        writer.write(sent)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        assert (await client.request(to, "page", do="state"))["ok"]
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


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    live = tmp_path / "state" / FOLDER
    live.mkdir(parents=True)
    left = {"session": "20260101-000000-aaaaaaa", "pid": 2**22 + 1, "socket": str(live / "1-a.sock"), "secret": "s"}
    (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(left))
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(left["socket"])
    (live / "other.json").write_text("{")
    assert list(registrations(tmp_path / "state")) == []
    assert [file.name for file in live.iterdir()] == ["other.json"]


@each_row("place", ["notes.txt", "agent.sock", "live/kept.txt", "agentcli-mine/s"])
def test_what_a_stale_registration_names_is_removed_only_if_a_session_made_it(tmp_path: Path, place: str) -> None:
    live, named = tmp_path / FOLDER, tmp_path / place
    for each in (live, named.parent):
        each.mkdir(exist_ok=True)
    if named.suffix == ".txt":
        named.touch()
    else:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(named))
    left = {"session": "20260101-000000-aaaaaaa", "pid": 2**22 + 1, "socket": str(named), "secret": "s"}
    (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(left))
    assert list(registrations(tmp_path)) == []
    assert named.exists()
    assert not (live / "20260101-000000-aaaaaaa.json").exists()


def test_a_session_that_is_too_busy_to_answer_is_still_registered(tmp_path: Path) -> None:
    live = tmp_path / "state" / FOLDER
    live.mkdir(parents=True)
    with contextlib.ExitStack() as opened:
        full = opened.enter_context(socket.socket(socket.AF_UNIX))
        full.bind(str(live / "1-a.sock"))
        full.listen(0)
        for _ in range(3):  # more than wait for an answer
            waiting = opened.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(str(live / "1-a.sock"))
        kept = {"session": "20260101-000000-aaaaaaa", "pid": 1, "socket": str(live / "1-a.sock"), "secret": "s"}
        (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(kept))
        assert [found.pid for found in registrations(tmp_path / "state")] == [1]


def test_a_session_that_is_not_shared_encodes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        front, _ = await shared(tmp_path, say("word " * 50))
        front.take("hi")
        await front.done()
        share_ = front.sharing.share
        assert not share_.feed._kept  # type: ignore[union-attr]
        await front.sharing.end()

    run(test)
