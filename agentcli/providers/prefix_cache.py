"""A provider's prompt cache, emulated: what a request would read and write, by the rules that real ones publish."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CacheRules:
    """Sizes in tokens, `lifetime` in seconds, `lookback` in blocks; without `explicit` every prefix is written, at no extra price."""

    minimum: int = 1024
    lookback: int = 20
    lifetime: float = 300.0
    explicit: bool = True


@dataclass(slots=True)
class PrefixCache:
    """Remembers the prefixes it has seen. Reading an entry renews its lifetime."""

    _until: dict[str, float] = field(default_factory=dict)

    def use(
        self,
        blocks: Sequence[tuple[bytes, int]],
        breakpoints: Sequence[int],
        rules: CacheRules,
        now: float,
        model: str = "",
    ) -> tuple[int, int]:
        """Tokens (read, written) by a request of these blocks, each its bytes and its size in tokens.

        `breakpoints` are indices of blocks after which the cache may end; each is also looked back from, over `lookback` blocks.
        """
        prefixes = _prefixes(blocks, model)
        ends = sorted(set(breakpoints)) if rules.explicit else list(range(len(blocks)))
        read = self._hit(prefixes, ends, rules, now)
        useful = [end for end in ends if prefixes[end][1] >= rules.minimum]
        for end in [*useful, *([read] if read is not None else [])]:
            self._until[prefixes[end][0]] = now + rules.lifetime
        hit = prefixes[read][1] if read is not None else 0
        written = max((prefixes[end][1] for end in useful), default=0) - hit
        return hit, max(0, written) if rules.explicit else 0

    def _hit(
        self, prefixes: Sequence[tuple[str, int]], ends: Sequence[int], rules: CacheRules, now: float
    ) -> int | None:
        lookback = rules.lookback if rules.explicit else 1
        for end in reversed(ends):
            for index in range(end, max(-1, end - lookback), -1):
                key, tokens = prefixes[index]
                if tokens >= rules.minimum and self._until.get(key, 0.0) > now:
                    return index
        return None


def _prefixes(blocks: Sequence[tuple[bytes, int]], model: str) -> list[tuple[str, int]]:
    """For each block the hash and the size of everything up to its end; models share no cache."""
    running, total, found = hashlib.sha256(model.encode()), 0, []
    for data, tokens in blocks:
        running.update(len(data).to_bytes(8, "big") + data)
        total += tokens
        found.append((running.copy().hexdigest(), total))
    return found
