"""The price of a prompt's requests in cost units, by the rules that the vendors publish for their prompt caches.

A cost unit is the price of one uncached input token: a token read from the cache costs 0.1, one written to it 1.25 where writing is charged
(Claude), a token that is neither 1. Tokens are characters of the request's JSON by four, as the loopback server counts them; replies are left
out, because the plan gives them. What was sent before is in the cache from the first token on: the size from which a model caches differs
from model to model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentcli.context.cache_model import CacheRules, PrefixCache
from tests.loopback import anthropic_rules, chat_rules, google_rules, openai_rules
from tests.loopback.plan import Asked

READ, WRITTEN = 0.1, 1.25
_RULES: dict[str, Any] = {"google": google_rules, "openai": openai_rules, "chat": chat_rules}


@dataclass(frozen=True)
class Spent:
    """Tokens of one request: read from the cache, written to it, and neither."""

    read: int
    written: int
    fresh: int

    @property
    def units(self) -> float:
        """Their price."""
        return self.read * READ + self.written * WRITTEN + self.fresh


def spent(requests: Sequence[Asked]) -> list[Spent]:
    """The tokens of requests that follow one another, each request's own."""
    cache = PrefixCache()
    found = []
    for asked in requests:
        body = asked.json
        explicit = asked.wire == "anthropic"
        blocks, marks = anthropic_rules.cache_blocks(body) if explicit else (_RULES[asked.wire].cache_blocks(body), [])
        rules = CacheRules(minimum=0, explicit=explicit)
        read, written = cache.use(blocks, marks, rules, 0.0)
        found.append(Spent(read, written, sum(tokens for _, tokens in blocks) - read - written))
    return found


def units(requests: Sequence[Asked]) -> int:
    """The price of the requests together."""
    return round(sum(each.units for each in spent(requests)))
