"""The models that endpoints listed, in editors; and how long 5,000 of them take."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcli.frontends.acp.host import LISTED, EditorHost, ProjectRequest
from agentcli.frontends.opening import program_of
from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config
from agentcli.program.model_lists import local_servers, specs
from agentcli.program.models import Models
from agentcli.program.options import Options
from agentcli.providers.endpoint_lists import FOLDER, MODELS, EndpointList, EndpointLists
from agentcli.providers.settings import BUILT_IN
from tests.providers.test_context_windows import server

URL = "http://127.0.0.1:9/v1"


async def nobody(_: Any) -> None:
    return None


def folders(tmp_path: Path, listed: int) -> dict[str, str]:
    """The environment of a program with an endpoint that has listed so many models."""
    places = {kind: tmp_path / kind for kind in ("config", "data", "state", "cache")}
    for place in places.values():
        (place / "agentcli").mkdir(parents=True)
    table = f'[providers.own]\nkind = "openai"\nbase_url = "{URL}"\n'
    (places["config"] / "agentcli" / "config.toml").write_text(table)
    models = {f"m{n}": {"window": 50_000} for n in range(listed)}
    EndpointLists(places["cache"] / "agentcli" / FOLDER).keep(EndpointList("own", URL, time.time(), models))
    return {"HOME": str(tmp_path), **{f"XDG_{kind.upper()}_HOME": str(place) for kind, place in places.items()}}


def test_an_editor_offers_the_first_models_of_an_endpoint(tmp_path: Path) -> None:
    env = folders(tmp_path, 500)
    project = EditorHost(Options(cwd=str(tmp_path)), env).project(ProjectRequest(tmp_path), nobody, nobody)
    own = [name for name in project.models() if name.startswith("own/")]
    assert own == [f"own/m{n}" for n in range(LISTED)]


def test_a_whole_list_is_there_at_once(tmp_path: Path) -> None:
    program = program_of(Options(cwd=str(tmp_path)), folders(tmp_path, MODELS))
    begun = time.process_time()
    found = list(specs(program.models))
    assert time.process_time() - begun < 2
    assert len(found) == MODELS
    assert {spec.window for spec in found} == {50_000}


def test_configured_endpoints_and_services_with_a_key_are_asked_and_vendors_only_on_demand(tmp_path: Path) -> None:
    env = folders(tmp_path, 1) | {"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    tables = "[providers.anthropic]\nidle_timeout = 9.0\n[providers.aws]\nkind = 'anthropic'\nplatform = 'bedrock'\n"
    with (tmp_path / "config" / "agentcli" / "config.toml").open("a") as file:
        file.write(tables)
    models = program_of(Options(cwd=str(tmp_path)), env).models
    assert [settings.name for settings in models.with_lists] == ["own", "openrouter"]
    assert [settings.name for settings in models.vendors] == ["anthropic"]


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
