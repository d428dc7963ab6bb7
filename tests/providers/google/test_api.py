"""Gemini through the official SDK's public client: the Gemini API with a key, or Vertex AI with the machine's account."""

from __future__ import annotations

import asyncio

from agentcli.providers.catalog import spec
from agentcli.providers.google.api import GoogleApi
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
