"""Later requests of a model are like its first one."""

from __future__ import annotations

import asyncio
import gc
import warnings
from dataclasses import replace
from typing import Any

import pytest

from agentcli.core.model import ContextEdits
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import RetryPolicy
from tests.loopback import Bytes, Loopback, Plan, Raw, Refuse
from tests.providers.hearing import BOTH, Heard, connected, hear, request
from tests.tables import each_row


def heard_in_turn(server: Loopback, name: str, count: int, **settings: Any) -> list[Heard]:
    async def run() -> list[Heard]:
        model = connected(server, name, **settings)
        heard = [await hear(model, request(model.spec, "hello")) for _ in range(count)]
        await model.close()
        return heard

    return asyncio.run(run())


@each_row("name", BOTH)
@pytest.mark.parametrize("headers", [{}, {"Cookie": "session=1", "X-Own": "2"}])
def test_all_requests_have_the_headers_of_the_first(name: str, headers: dict[str, str]) -> None:
    with Loopback([say("one"), say("two"), say("three")]) as server:
        replies = heard_in_turn(server, name, 3, headers=headers)
        assert [heard.text for heard in replies] == ["one", "two", "three"]
    first, *others = server.asked
    assert [first.headers[given.lower()] for given in headers] == [*headers.values()]
    for other in others:
        assert (other.path, other.headers, other.body) == (first.path, first.headers, first.body)


@pytest.mark.parametrize("name", BOTH)
def test_a_cookie_of_the_server_is_sent_in_its_newest_form(name: str) -> None:
    def refuse(cookie: str) -> Refuse:
        return Refuse(500, headers={"set-cookie": f"route={cookie}"})

    with Loopback([refuse("a"), say("one"), refuse("b"), say("two")]) as server:
        heard_in_turn(server, name, 4)
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, "route=a", "route=a", "route=b"]


def test_a_request_with_other_headers_of_its_own_has_these() -> None:
    with Loopback([say("ok")] * 4) as server:

        async def run() -> None:
            model = connected(server, "opus")
            plain = request(model.spec, "hello")
            for asked in (
                plain,
                edited := replace(plain, context_edits=ContextEdits(trigger=50_000, keep=3)),
                edited,
                plain,
            ):
                assert (await hear(model, asked)).error is None
            await model.close()

        asyncio.run(run())
    assert ["anthropic-beta" in asked.headers for asked in server.asked] == [False, True, True, False]


@each_row("name", BOTH)
@pytest.mark.parametrize(
    ("answer", "cause", "words"),
    [
        (Refuse(401, message="no such key"), "auth", "no such key"),
        (Refuse(429, message="slowly"), "rate_limit", "slowly"),
        (Refuse(400, message="prompt is too long: 9 tokens > 5 maximum"), "too_long", "9 tokens > 5"),
        (Refuse(500, body=b"out of order"), "server", "500"),
        (Bytes(b"<html>Sign in</html>", "text/html"), "no_api", "not the address of an API"),
        (Raw([]), "network", "cut off"),
    ],
)
def test_a_later_request_that_fails_has_the_error_of_a_first_one(
    name: str, answer: Refuse | Bytes | Raw, cause: str, words: str
) -> None:
    def error(plan: Plan) -> tuple[str, str]:
        with Loopback(plan) as server:
            failed = heard_in_turn(server, name, len(server.plan))[-1].error  # type: ignore[arg-type]
        assert failed is not None
        return failed.cause, str(failed)

    later = error([say("one"), answer])
    assert later == error([answer])
    assert later[0] == cause
    assert words in later[1]


@pytest.mark.full
def test_a_connection_of_an_event_loop_that_has_ended_counts_as_lost() -> None:
    def texts(server: Loopback) -> list[str]:
        model = connected(server, "haiku", retry=RetryPolicy(attempts=3, first=0.001))
        return [asyncio.run(hear(model, request(model.spec, "hello"))).text for _ in range(2)]

    with Loopback([say("one"), *[say("two")] * 4]) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # nobody can close what belongs to the other loop
        assert texts(server) == ["one", "two"]
        gc.collect()
