"""Gemini through the official SDK's public client: the Gemini API with a key, or Vertex AI with the machine's account."""

from __future__ import annotations

import asyncio

from agentcli.providers.catalog import spec
from agentcli.providers.google.api import GoogleApi
from agentcli.providers.google.request import Former, to_json
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import BUILT_IN
from tests.loopback import Loopback
from tests.providers.hearing import request


def test_requests_at_the_same_time_share_the_connections_of_the_sdk() -> None:
    async def run(server: Loopback) -> None:
        api, made = GoogleApi(BUILT_IN["google"], "loopback-key", server.url), request(spec("flash"), "a")
        for _ in range(3):
            await asyncio.gather(api.count(made), api.count(made))
        await api.close()

    with Loopback([]) as server:
        asyncio.run(run(server))
        assert len(server.asked) == 6
        assert server.connections <= 2


def test_a_body_is_sent_as_made_here_and_its_name_stays_in_the_process() -> None:
    made = request(spec("flash"), "a \u00e9", system=("be brief",))

    async def run(server: Loopback) -> None:
        api = GoogleApi(BUILT_IN["google"], "loopback-key", server.url)
        for _ in range(2):
            assert [chunk async for chunk in api.chunks(*api.formed(made))]
        assert not api._bodies
        await api.close()

    with Loopback([say("one"), say("two")]) as server:
        asyncio.run(run(server))
    body = to_json(made, BUILT_IN["google"], Former())
    assert [asked.body for asked in server.asked] == [body, body]
    assert not [name for asked in server.asked for name in asked.headers if name.startswith("x-agentcli")]
