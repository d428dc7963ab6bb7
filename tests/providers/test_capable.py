"""A model that continues after a refusal."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.core.model import Request
from agentcli.providers.capable import CapableModel
from agentcli.providers.catalog import spec
from agentcli.providers.endpoint_facts import EndpointMemory
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
