"""A view in the window of the model that is to see it: what every planner and report looks at."""

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
    """What the model would see now, how much it may hold, how tokens are counted, and the settings in force."""

    view: View
    limits: Limits
    counter: TokenCounter
    settings: ContextSettings
    traits: Mapping[str, Traits]
    """What the tools are whose calls may stand in the view, by name."""

    @property
    def tokens(self) -> int:
        """Tokens of the next prompt, system and tools included, as well as they can be known."""
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
