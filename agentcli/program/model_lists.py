"""Models of endpoints: refresh the lists of all, and find the model servers on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec
from agentcli.core.text.words import plural
from agentcli.program.models import Models
from agentcli.providers import catalog, reachability
from agentcli.providers.context_windows import listed_models, stated_window
from agentcli.providers.endpoint_asking import ask_all
from agentcli.providers.endpoint_lists import FRESH, EndpointList
from agentcli.providers.registry import PRESETS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, credentials

if TYPE_CHECKING:
    from agentcli.providers.endpoint_asking import Asking

PATIENCE = 1.0
"""Seconds that `/model` waits for lists; later ones appear when it is opened again."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Outcome of a refresh in lines: `told` endpoints that answered, and `warnings`."""

    told: Sequence[str]
    warnings: Sequence[str]


def known_models(models: Models) -> Sequence[ModelSpec]:
    """Return the known models: of the table, and of the endpoints' lists as last read."""
    return [*catalog.models(), *specs(models)]


def specs(models: Models) -> Iterator[ModelSpec]:
    """Yield the models that endpoints listed, as they would be used, from the cache alone."""
    for settings in models.with_lists:
        yield from models.listed_specs(models.listed_by(settings.name))


def stale(models: Models) -> bool:
    """Return True if a list is missing or too old."""
    if not models.lists.kept:
        return False
    oldest = time.time() - FRESH
    return any(models.listed_by(settings.name).time < oldest for settings in models.with_lists)


def refresh(models: Models, seconds: float | None = None) -> Refreshed:
    """Query all endpoints and vendors for their models and store the answers; without an answer, the old list stays.

    With `seconds`, query no vendor, and return after that time: later answers are stored as well.
    """
    vendors = models.vendors
    endpoints = [*models.with_lists, *(vendors if seconds is None else ())]
    models.lists.keep_only(settings.name for settings in (*models.with_lists, *vendors))
    asked = ask_all(endpoints, models.with_valid_keys() if seconds is None else models.env)
    if seconds is not None:
        threading.Thread(target=_keep_late, args=(models, asked), daemon=True).start()
    ends = None if seconds is None else time.monotonic() + seconds
    told: list[str] = []
    warnings: list[str] = []
    for one in asked:
        there = one.wait(None if ends is None else max(0.0, ends - time.monotonic()))
        if one.found is not None:
            _kept(models, one.found)
            told.append(f"{one.provider}: {plural(len(one.found.models), 'model')}")
            warnings += one.found.warnings()
        elif there or seconds is None:
            warnings.append(one.trouble)
    return Refreshed(told, warnings)


def _keep_late(models: Models, asked: Sequence[Asking]) -> None:
    for one in asked:
        if one.wait():
            _kept(models, one.found)


def _kept(models: Models, found: EndpointList | None) -> None:
    if found is not None and found != models.lists.of(found.provider, found.url):
        models.lists.keep(found)


ANSWER_SECONDS = 1.0
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
    there = not reachability.connects(url, ANSWER_SECONDS)
    listed = listed_models(url, key, ANSWER_SECONDS)[:MOST_MODELS] if there else []
    models = {f"{settings.name}/{model}": stated_window(url, model, key, ANSWER_SECONDS) for model in listed}
    return LocalServer(settings.name, preset.title, url, there, models, preset.start)
