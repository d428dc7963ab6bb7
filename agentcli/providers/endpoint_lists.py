"""Lists of models as endpoints state them, with windows and prices.

They are in the cache folder, with the time of the query.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.setting import PRICE
from agentcli.core.text.words import ago
from agentcli.system.paths import replace_file

FOLDER = "models"
"""The folder of the lists in the cache folder."""
MODELS = 5_000
"""Maximum models stored of one endpoint: the first ones in its list."""
FRESH = 3_600.0
"""Maximum age in seconds of a list that `/model` shows without a new query."""
_PRICES = frozenset({"input", "output", "cache_read", "cache_write"})
_NOTHING: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EndpointList:
    """Models of one endpoint at `url`."""

    provider: str
    url: str = ""
    time: float = 0.0
    """The time of the query, in seconds since the epoch."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    """The stated fields of ModelSpec, by model id."""
    left_out: int = 0
    """Number of models omitted because there are too many."""
    unusable: int = 0
    """Number of models without a usable name."""

    def over(self, spec: ModelSpec) -> ModelSpec:
        """Return the spec of an unknown model with what the endpoint states about it."""
        stated = self.models.get(spec.id)
        if not stated:
            return spec
        window = int(stated.get("window") or spec.window)
        most = int(stated.get("max_output") or min(spec.max_output, window // 2))
        prices = Prices(**stated["prices"]) if "prices" in stated else spec.prices
        return replace(
            spec,
            window=window,
            max_output=min(most, window),
            prices=prices,
            images=bool(stated.get("images", spec.images)),
            window_stated="window" in stated,
        )

    def warnings(self) -> Iterator[str]:
        """Yield what is wrong with the list."""
        if self.left_out:
            kept = len(self.models)
            yield f"{self.provider} lists {kept + self.left_out:,} models; the first {kept:,} are kept. Others work by their full name."
        if self.unusable:
            yield f"{self.provider} lists {self.unusable:,} models with unusable names; they are left out."


class EndpointLists:
    """Lists in a folder; without a folder there are none, and none is stored."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @property
    def kept(self) -> bool:
        """True if lists are kept."""
        return self._folder is not None

    def of(self, provider: str, url: str) -> EndpointList:
        """Return the list of an endpoint; an empty one, read at time 0, if none is stored for this address."""
        found = _load(self._folder / f"{provider}.json") if self._folder is not None and _is_file(provider) else None
        return found if found is not None and found.url == url else EndpointList(provider, url)

    def keep(self, found: EndpointList) -> None:
        """Write a list. Without a writable folder, it is queried again the next time."""
        if self._folder is None or not _is_file(found.provider):
            return
        kept = {
            "url": found.url,
            "time": found.time,
            "left_out": found.left_out,
            "unusable": found.unusable,
            "models": dict(found.models),
        }
        with contextlib.suppress(OSError):
            replace_file(self._folder / f"{found.provider}.json", json.dumps(kept, separators=(",", ":")), mode=0o600)

    def keep_only(self, providers: Iterable[str]) -> None:
        """Remove the lists of other providers."""
        known = set(providers)
        for path in self._folder.glob("*.json") if self._folder is not None else ():
            if path.stem not in known:
                with contextlib.suppress(OSError):
                    path.unlink()


def names_in(folder: Path) -> Iterator[str]:
    """Yield the names `provider/id` of all lists in a folder."""
    for path in sorted(folder.glob("*.json")):
        if (found := _load(path)) is not None:
            yield from (f"{found.provider}/{model}" for model in found.models)


def age(found: EndpointList, now: float | None = None) -> str:
    """Return the age of a list as text."""
    return ago((time.time() if now is None else now) - found.time)


def _is_stated(stated: Mapping[str, Any]) -> bool:
    prices = stated.get("prices") or {}
    sizes = (stated.get("window", 1), stated.get("max_output", 1))
    return (
        all(type(size) is int for size in sizes)
        and prices.keys() <= _PRICES
        and all(type(price) in (int, float) and price in PRICE for price in prices.values())
    )


def _is_file(provider: str) -> bool:
    return bool(provider) and "/" not in provider and not provider.startswith(".")


def _load(path: Path) -> EndpointList | None:
    try:
        return _loaded(path, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=32)
def _loaded(path: Path, _changed: int) -> EndpointList | None:
    try:
        kept = json.loads(path.read_bytes())
        models = {str(name): dict(stated) for name, stated in kept["models"].items()}
        found = EndpointList(
            path.stem,
            str(kept["url"]),
            float(kept["time"]),
            models,
            int(kept.get("left_out", 0)),
            int(kept.get("unusable", 0)),
        )
        return found if all(map(_is_stated, models.values())) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
