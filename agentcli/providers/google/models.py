"""The Gemini models, strongest first, and names of optional fields in refusals.

The refusals are those of the Gemini API and of servers with its wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from agentcli.core.model import ModelSpec, PriceChange, Prices
from agentcli.providers.provider import Wording

KIND = "google"
SEARCH_PRICE = 0.014
"""USD per query. Second-generation models are billed per prompt: their sessions search with the summary model."""
SUMMARY_MODEL = f"{KIND}/gemini-3.5-flash-lite"
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "gemini": f"{KIND}/gemini-3.8-flash",
        "flash": f"{KIND}/gemini-3.8-flash",
        "flash-lite": f"{KIND}/gemini-3.5-flash-lite",
        "pro": f"{KIND}/gemini-3.1-pro-preview",
        "argon": f"{KIND}/gemini-4-argon",
    }
)
"""Short names, each for the newest model of its line with known figures."""


def _gemini(model: str, *prices: float, **known: Any) -> ModelSpec:
    """Make a Gemini's spec with its prices: input, output, cache read.

    Writing the implicit cache costs as much as input.
    """
    fresh, out, read = prices
    return ModelSpec(
        KIND, model, KIND,
        window=1_048_576,
        max_output=65_536,
        prices=replace(Prices(fresh, out, read, fresh), **known.pop("over", {})),
        price_changes=tuple(_change(*later) for later in known.pop("later", ())),
        cache_minimum=known.pop("cache_minimum", 4096),
        cache_explicit=False,
        summary_model=SUMMARY_MODEL,
        **{"thinking": "level", "search_price": None if known.get("thinking") == "budget" else SEARCH_PRICE, **known},
    )  # fmt: skip


def _change(since: str, fresh: float, out: float, read: float) -> PriceChange:
    return PriceChange(since, Prices(fresh, out, read, fresh))


_PRO_31_OVER = {
    "over": 200_000,
    "over_input": 4,
    "over_output": 18,
    "over_cache_read": 0.4,
    "over_cache_write": 4,
}
_PRO_25_OVER = {
    "over": 200_000,
    "over_input": 2.5,
    "over_output": 15,
    "over_cache_read": 0.25,
    "over_cache_write": 2.5,
}


@cache
def models() -> tuple[ModelSpec, ...]:
    """Return the models, strongest first."""
    # Prices are in USD per million tokens. Prices, limits and dates come from the vendor's pages or reports about them,
    # in November 2026. Only the cache reads of 3.8 Flash and 3.1 Pro are confirmed, until prices change. The others are
    # the family's usual tenth.
    return (
        _gemini("gemini-4-argon", 2, 10, 0.2, later=[("2026-12-01", 4, 20, 0.4)]),
        _gemini("gemini-3.8-flash", 0.75, 3.75, 0.075, later=[("2027-01-01", 1.5, 7.5, 0.15)]),
        _gemini("gemini-3.7-flash", 0.75, 3.75, 0.075, later=[("2027-01-01", 1.5, 7.5, 0.15)]),
        _gemini("gemini-3.5-flash-lite", 0.3, 2.5, 0.03),
        _gemini("gemini-3.1-pro-preview", 2, 12, 0.2, over=_PRO_31_OVER),
        _gemini("gemini-2.5-pro", 1.25, 10, 0.125, cache_minimum=2048, thinking="budget", over=_PRO_25_OVER,
                retires="2026-12-01", successor=f"{KIND}/gemini-3.8-flash"),
        _gemini("gemini-2.5-flash", 0.3, 2.5, 0.03, cache_minimum=2048, thinking="budget",
                retires="2026-12-01", successor=f"{KIND}/gemini-3.5-flash-lite"),
    )  # fmt: skip


FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "effort": Wording(r"thinking[_ ]?level|effort"),
        "thinking": Wording(r"thinking(?:[_ ]?(?:config|budget))?|include[_ ]?thoughts"),
        "result_images": Wording(
            r"(?:multimodal|image)s? (?:in )?function[_ ]?responses?",
            r"unknown name [\"']parts[\"'] at \S*function_?response",
        ),
        "images": Wording(r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?))?|inline_?data"),
    }
)
"""The wordings of each capability; the specific ones first."""
