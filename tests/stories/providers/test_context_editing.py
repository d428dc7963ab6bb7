"""Context editing by Anthropic's API: its field and header, its report, and endpoints that know nothing of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from agentcli.core.event import Noticed
from agentcli.core.message import Text, ToolCall, ToolResult
from agentcli.core.model import ContextEdits, EditsApplied, RequestMessage
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.endpoint_facts import EndpointMemory
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from tests.loopback import Asked, Loopback, Refuse
from tests.loopback.plan import Answer
from tests.providers.hearing import ONCE, connected, hear, request

EDITS = ContextEdits(9_000, 3, 2_000, exclude=("todo",), inputs=("edit", "write"))
OPUS = spec("opus")


def turns(count: int) -> list[RequestMessage]:
    made = [RequestMessage("user", (Text("Read."),))]
    for n in range(count):
        call = ToolCall(f"c{n}", "read", {"file_path": f"f{n}"})
        made.append(RequestMessage("assistant", (call,), "anthropic", "x"))
        made.append(RequestMessage("user", (ToolResult(call.call_id, "read", "success", "line " * 500),)))
    return made


def test_the_report_is_heard_and_a_count_is_of_what_is_left() -> None:
    with Loopback([say("x"), say("x")]) as server:

        async def run() -> None:
            model = connected(server, "opus")
            asked = request(model.spec, *turns(8), context_edits=ContextEdits(1_000, 2))
            heard = await hear(model, asked)
            assert heard.error is None
            [report] = [step for step in heard.steps if isinstance(step, EditsApplied)]
            assert report.tool_uses == 6
            assert report.tokens > 2_000
            assert await model.count(asked) == heard.usage.prompt
            whole = await hear(model, replace(asked, context_edits=None))
            assert not [step for step in whole.steps if isinstance(step, EditsApplied)]
            assert whole.usage.prompt == heard.usage.prompt + report.tokens
            await model.close()  # type: ignore[attr-defined]

        asyncio.run(run())


def test_an_endpoint_that_refuses_the_field_is_asked_without_and_this_is_remembered(tmp_path: Path) -> None:
    memory = EndpointMemory(tmp_path / "endpoints.json")

    def picky(asked: Asked) -> Answer:
        if "context_management" in asked.json:
            return Refuse(400, message="context_management: Extra inputs are not permitted")
        return say("fine")

    with Loopback(picky, strict=False) as server:

        async def run() -> list[str]:
            model = connect(OPUS, BUILT_IN["anthropic"], server.env, ONCE, memory=memory)
            heard = await hear(model, request(OPUS, "hello", context_edits=EDITS))
            assert heard.text == "fine"
            assert not model.spec.context_editing
            await model.close()  # type: ignore[attr-defined]
            return [step.message for step in heard.steps if isinstance(step, Noticed)]

        [notice] = asyncio.run(run())
    assert "does not take context_management: agentcli clears old outputs itself" in notice
    assert "thinking" in json.dumps(server.requests[-1].json), "nothing else is left out"


def test_only_claude_on_anthropics_own_api_clears_by_itself() -> None:
    assert all(spec(name).context_editing for name in ("opus", "claude-sonnet-4-5", "claude-unheard-of-9"))
    assert not any(spec(name).context_editing for name in ("flash", "luna", "ollama/qwen3", "script:echo"))
    cloud = ProviderSettings("work", "anthropic", platform="vertex")
    own = ProviderSettings("mine", "anthropic", base_url="http://localhost:1")
    known = {"work": cloud, "mine": own}
    assert not spec("work/claude-opus-5-5", providers=known).context_editing
    assert not spec("mine/claude-opus-5-5", providers=known).context_editing
    allowed = {"work/claude-opus-5-5": {"context_editing": True}}
    assert spec("work/claude-opus-5-5", allowed, known).context_editing
