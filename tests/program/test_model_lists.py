"""The models that endpoints listed, in editors; and how long 5,000 of them take."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from agentcli.frontends.acp.host import LISTED, EditorHost, ProjectRequest
from agentcli.frontends.opening import program_of
from agentcli.program.model_lists import specs
from agentcli.program.options import Options
from agentcli.providers.endpoint_lists import FOLDER, MODELS, EndpointList, EndpointLists

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
