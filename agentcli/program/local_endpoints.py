"""Model servers on this machine: find those that answer, with their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from agentcli.core.dataclass import dataclass
from agentcli.providers import reachability
from agentcli.providers.context_windows import listed_models, stated_window
from agentcli.providers.registry import PRESETS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, credentials

SECONDS = 1.0
"""Time limit of each question to a server."""
MOST_MODELS = 50
"""Models of one server whose windows are asked for."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A known server at its usual port, or at its configured address."""

    name: str
    title: str
    url: str
    answers: bool
    models: Mapping[str, int]
    """Its models by name, with their windows in tokens; 0 if not stated."""
    start: str


def local_servers(providers: Mapping[str, ProviderSettings], env: Mapping[str, str]) -> Sequence[LocalServer]:
    """Return every known server of this machine, queried all at once; `providers` are the configured ones."""
    names = [name for name, (_, preset) in PRESETS.items() if preset.is_local]
    with ThreadPoolExecutor(len(names)) as threads:
        return list(threads.map(lambda name: _asked({**BUILT_IN, **providers}[name], env), names))


def _asked(settings: ProviderSettings, env: Mapping[str, str]) -> LocalServer:
    _, preset = PRESETS[settings.name]
    url, key = settings.base_url, credentials(settings, env)
    there = not reachability.connects(url, SECONDS)
    listed = listed_models(url, key, SECONDS)[:MOST_MODELS] if there else []
    models = {f"{settings.name}/{model}": stated_window(url, model, key, SECONDS) for model in listed}
    return LocalServer(settings.name, preset.title, url, there, models, preset.start)
