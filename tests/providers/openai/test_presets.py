"""Providers that need no configuration, and the SDK that need not be there."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import CredentialsError
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.registry import PRESETS
from agentcli.providers.settings import BUILT_IN, needs_key
from tests.providers.hearing import ONCE, hear, request
from tests.tables import each_row


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
        with pytest.raises(CredentialsError, match=preset.key_variable):
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
