"""A provider's prompt cache, emulated by the provider's published rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from itertools import accumulate

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec


@dataclass(frozen=True, slots=True)
class CacheRules:
    """Sizes in tokens, `lifetime` in seconds, `lookback` in blocks; without `explicit` every prefix is written, at no extra price."""

    minimum: int = 1024
    lookback: int = 20
    lifetime: float = 300.0
    explicit: bool = True


def rules_of(model: ModelSpec) -> CacheRules:
    """Return the rules by which a model's provider caches."""
    return CacheRules(model.cache_minimum, model.cache_lookback, model.cache_lifetime, model.cache_explicit)


@dataclass(slots=True)
class PrefixCache:
    """A cache of prompt prefixes. Reading an entry renews its lifetime, and that of the shorter ones."""

    _used: dict[int, float] = field(default_factory=dict)
    """Time of the last use of each cached prefix, by the hash of the prefix."""

    def use(
        self,
        blocks: Sequence[tuple[Hashable, int]],
        breakpoints: Sequence[int],
        rules: CacheRules,
        now: float,
        model: str = "",
    ) -> tuple[int, int]:
        """Return the tokens (read, written) of a request of these blocks.

        Each block has its contents and its size in tokens. `breakpoints` are indices of blocks after which the cache
        may end. The search for an entry covers `lookback` blocks before each. Times never decrease. Models share no
        cache.
        """
        prefixes = list(accumulate((hash(contents) for contents, _ in blocks), _chain, initial=hash(model)))[1:]
        before = list(accumulate(tokens for _, tokens in blocks))
        ends = sorted(set(breakpoints)) if rules.explicit else range(len(blocks))
        found = self._found(prefixes, before, ends, rules, now)
        useful = [end for end in ends if before[end] >= rules.minimum]
        self._used |= {prefixes[end]: now for end in useful}
        self._used |= {prefix: now for prefix in prefixes[: found + 1] if prefix in self._used}
        read = before[found] if found >= 0 else 0
        written = before[useful[-1]] - read if useful and rules.explicit else 0
        return read, max(0, written)

    def _found(
        self, prefixes: Sequence[int], before: Sequence[int], ends: Sequence[int], rules: CacheRules, now: float
    ) -> int:
        """Return the last block of the longest cached prefix, or -1."""
        for end in reversed(ends):
            for place in reversed(range(max(0, end + 1 - rules.lookback), end + 1)):
                used = self._used.get(prefixes[place])
                if used is not None and now - used <= rules.lifetime and before[place] >= rules.minimum:
                    return place
        return -1


def _chain(former: int, contents: int) -> int:
    return hash((former, contents))
