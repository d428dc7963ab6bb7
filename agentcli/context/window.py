"""The window, a view with its model's limits, is the input of every planner and report.

Oversize input is written to a file and replaced by a reference with its first and last lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import PurePath
from types import MappingProxyType

from agentcli.context.pruning.blocks import Supersession, ViewBlocks
from agentcli.context.settings import NATIVE, PROVIDER, ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.model import SMALL_WINDOW, ModelSpec, Prices
from agentcli.core.tool import Traits


@dataclass(frozen=True, slots=True)
class Limits:
    """A model's window in tokens under the current settings.

    A prompt may fill `usable`. At `soft` the context is reduced at the end of a turn, at `hard` also between two tool
    steps. `cache_lifetime` is in seconds.
    """

    model: str
    window: int
    max_output: int
    usable: int
    soft: int
    hard: int
    prices: Prices | None
    summary_prices: Prices | None
    cache_lifetime: float
    preserved_thinking: bool

    @property
    def price_ratios(self) -> tuple[float, float]:
        """Prices of a cache write and read in units of one fresh token; 1.25 and 0.1 if unknown."""
        return price_ratios(self.prices)

    @property
    def summary_ratios(self) -> tuple[float, float]:
        """Prices of a token read and written by the summariser, in units of one fresh token of this model.

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
    supersession: Supersession = field(default_factory=Supersession)
    """Memory of the outputs and inputs that are out of date, from one window of a session to the next."""
    laid_out: ViewBlocks = field(default_factory=ViewBlocks)
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

    If the model's provider lacks what a policy needs, `auto` replaces the policy.
    """
    settings, limits = in_force(settings, model), limits_of(model, settings)
    if settings.policy == NATIVE:
        from agentcli.context.context_editing import foreseen

        view = foreseen(view, limits.usable, counter, settings, traits)
    return Window(view, limits, counter, settings, traits, supersession or Supersession(), laid_out or ViewBlocks())


def in_force(settings: ContextSettings, model: ModelSpec) -> ContextSettings:
    """Return the settings with the policy that this model allows."""
    if settings.policy not in (NATIVE, PROVIDER):
        return settings

    return replace(settings, policy="auto") if missing(settings.policy, model) else settings


def reply_tokens(window: int) -> int:
    """Return the maximum number of tokens that a window reserves for the reply.

    It is half of the window, or a quarter of a small one, which needs more for its fixed part.
    """
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
        cache_lifetime=model.cache_lifetime,
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


def worth_a_price(window: Window) -> int:
    """Return the size in tokens from which the price of a compaction is computed."""
    return math.ceil(max(window.usable * window.settings.compact_floor, window.settings.compact_least))


def is_priced(window: Window) -> bool:
    """Return True if a compaction below the soft mark is made when it pays."""
    return window.settings.compact_horizon > 0 and window.settings.auto.lean == "price"


_NOTICE = "[Large input saved to "
_REFERENCE = re.compile(re.escape(_NOTICE) + r"(.+): ([\d,]+) lines, [\d,]+ bytes, about .*\]\n")
_LEFT_OUT = re.compile(r"\n\[… [\d,]+ more lines in .+ …\]\n")


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a text."""

    bytes: int
    lines: int
    tokens: int


def oversize(texts: Mapping[int, str], window: Window) -> Sequence[int]:
    """Return the places of the texts of a prompt that are too large to send whole without asking.

    They are in order. A text is sent whole if it takes at most `large_input_share` of the free window. Up to
    `large_input_tokens` it always is, because a full window is compacted first. On a small window, the limit is that
    share of the whole window.
    """
    settings, share = window.settings, window.settings.large_input_share
    least = min(settings.large_input_tokens, int(window.usable * share))
    free, large = window.usable - window.tokens, []
    for place, text in texts.items():
        tokens = window.counter.text(text)
        if tokens > max(least, int(free * share)):
            large.append(place)
        else:
            free -= tokens
    return large


def size_of(text: str, counter: TokenCounter) -> Size:
    """Return the size of a text, its bytes as UTF-8."""
    return Size(len(text.encode("utf-8", "surrogatepass")), text.count("\n") + 1, counter.text(text))


def is_reference(text: str) -> bool:
    """Return True for a text made by `reference`."""
    return text.startswith(_NOTICE)


@dataclass(frozen=True, slots=True)
class Kept:
    """A text in a file: its number of lines, and the first of them."""

    path: str
    lines: int
    beginning: str


def kept(text: str) -> Kept | None:
    """Return the kept text behind a reference made by `reference`; None for any other text."""
    found = _REFERENCE.match(text)
    if found is None:
        return None
    return Kept(found[1], int(found[2].replace(",", "")), _LEFT_OUT.split(text[found.end() :])[0])


def reference(text: str, path: str, size: Size, settings: ContextSettings) -> str:
    """Return the reference that replaces the text in the message: its file, size, first and last lines."""
    head, tail, left_out = _ends(text, settings.large_input_lines, settings.large_input_line)
    notice = (
        f"{_NOTICE}{path}: {size.lines:,} lines, {size.bytes:,} bytes, about {size.tokens:,} tokens. "
        f'Read the parts you need with the read tool, or with recall(id="{PurePath(path).stem}").]'
    )
    between = f"[… {left_out:,} more lines in {path} …]"
    return "\n".join([notice, *head, *([between, *tail] if left_out else tail)])


def _ends(text: str, count: int, width: int) -> tuple[list[str], list[str], int]:
    lines = text.split("\n")
    cut = [
        line if len(line) <= width else f"{line[:width]} [… {len(line) - width:,} more characters]"
        for line in lines[:count]
    ]
    rest = lines[count:]
    last = rest[-count:] if count else []
    tail = [
        line if len(line) <= width else f"[{len(line) - width:,} characters before …] {line[-width:]}" for line in last
    ]
    return cut, tail, len(rest) - len(last)


INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        NATIVE: "agentcli clears old outputs itself, by the policy auto.",
        PROVIDER: "agentcli summarises itself, by the policy auto.",
    }
)
"""By policy, what happens instead, for people."""
_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        NATIVE: "works only with Claude on Anthropic's own API",
        PROVIDER: "works only with models of Anthropic's and OpenAI's own APIs that can compact a conversation",
    }
)


def missing(policy: str, model: ModelSpec) -> str:
    """Return the reason why this model cannot follow the policy; empty if it can."""
    supported = {NATIVE: model.context_editing, PROVIDER: bool(model.compacts_from)}
    if supported.get(policy, True):
        return ""
    return f"The policy {policy} {_NEEDS[policy]}; {model.name} is another model."


def fallen_back(policy: str, model: ModelSpec) -> str:
    """Return that reason, and what happens instead."""
    return f"{missing(policy, model)} {INSTEAD[policy]}"
