"""Price of a loss: the chance that something is needed again, against the cost of carrying it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from agentcli.context.compaction_settings import LossSettings
from agentcli.context.loss.phases import phase_end
from agentcli.context.window import Window, output_ratio
from agentcli.core.message import ToolResult


def faded(chance: float, age: int, loss: LossSettings) -> float:
    """Return a chance per request after `age` more records: it halves with each half-life."""
    return chance * math.pow(0.5, age / loss.half_life)


def is_worth(characters: int, chance: float, loss: LossSettings) -> bool:
    """Return True if carrying this many characters costs less than the recalls that it saves.

    Both costs are per request, in fresh tokens.
    """
    return characters * loss.token_rate * loss.carry_price <= chance * loss.recall_price


def recall_cost(tokens: int, window: Window) -> float:
    """Return the cost of one recall in fresh tokens, in a prompt of `tokens`.

    A recall costs one more request, and the text that it returns.
    """
    (write, read), output = window.limits.price_ratios, output_ratio(window.limits.prices)
    loss = window.settings.loss
    return tokens * read + loss.call_tokens * output + loss.recalled_tokens * write


def priced(window: Window) -> LossSettings:
    """Fill in the prices that are not set from the model's own prices.

    They are 4,150 and 0.1 for most Claude models.
    """
    loss = window.settings.loss
    return replace(
        loss,
        recall_price=loss.recall_price or recall_cost(loss.prompt_tokens, window),
        carry_price=loss.carry_price or window.limits.price_ratios[1],
    )


def expected_recalls(window: Window, gone: Iterable[int]) -> float:
    """Return the expected recalls per request once these records are summarised. Out-of-date outputs are never needed again."""
    loss, going = window.settings.loss, frozenset(gone)
    outdated = window.superseded.outputs
    newest = max((block.seq for block in window.view.blocks), default=0)
    chance = sum(
        faded(loss.output_chance, newest - block.seq, loss)
        for block in window.view.blocks
        if block.seq in going
        and isinstance(block.part, ToolResult)
        and not block.cleared
        and block.tool_use_id not in outdated
    )
    return chance * (loss.phase_share if phase_end(window.view, window.traits) else 1.0)
