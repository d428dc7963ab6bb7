"""The window: a view with the limits of its model, the input of every planner and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentcli.context.limits import Limits, limits_of
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.model import ModelSpec
from agentcli.core.tool import Traits


@dataclass(frozen=True, slots=True)
class Window:
    """A view with its limits, token counter and settings."""

    view: View
    limits: Limits
    counter: TokenCounter
    settings: ContextSettings
    traits: Mapping[str, Traits]
    """Traits of the tools by name."""

    @property
    def tokens(self) -> int:
        """Tokens of the next prompt, system and tools included, as exactly as known."""
        return self.counter.prompt(self.view)

    @property
    def usable(self) -> int:
        """Tokens that a prompt may hold."""
        return self.limits.usable

    def size(self, part: Block | ViewMessage) -> int:
        """Tokens of a block or a message."""
        return self.counter.block(part) if isinstance(part, Block) else self.counter.message(part)


def window_of(
    view: View, model: ModelSpec, counter: TokenCounter, settings: ContextSettings, traits: Mapping[str, Traits]
) -> Window:
    """The window of this model with this view in it."""
    return Window(view, limits_of(model, settings), counter, settings, traits)
