"""Model servers on this machine."""

from __future__ import annotations

from dataclasses import replace

from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config
from agentcli.program.local_endpoints import local_servers
from agentcli.program.models import Models
from agentcli.providers.settings import BUILT_IN
from tests.providers.test_context_windows import server

NOWHERE = "http://127.0.0.1:1/v1"


def test_servers_that_answer_list_their_models_with_the_windows_that_they_state() -> None:
    stated = {
        "/v1/models": {"data": [{"id": "qwen3"}, {"id": "gemma", "max_model_len": 4_096}]},
        "/api/ps": {"models": [{"name": "qwen3:latest", "context_length": 8_192}]},
    }
    with server(stated) as url:
        elsewhere = {
            name: replace(BUILT_IN[name], base_url=NOWHERE) for name in ("ollama", "lmstudio", "vllm", "sglang")
        }
        found = local_servers({**elsewhere, "llamacpp": replace(BUILT_IN["llamacpp"], base_url=f"{url}/v1")}, {})
    there = {each.name: each for each in found}
    assert there["llamacpp"].models == {"llamacpp/qwen3": 8_192, "llamacpp/gemma": 4_096}
    assert not there["ollama"].answers
    assert there["ollama"].start == "ollama serve"


def test_the_table_of_a_preset_changes_only_what_it_names() -> None:
    config = Config(
        SCHEMA, providers={"ollama": {"base_url": "http://gpu:11434/v1"}, "openrouter": {"idle_timeout": 5.0}}
    )
    providers = Models(config, {}).providers
    assert (providers["ollama"].kind, providers["ollama"].base_url) == ("openai", "http://gpu:11434/v1")
    assert providers["openrouter"] == replace(BUILT_IN["openrouter"], idle_timeout=5.0)
