"""Optional fields that servers of OpenAI's wire formats refuse, in their own words."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import CredentialsError
from agentcli.core.message import Image, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import RequestMessage
from agentcli.providers.capabilities import stated_in
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.openai.models import FIELDS
from agentcli.providers.registry import PRESETS
from agentcli.providers.scripted.model import Reply, say
from agentcli.providers.settings import BUILT_IN, needs_key
from tests.loopback import Asked, Loopback, Refuse
from tests.providers.hearing import ONCE, connected, hear, reply_turn, request
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


def test_a_model_of_a_preset_is_named_by_it() -> None:
    found = spec("openrouter/anthropic/claude-opus-5")
    assert (found.provider, found.id, found.kind, found.known) == (
        "openrouter",
        "anthropic/claude-opus-5",
        "openai",
        False,
    )


@each_row("name", sorted(PRESETS))
def test_a_preset_needs_a_key_exactly_where_it_is_a_service(name: str) -> None:
    _, preset = PRESETS[name]
    assert needs_key(BUILT_IN[name], {}) == bool(preset.key_variable)
    if preset.key_variable:
        cure = f"agentcli auth login {name}" if preset.plan else preset.key_variable
        with pytest.raises(CredentialsError, match=cure):
            connect(spec(f"{name}/model"), None, {"OPENAI_API_KEY": "never sent elsewhere"})


def test_a_server_that_is_not_there_is_named_with_the_command_that_starts_it() -> None:
    async def run() -> str:
        settings = BUILT_IN["ollama"]
        model = connect(spec("ollama/qwen3"), _moved(settings), {}, ONCE)
        heard = await hear(model, request(model.spec, "hi"))
        await model.close()  # type: ignore[attr-defined]
        return str(heard.error)

    said = asyncio.run(run())
    assert "Start Ollama: `ollama serve`" in said
    assert "[providers.ollama]" in said


def _moved(settings: object) -> object:
    from dataclasses import replace

    return replace(settings, base_url="http://127.0.0.1:1/v1")  # type: ignore[type-var]


@pytest.mark.full
def test_without_the_extra_the_command_that_installs_it_is_named(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['openai'] = None\n"
        "from agentcli.__main__ import main\nsys.exit(main(['-p', 'hi', '-m', 'gpt']))"
    )
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "x"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert done.returncode == 42
    assert re.search(rf"{sys.executable}.* 'openai", done.stderr)
