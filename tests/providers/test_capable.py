"""A model that continues after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentcli.core.model import Request
from agentcli.providers.capable import CapableModel
from agentcli.providers.catalog import spec
from agentcli.providers.endpoint_facts import EndpointMemory, Learnt
from agentcli.providers.scripted.model import Reply, ScriptedModel, say
from tests.providers.hearing import request
from tests.providers.test_context_windows import server


def test_the_window_with_which_a_model_was_loaded_counts_once_it_has_answered() -> None:
    answers: dict[str, Any] = {"/api/show": {"model_info": {"llama.context_length": 131_072}}}

    def loads_it(_: Request) -> Reply:
        answers["/api/ps"] = {"models": [{"name": "small:latest", "context_length": 4_096}]}
        return say("hi")

    async def windows(url: str) -> list[int]:
        found = spec("ollama/small")
        model = CapableModel(ScriptedModel(found, loads_it), {}, EndpointMemory(), url)
        await model.prepare()
        before = model.spec.window
        async for _ in model.stream(request(found, "hello")):
            pass
        return [before, model.spec.window]

    with server(answers) as url:
        assert asyncio.run(windows(url)) == [131_072, 4_096]


class Looked(EndpointMemory):
    """A memory that counts how often it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def all(self) -> Mapping[str, Learnt]:
        self.times += 1
        return super().all()


def test_what_an_endpoint_lacks_is_looked_up_once_a_request() -> None:
    async def run() -> tuple[int, bool]:
        found, memory = spec("opus"), Looked()
        model = CapableModel(ScriptedModel(found, lambda _: say("hi")), {}, memory)
        memory.learn(found.name, lacking=["context_editing", "usage"])
        memory.times = 0
        async for _ in model.stream(request(found, "hello")):
            assert not model.spec.context_editing
        return memory.times, model.spec.context_editing

    assert asyncio.run(run()) == (1, False)
