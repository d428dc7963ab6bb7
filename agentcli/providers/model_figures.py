"""Windows and prices that the user has read from a file or an address.

They have the format of models.dev, and override the built-in table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, in_words
from agentcli.core.model import PriceChange
from agentcli.core.setting import PRICE
from agentcli.system.paths import replace_file

FILE = "models.json"
LARGEST = 64_000_000
"""Maximum bytes of a list that are read."""
SECONDS = 30.0
"""Time limit in seconds for fetching a list."""
_COSTS = ("input", "output", "cache_read", "cache_write")
_LONG = "context_over_200k"
_NOTHING: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Figures:
    """ModelSpec fields by `provider/id`, their source, and the ISO date on which they were read.

    `refused` are models with invalid prices: not finite, negative or absurd.
    """

    source: str = ""
    day: str = ""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    refused: tuple[str, ...] = ()

    def over(self, changes: Mapping[str, tuple[PriceChange, ...]]) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields as overrides of the table; its price changes after that day still apply."""
        return {name: _with_changes(values, changes.get(name, ()), self.day) for name, values in self.models.items()}


def read(source: str, seconds: float = SECONDS) -> bytes:
    """Read the list in a file, or at an address within so many seconds. Raises InputError if it is unreadable."""
    import urllib.request

    from agentcli.providers.reachability import fetched

    try:
        if source.startswith(("https://", "http://")):
            request = urllib.request.Request(source, headers={"User-Agent": f"agentcli/{__version__}"})
            found = fetched(request, seconds, LARGEST + 1, redirects=True)
        else:
            with Path(source).expanduser().open("rb") as file:
                found = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read {source}: {in_words(error)}.") from None
    if len(found) > LARGEST:
        raise InputError(f"{source} is larger than {LARGEST:,} bytes, so it is not a list of models.")
    return found


def parsed(text: bytes, source: str, day: str, providers: Iterable[str]) -> Figures:
    """Return the figures of these providers' models from a models.dev list. Raises InputError for another format."""
    try:
        listed = json.loads(text)
        known = set(providers)
        stated = {
            f"{provider}/{model}": dict(_fields(raw))
            for provider, entry in listed.items()
            if provider in known
            for model, raw in entry["models"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{source} is not a list of models in the format of models.dev (https://models.dev/api.json)."
        ) from None
    models = {name: kept for name, values in stated.items() if (kept := _credible(values))}
    if not models:
        raise InputError(f"{source} lists no model of a provider that agentcli knows: {', '.join(sorted(known))}.")
    return Figures(source, day, models, tuple(name for name, values in stated.items() if not _has_prices(values)))


def load(path: Path) -> Figures:
    """Return the stored figures; empty ones if none are stored or readable."""
    try:
        return _loaded(path, path.stat().st_mtime_ns)
    except OSError:
        return Figures()


@lru_cache(maxsize=4)
def _loaded(path: Path, _changed: int) -> Figures:
    try:
        kept = json.loads(path.read_bytes())
        models = {str(name): _credible(dict(one)) for name, one in kept["models"].items()}
        return Figures(str(kept["source"]), str(kept["day"]), models)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Figures()


def keep(path: Path, figures: Figures) -> None:
    """Write the figures in one step."""
    kept = {"source": figures.source, "day": figures.day, "models": dict(figures.models)}
    replace_file(path, json.dumps(kept, separators=(",", ":")), mode=0o600)


def _fields(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of ModelSpec that an entry gives."""
    from agentcli.providers.context_windows import LARGEST as WIDEST

    limit, cost = raw.get("limit") or {}, raw.get("cost") or {}
    for name, key in (("window", "context"), ("max_output", "output")):
        if type(limit.get(key)) is int and 0 < limit[key] <= WIDEST:
            yield name, limit[key]
    if isinstance(cost.get("input"), int | float) and isinstance(cost.get("output"), int | float):
        yield "prices", _prices(cost)
    inputs = (raw.get("modalities") or {}).get("input")
    if isinstance(inputs, list):
        yield "images", "image" in inputs


def _credible(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields without prices that are no prices."""
    return values if _has_prices(values) else {name: value for name, value in values.items() if name != "prices"}


def _has_prices(values: Mapping[str, Any]) -> bool:
    """Return False if the prices are no prices."""
    prices = values.get("prices", {})
    return all(type(price) in (int, float) and price in PRICE for name, price in prices.items() if name != "over")


def _prices(cost: Mapping[str, Any]) -> dict[str, float]:
    """Return prices in USD per million tokens. If a list lacks cache prices, they are the price of fresh input."""
    prices = {name: _number(cost.get(name), cost["input"]) for name in _COSTS}
    over, long = _long(cost)
    if not over:
        return prices | {"over": 0}
    return prices | {"over": over} | {f"over_{name}": _number(long.get(name), prices[name]) for name in _COSTS}


def _long(cost: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    """Return the prompt size in tokens above which prices rise, and the higher prices; 0 if they never rise.

    Of several sizes, return the smallest.
    """
    tiers = {}
    for tier in cost.get("tiers") or []:
        about = tier.get("tier") or {}
        if about.get("type", "context") == "context" and type(about.get("size")) is int and about["size"] > 0:
            tiers[about["size"]] = tier
    if isinstance(cost.get(_LONG), Mapping):
        tiers[200_000] = cost[_LONG]
    return min(tiers.items(), key=lambda item: item[0], default=(0, {}))


def _number(value: Any, otherwise: float) -> float:
    return value if isinstance(value, int | float) else otherwise


def _with_changes(values: Mapping[str, Any], changes: tuple[PriceChange, ...], day: str) -> Mapping[str, Any]:
    later = [change for change in changes if change.since > day]
    if not later or "prices" not in values:
        return values
    dated = [{"since": each.since, **{name: getattr(each.prices, name) for name in _COSTS}} for each in later]
    return {**values, "prices": [values["prices"], *dated]}
