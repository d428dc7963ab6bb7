"""Price of a warm cache: what a repeated request saves, on average over the user's pauses."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from datetime import datetime, timedelta

from agentcli.context.room import due_prune
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass, replace

ENDS = (60, 120, 180, 240, 300, 420, 600, 900, 1_200, 1_500, 1_800, 2_700, 3_600)
"""Ends in seconds of the histogram's bins; longer pauses are in one more."""
USUAL = (82, 36, 13, 10, 9, 4, 8, 5, 0, 0, 1, 1, 1, 5)
"""Pauses of recorded sessions by bin."""
WEIGHT = 40.0
"""Number of own pauses that count as much as all usual ones."""
LONGEST = 1_800.0
"""Seconds after a reply for which its prompt is kept warm at most."""
FREED = 0.1
"""Share of the prompt from which clearing it for nothing is worth more than a warm cache."""
NEVER = timedelta(days=100)
"""Time after which no cache has anything."""
LEAD = 20.0
"""Seconds before the end of the cache's lifetime at which a request is repeated."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """Histogram of a user's pauses between a reply and the next prompt, one count for each bin."""

    counts: tuple[float, ...] = field(default_factory=lambda: (0.0,) * len(USUAL))

    def after(self, seconds: float) -> Pauses:
        """Return the histogram with one more pause."""
        place = bisect_left(ENDS, seconds)
        counts = tuple(count + (n == place) for n, count in enumerate(self.counts))
        return replace(self, counts=counts)

    def longer(self, seconds: float) -> float:
        """Return the share of pauses longer than this; within a bin they are spread evenly."""
        scale = WEIGHT / sum(USUAL)
        weights = [own + usual * scale for own, usual in zip(self.counts, USUAL, strict=True)]
        above, start = weights[-1], ENDS[-1]
        if seconds >= start:
            return above / sum(weights) * start / seconds
        for end, begin, weight in zip(reversed(ENDS), (*reversed(ENDS[:-1]), 0), reversed(weights[:-1]), strict=True):
            above += weight * min(1.0, max(0.0, (end - seconds) / (end - begin)))
        return above / sum(weights)


def gains_by_cold(window: Window, size: int, now: datetime) -> bool:
    """Return True if the policy would clear much of a prompt of `size` tokens once its cache is cold."""
    prune, _ = due_prune(window, now + NEVER)
    return prune is not None and prune.tokens > FREED * size


def gain(pauses: Pauses, waited: float, lifetime: float, price: float, saved: float) -> float:
    """Return what repeating the request now saves on average, `waited` seconds after the reply.

    A repetition costs `price`; a warm prompt costs `saved` less than a cold one. Later repetitions count if they pay.
    """
    alive, step = pauses.longer(waited), lifetime - LEAD
    if not alive or waited > LONGEST:
        return 0.0
    left = pauses.longer(waited + lifetime) / alive
    later = gain(pauses, waited + step, lifetime, price, saved)
    return (1 - left) * saved - price + left * max(0.0, later)
