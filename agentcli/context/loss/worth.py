"""Worth of something that may be carried: the chance that it is wanted again, against its tokens."""

from __future__ import annotations

import math

from agentcli.context.loss.settings import LossSettings


def faded(chance: float, age: int, loss: LossSettings) -> float:
    """A chance per request after `age` more records: it halves with each half-life."""
    return chance * math.pow(0.5, age / loss.half_life)


def is_worth(characters: int, chance: float, loss: LossSettings) -> bool:
    """True if carrying so many characters costs less than the recalls that it saves, both per request in fresh tokens."""
    return characters * loss.token_rate * loss.carry_price <= chance * loss.recall_price
