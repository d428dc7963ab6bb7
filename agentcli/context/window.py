"""The window: a view with the limits of its model, the input of every planner and report, and its marks for making room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from agentcli.context.clearing import NATIVE, foreseen
from agentcli.context.pruning.blocks import ViewBlocks
from agentcli.context.pruning.superseded import Supersession
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.model import SMALL_WINDOW, ModelSpec, Prices
from agentcli.core.tool import Traits


@dataclass(frozen=True, slots=True)
class Limits:
    """A model's window in tokens under the settings in force.

    A prompt may fill `usable`; at `soft` a turn boundary makes room, at `hard` also the pause between two tool steps.
    `cache_minimum` is in tokens, `cache_lifetime` in seconds, `cache_lookback` in blocks.
    """

    model: str
    window: int
    max_output: int
    usable: int
    soft: int
    hard: int
    prices: Prices | None = None
    summary_prices: Prices | None = None
    cache_minimum: int = 1024
    cache_lifetime: float = 300.0
    cache_lookback: int = 20
    preserved_thinking: bool = False

    @property
    def price_ratios(self) -> tuple[float, float]:
        """Prices of a cache write and a cache read in units of one fresh token; 1.25 and 0.1 if prices are unknown."""
        return price_ratios(self.prices)

    @property
    def summary_ratios(self) -> tuple[float, float]:
        """Prices of a token read and a token written by the summariser, in units of one fresh token of this model.

        If prices are unknown, the model counts as its own summariser.
        """
        if not self.prices or not self.prices.input or not self.summary_prices:
            return 1.0, output_ratio(self.prices)
        return self.summary_prices.input / self.prices.input, self.summary_prices.output / self.prices.input


@dataclass(frozen=True, slots=True)
class Window:
    """A view with its limits, token counter and settings."""

    view: View
    limits: Limits
    counter: TokenCounter
    settings: ContextSettings
    traits: Mapping[str, Traits]
    """Traits of the tools by name."""
    supersession: Supersession = field(default_factory=Supersession, compare=False)
    """Memory of the outputs and inputs that are out of date, from one window of a session to the next."""
    laid_out: ViewBlocks = field(default_factory=ViewBlocks, compare=False)
    """Memory of the blocks of the view, from one window of a session to the next."""

    @property
    def tokens(self) -> int:
        """Tokens of the next prompt, system and tools included, as exactly as known."""
        return self.counter.prompt(self.view)

    @property
    def usable(self) -> int:
        """Most tokens of a prompt."""
        return self.limits.usable

    @property
    def superseded(self) -> Supersession:
        """Results and inputs in the view that are out of date."""
        return self.supersession.of(self.view, self.traits)

    @property
    def blocks(self) -> ViewBlocks:
        """Blocks of the view with their places and ages."""
        return self.laid_out.of(self.view, self.counter, self.settings.prune, self.traits)

    def estimate(self, view: View) -> int:
        """Return the tokens of a prompt that shows a view, by the estimate alone."""
        return self.counter.head + self.counter.view(view)

    def size(self, part: Block | ViewMessage) -> int:
        """Return the tokens of a block or a message."""
        return self.counter.block(part) if isinstance(part, Block) else self.counter.message(part)


def window_of(
    view: View,
    model: ModelSpec,
    counter: TokenCounter,
    settings: ContextSettings,
    traits: Mapping[str, Traits],
    supersession: Supersession | None = None,
    laid_out: ViewBlocks | None = None,
) -> Window:
    """Return the window of this model with this view in it: under `native` as the provider will show it.

    If the model's provider clears nothing, `auto` replaces `native`.
    """
    settings, limits = in_force(settings, model), limits_of(model, settings)
    if settings.policy == NATIVE:
        view = foreseen(view, limits.usable, counter, settings, traits)
    return Window(view, limits, counter, settings, traits, supersession or Supersession(), laid_out or ViewBlocks())


def in_force(settings: ContextSettings, model: ModelSpec) -> ContextSettings:
    """Return the settings with the policy that this model allows."""
    falls_back = settings.policy == NATIVE and not model.context_editing
    return replace(settings, policy="auto") if falls_back else settings


def reply_tokens(window: int) -> int:
    """Return the most tokens that a window reserves for the reply: half of it, or a quarter of a small one, which needs more for its fixed part."""
    return window // (4 if window <= SMALL_WINDOW else 2)


def limits_of(model: ModelSpec, settings: ContextSettings) -> Limits:
    """Return the limits of a model. A small window keeps at least three quarters of itself for the prompt, any other at least half."""
    reserve = min(model.max_output, settings.output_reserve, reply_tokens(model.window))
    usable = model.window - reserve
    return Limits(
        model=model.id,
        window=model.window,
        max_output=model.max_output,
        usable=usable,
        soft=int(usable * settings.soft),
        hard=int(usable * settings.hard),
        prices=model.prices,
        summary_prices=model.summary_prices,
        cache_minimum=model.cache_minimum,
        cache_lifetime=model.cache_lifetime,
        cache_lookback=model.cache_lookback,
        preserved_thinking=model.preserved_thinking,
    )


def price_ratios(prices: Prices | None) -> tuple[float, float]:
    """Return the prices of a cache write and a cache read in units of one fresh token. A provider that caches automatically charges writes as fresh."""
    if prices is None or not prices.input:
        return 1.25, 0.1
    return (prices.cache_write or prices.input) / prices.input, (prices.cache_read or prices.input) / prices.input


def output_ratio(prices: Prices | None) -> float:
    """Return the price of a token of the reply in units of one fresh token; 5 if prices are unknown."""
    return prices.output / prices.input if prices and prices.input else 5.0
