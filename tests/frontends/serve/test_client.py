"""Clients of control sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

from agentcli.agent.ports import ApprovalResponse
from agentcli.frontends.serve import client
from agentcli.frontends.serve.registry import Registration
from agentcli.providers.scripted.model import call, say
from tests.frontends.serve.front import ScriptedFront, Waiting
from tests.frontends.serve.test_control import SECRET, run, shared
from tests.tables import each_row

TOUCH = call("bash", "c1", command=f"touch a && echo {SECRET}", description="Make a")


async def asking(folder: Path) -> tuple[ScriptedFront, Registration, Waiting, dict[str, Any]]:
    """A shared session that waits for an answer: its front end, its place, its person and its question."""
    person = Waiting()
    front, to = await shared(folder, say("", TOUCH), say("Done."), person=person)
    front.take("make it")
    await person.asks.wait()
    state = await client.request(to, "page", do="state")
    assert state["state"] == "waits"
    (question,) = state["questions"]
    return front, to, person, question


def test_two_answer_one_question_and_the_first_wins(tmp_path: Path) -> None:
    async def test() -> None:
        front, to, _, question = await asking(tmp_path)
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
        front, to, person, question = await asking(tmp_path)
        person.answer.set_result(ApprovalResponse("no"))
        await front.done()
        late = await client.request(to, "page", do="answer", hash=question["hash"], choice="once")
        assert (late["code"], late["by"], late["choice"]) == ("too_late", "the terminal", "no")
        await front.sharing.end()

    run(test)


def test_an_answer_is_bound_to_its_question(tmp_path: Path) -> None:
    async def test() -> None:
        front, to, _, question = await asking(tmp_path)
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
