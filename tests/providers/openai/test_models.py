"""Optional fields that servers of OpenAI's wire formats refuse, in their own words."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.core.message import Image, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import RequestMessage
from agentcli.providers.capabilities import stated_in
from agentcli.providers.catalog import spec
from agentcli.providers.openai.models import FIELDS
from agentcli.providers.scripted.model import Reply, say
from tests.loopback import Asked, Loopback, Refuse
from tests.providers.hearing import connected, hear, reply_turn, request
from tests.tables import each_row

IMAGE = Image("image/png", "iVBORw==")
MODEL = spec("luna")
THOUGHT = Thinking("hm", "", {"openai": {"field": "reasoning_content"}})
CALL = ToolCall("call_1", "read", {})
FULL = request(
    MODEL,
    RequestMessage("user", (Text("look"), IMAGE)),
    reply_turn(MODEL, (THOUGHT, CALL)),
    RequestMessage("user", (ToolResult("call_1", "read", "success", "see", images=(IMAGE,)),)),
    options={"effort": "high", "session": "s1"},
)


@each_row(
    ("answer", "lacking"),
    [
        ("Unrecognized request argument supplied: stream_options", {"stream_options"}),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", {"max_tokens"}),
        ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", {"call_ids"}),
        ("Your organization must be verified to generate reasoning summaries.", {"summaries"}),
        ("Unsupported parameter: 'reasoning.summary' is not supported with the 'o1' model.", {"summaries"}),
        ("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {"effort"}),
        ("Unrecognized request argument supplied: reasoning_effort", {"effort"}),
        ("Encrypted content is not supported with this model.", {"thinking"}),
        ("property 'messages.1.assistant.reasoning_content' is unsupported", {"thoughts"}),
        ("Unsupported parameter: prompt_cache_key", {"cache"}),
        ("unknown variant `image_url`, expected `text`", {"images"}),
        ("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", {"images"}),
        ("No endpoints found that support image input", {"images"}),
        ("Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.", {"result_images"}),
        ("Invalid type for 'input[2].output': function_call_output takes no input_image", set()),
        ("Unsupported value: 'reasoning.effort' does not support 'minimal' with this model.", set()),
        ("Function tools with reasoning_effort are not supported for gpt-6.2 in /v1/chat/completions.", set()),
        ("The server is tired.", set()),
    ],
)  # fmt: skip
def test_a_refusal_states_what_the_server_does_not_take(answer: str, lacking: set[str]) -> None:
    assert stated_in(answer, FULL, FIELDS) == lacking


def test_a_session_goes_on_without_what_is_refused() -> None:
    def refusing(asked: Asked) -> Reply | Refuse:
        body: dict[str, Any] = asked.json
        if "stream_options" in body:
            return Refuse(400, message="Unrecognized request argument supplied: stream_options")
        if "max_tokens" in body:
            return Refuse(400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return say("Here.")

    with Loopback(refusing) as server:

        async def run() -> None:
            model = connected(server, "ollama/qwen3")
            heard = [await hear(model, request(model.spec, "hi")) for _ in range(2)]
            await model.close()  # type: ignore[attr-defined]
            assert [each.text for each in heard] == ["Here.", "Here."]

        asyncio.run(run())
    assert len(server.asked) == 4  # two refusals, once each
