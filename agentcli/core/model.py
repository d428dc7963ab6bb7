"""Port to a model: its request, its reply, its specification, and the families of models."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import field, replace
from datetime import date
from typing import Any, Literal, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.event import CallDelta, Noticed, ReplyRestarted, Retrying, TextDelta, ThinkingDelta, Waiting
from agentcli.core.message import Image, Part, Role, Stop, Thinking, ToolResult, Usage

ThinkingStyle = Literal["none", "budget", "adaptive", "level"]
REPLY_TOKENS = 32_000
"""Maximum tokens of a reply to request or expect if nothing else is known."""
SMALL_WINDOW = 10_000
"""Maximum tokens of a small window: the usual system prompt and tools take most of half of it."""


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens. Beyond `over` prompt tokens the `over_*` prices apply to the whole request."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    over: int = 0
    over_input: float = 0.0
    over_output: float = 0.0
    over_cache_read: float = 0.0
    over_cache_write: float = 0.0

    def cost(self, usage: Usage) -> float:
        """Cost of a request with this usage, in USD."""
        long = bool(self.over) and usage.prompt > self.over
        fresh, out = (self.over_input, self.over_output) if long else (self.input, self.output)
        read, write = (self.over_cache_read, self.over_cache_write) if long else (self.cache_read, self.cache_write)
        return (usage.input * fresh + usage.output * out + usage.cache_read * read + usage.cache_write * write) / 1e6


@dataclass(frozen=True, slots=True)
class PriceChange:
    """Prices that apply from the day `since` on, an ISO date."""

    since: str
    prices: Prices


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Specification of a model. `kind` is its provider's kind; sizes are in tokens, `cache_lifetime` in seconds,
    `cache_lookback` in blocks.

    `prices` apply today, `price_changes` from later days on. The vendor switches it off on the day `retires`, an ISO
    date; `successor` is the model to use instead. `summary_model` writes the summaries of its sessions, at
    `summary_prices`. If `known` is false, it is in no table, and the numbers are documented defaults. `tiers` are the
    prices of service tiers as multiples of `prices`.
    """

    provider: str
    id: str
    kind: str = ""
    window: int = 200_000
    max_output: int = REPLY_TOKENS
    prices: Prices | None = None
    price_changes: tuple[PriceChange, ...] = ()
    tiers: Mapping[str, float] = field(default_factory=dict)
    retires: str = ""
    successor: str = ""
    cache_minimum: int = 1024
    cache_lifetime: float = 300.0
    cache_lookback: int = 20
    cache_explicit: bool = True
    thinking: ThinkingStyle = "none"
    preserved_thinking: bool = False
    system_messages: bool = False
    deferred_tools: bool = False
    """True if search results may load tool definitions by reference."""
    images: bool = True
    context_editing: bool = False
    """True if the provider can clear old outputs of a request itself."""
    compacts_from: int = 0
    """Tokens of a prompt from which the provider can summarise it itself; 0: it can't."""
    summary_model: str = ""
    summary_prices: Prices | None = None
    search_price: float | None = None
    """USD of one web search by the provider; None if it offers none."""
    window_stated: bool = False
    """True if the server itself states the window."""
    known: bool = True
    assumed: str = ""
    """Id of the same vendor's model whose figures stand in for an unknown model; empty for defaults."""

    @property
    def name(self) -> str:
        """`provider/id`, as a user would write it."""
        return f"{self.provider}/{self.id}"

    @property
    def line_numbers(self) -> LineNumbers:
        """Lines that it reads with numbers unless the user has chosen: the range that it requests by its first line.

        Over the reads of a recorded session, numbers add 23 to 28 % of tokens. Edits match text, and grep numbers its
        matches, so a family of models may need no numbers.
        """
        return self.family.line_numbers

    @property
    def family(self) -> Family:
        """The family of models that it belongs to."""
        return family_of(self.kind, self.id)

    @property
    def writes_freely(self) -> bool:
        """True if it can write the text of a tool with a grammar without JSON."""
        return bool(self.family.freeform and re.search(self.family.freeform, self.id, re.IGNORECASE))

    def cost(self, usage: Usage, day: str = "") -> float | None:
        """Return USD at the prices of a day (an ISO date), by default today; None if unknown. A service tier without a
        price costs the standard price.
        """
        prices = self.on(day or date.today().isoformat()).prices if self.price_changes else self.prices
        return None if prices is None else prices.cost(usage) * self.tiers.get(usage.tier, 1.0)

    def on(self, day: str) -> ModelSpec:
        """Return the spec with the prices of a day (an ISO date) and the price changes after it."""
        past = [change for change in self.price_changes if change.since <= day]
        if not past:
            return self
        newest = max(past, key=lambda change: change.since)
        later = tuple(change for change in self.price_changes if change.since > day)
        return replace(self, prices=newest.prices, price_changes=later)


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    grammar: str = ""
    """The Lark grammar of its one text, for models that can write it without JSON; empty for an object."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """The schema as a session's records store it."""
        form = {"grammar": self.grammar} if self.grammar else {}
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters), **form}

    @classmethod
    def recorded(cls, raw: Mapping[str, Any]) -> ToolSchema:
        """Return a schema from a record; records of the first versions may have only its name."""
        schema = raw.get("parameters", {"type": "object", "properties": {}})
        return cls(raw["name"], raw.get("description", ""), schema, str(raw.get("grammar") or ""))


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """One message of a request: all parts of one side before the other side's next message.

    A user's message has tool results first, then injections (synthetic texts, already wrapped), then the user's text.
    """

    role: Role
    parts: tuple[Part | ToolResult, ...]
    provider: str = ""
    model: str = ""

    @property
    def without_thinking(self) -> RequestMessage:
        """The message without the model's reasoning."""
        return replace(self, parts=tuple(part for part in self.parts if not isinstance(part, Thinking)))


MOST_BREAKPOINTS = 4
"""Maximum breakpoints of one request."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint of the provider's cache: after the system blocks (`message` -1), or after part `part` of message
    `message`.
    """

    message: int
    part: int = -1


@dataclass(frozen=True, slots=True)
class ContextEdits:
    """Parameters of context editing: before the model reads a request, the provider clears its oldest tool outputs and
    thoughts.

    Clearing starts beyond `trigger` tokens, or with `counts_uses` beyond so many tool uses. All but the newest `keep`
    uses are cleared if that frees `at_least` tokens; outputs of the tools in `exclude` stay. `inputs` are tools whose
    inputs are cleared as well. The thoughts of the newest `thinking_turns` turns stay, with 0 all.
    """

    trigger: int
    keep: int
    at_least: int = 0
    counts_uses: bool = False
    exclude: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    thinking_turns: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """Everything sent to a model. Equal requests give equal bytes on the wire.

    `deferred` are the tools that search results refer to. They are not part of the beginning, so each request may have
    more of them.
    """

    model: ModelSpec
    system: tuple[str, ...]
    tools: tuple[ToolSchema, ...]
    messages: tuple[RequestMessage, ...]
    breakpoints: tuple[Breakpoint, ...] = ()
    max_output: int = REPLY_TOKENS
    options: Mapping[str, Any] = field(default_factory=dict)
    deferred: tuple[ToolSchema, ...] = ()
    context_edits: ContextEdits | None = None
    searches: int = 0
    """Maximum web searches by the provider for this request; 0: none."""
    compaction: str | None = None
    """Instructions for a summary of all messages by the provider; None for any other request.

    The summary is the whole reply: one text of the compactor, with the provider's own data. The last part of the last
    message repeats the order as text.
    """


@dataclass(frozen=True, slots=True)
class PartDone:
    """A part of the reply is complete. With its signature and opaque data it is authoritative; the deltas were for
    display.
    """

    part: Part


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """Usage so far; a later one replaces an earlier one."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class EditsApplied:
    """Oldest tool uses and thoughts that the provider reports as cleared from the request."""

    tool_uses: int = 0
    tokens: int = 0
    thinking_turns: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A web page that a search found, with a passage if the provider shows one."""

    url: str
    title: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """Provider's report of its web searches for a reply: `count` is billed, `trouble` is the reason of a failure."""

    queries: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    count: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The reply ended as the provider intended. Without this, the stream was cut, and none of its calls may run.

    `tool` is the tool of a malformed call, `sent` the call itself, if the provider reports them.
    """

    stop: Stop
    detail: str = ""
    tool: str = ""
    sent: str = ""


StreamEvent = (
    TextDelta
    | ThinkingDelta
    | CallDelta
    | PartDone
    | UsageSeen
    | EditsApplied
    | Searched
    | Stopped
    | Retrying
    | Waiting
    | ReplyRestarted
    | Noticed
)


class Model(Protocol):
    """A language model. Retrying, recording, budgets and chaos are Models that wrap a Model."""

    @property
    def spec(self) -> ModelSpec:
        """Its specification."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Send a request. Yields deltas for display, each finished part once, usage, and `Stopped` last.

        Raises ModelError. Closing or cancelling the iterator closes the connection. A truncated reply raises
        ModelError(cause="network") after its parts; it never ends silently.
        """
        ...

    async def count(self, request: Request) -> int | None:
        """Return the exact size of a prompt in tokens as the provider counts it.

        Return None if it does not count. Raises ModelError(cause="not_found") if the endpoint cannot count.
        """
        ...


__all__ = [
    "Breakpoint",
    "CallDelta",
    "Image",
    "Model",
    "ModelSpec",
    "PartDone",
    "Prices",
    "ReplyRestarted",
    "Request",
    "RequestMessage",
    "Retrying",
    "Searched",
    "Source",
    "Stopped",
    "StreamEvent",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingStyle",
    "ToolSchema",
    "UsageSeen",
    "Waiting",
]  # fmt: skip


LineNumbers = Literal["ranges", "always", "never"]
"""When lines of a file are numbered: in ranges requested by first line, always, or never."""


@dataclass(frozen=True, slots=True)
class Family:
    """Properties of the models whose id matches `ids`, or whose provider has a kind in `kinds`."""

    name: str
    ids: str = ""
    kinds: tuple[str, ...] = ()
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A tool that only this family gets, and the tools that it replaces.

    For models that write it as JSON it replaces only the first: small ones often fail with it.
    """
    without: tuple[str, ...] = ()
    """Tools that it does not get.

    It was trained on another tool for the same work, and may call that one several times in a reply.
    """
    freeform: str = ""
    """Ids of models that write a tool's text without JSON, constrained by its grammar, if the wire format supports
    that.
    """
    prompt: str = ""
    """The page of `prompts` that is added to the system prompt."""
    line_numbers: LineNumbers = "ranges"

    def has(self, kind: str, model: str) -> bool:
        """Return True for a model of this family."""
        return kind in self.kinds or bool(self.ids and re.search(self.ids, model, re.IGNORECASE))


OTHER = Family("other")
FAMILIES: tuple[Family, ...] = (
    Family("Claude", r"claude|anthropic"),
    # Line numbers add 42 % of tokens for Gemini, which needs a token for each digit.
    Family(
        "Gemini",
        r"gemini|gemma",
        ("google",),
        without=("multi_edit",),
        prompt="system-gemini.md",
        line_numbers="never",
    ),
    # In recordings, 296 of 296 file changes by GPT models were patches. Other families fail with patches half of the
    # time.
    Family(
        "GPT",
        r"\bgpt\b|codex|\bo[1-9]\b|chatgpt",
        instead={"apply_patch": ("multi_edit", "edit")},
        freeform=r"^(?!.*oss).*(?:\bgpt-?(?:[5-9]|\d\d)|codex)",
        prompt="system-gpt.md",
    ),
)
_OWN_TOOLS: Mapping[str, Family] = {tool: family for family in FAMILIES for tool in family.instead}


def family_of(kind: str, model: str) -> Family:
    """Return the family of a model by its provider's kind and its id."""
    return next((family for family in FAMILIES if family.has(kind, model)), OTHER)


def offers(family: Family, tool: str, available: frozenset[str], *, freely: bool = False) -> bool:
    """Return True if a model of a family gets one of the available tools. `freely` is its `writes_freely`."""
    if tool in family.without:
        return False
    if tool in _OWN_TOOLS:
        return tool in family.instead
    replaced = (
        name for own, left in family.instead.items() if own in available for name in left[: None if freely else 1]
    )
    return tool not in replaced
