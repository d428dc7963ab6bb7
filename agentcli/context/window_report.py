"""Report on the window: its contents, and the fate of each message under the policy in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType
from typing import Any

from agentcli.context.policies.plans import Plan
from agentcli.context.tokens.counter import as_text
from agentcli.context.view import Block, View, ViewMessage
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ADDED, File, Image, Text, Thinking, ToolCall, ToolResult

KINDS = ("system", "tools", "snapshot", "user", "assistant", "tool results", "pinned", "free")
"""Parts of the window, in the order of drawing."""
TIERS = ("agentcli", "user", "assistant", "tool")
"""Origins of text, the most trusted first."""


@dataclass(frozen=True, slots=True)
class Row:
    """One message of the view. `tier` is the lowest trust of its blocks, `fate` the effect of a compaction now."""

    seq: int
    role: str
    turn: int
    tokens: int
    tier: int
    fate: str
    text: str


@dataclass(frozen=True, slots=True)
class WindowReport:
    """What fills the window, by kind.

    `cached` are the tokens at its beginning that the provider's cache had at the last report.

    `marks` are thresholds by name, in tokens; 0 for one that is never reached.
    """

    shares: Mapping[str, int]
    usable: int
    window: int
    cached: int
    rows: tuple[Row, ...]
    marks: Mapping[str, int] = field(default_factory=dict)

    @property
    def used(self) -> int:
        """Tokens in use."""
        return sum(tokens for kind, tokens in self.shares.items() if kind != "free")

    def to_json(self) -> dict[str, Any]:
        """Return the report for scripts."""
        rows = [
            {
                "seq": row.seq,
                "role": row.role,
                "turn": row.turn,
                "tokens": row.tokens,
                "tier": row.tier,
                "fate": row.fate,
                "text": row.text,
            }
            for row in self.rows
        ]
        whole = {"used": self.used, "usable": self.usable, "window": self.window, "cached": self.cached}
        return {**whole, "shares": dict(self.shares), "messages": rows}


def show(
    window: Window,
    plan: Plan,
    *,
    system: int = 0,
    tools: int = 0,
    cached: int | None = None,
    marks: Mapping[str, int] = MappingProxyType({}),
) -> WindowReport:
    """Report the window as the next request would fill it.

    `system` and `tools` are tokens; everything else at the beginning counts as system. The parts are estimates; their
    sum is the count of the whole prompt, which every plan uses.
    """
    view, limits, system = window.view, window.limits, max(system, window.counter.head - tools)
    shares = dict.fromkeys(KINDS, 0) | {"system": system, "tools": tools}
    for block in view.blocks:
        shares[_kind(block)] += window.size(block)
    shares = _summing_to(window.tokens, shares)
    used = sum(shares.values())
    shares["free"] = max(0, limits.usable - used)
    edits = _Edits.of(plan)
    rows = tuple([_row(message, window, edits) for message in view.messages])
    known = _cached(view) if cached is None else cached
    return WindowReport(shares, limits.usable, limits.window, min(known, used), rows, marks)


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan with only the fields that scripts rely on."""
    return {
        "policy": plan.policy,
        "trigger": plan.trigger,
        "split": plan.split,
        "summarised": list(plan.summarised),
        "kept": list(plan.kept),
        "cleared": list(dict.fromkeys((*plan.cleared, *plan.cleared_inputs))),
        "pinned": list(plan.pinned),
        "tokens_before": plan.tokens_before,
        "tokens_after_estimate": plan.tokens_after_estimate,
        "reasons": list(plan.reasons),
    }


def _summing_to(total: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Scale the messages' shares so that all shares sum to `total`; the largest takes the rounding difference.

    If system and tools alone exceed that, all shares are scaled.
    """
    messages = {kind: tokens for kind, tokens in shares.items() if kind not in ("system", "tools")}
    if not sum(messages.values()):
        return dict(shares)
    left = total - shares["system"] - shares["tools"]
    if left < 0:
        messages, left = dict(shares), total
    estimated = sum(messages.values())
    scaled = {kind: tokens * left // estimated for kind, tokens in messages.items()}
    largest = max(scaled, key=lambda kind: scaled[kind])
    return {**shares, **scaled, largest: scaled[largest] + left - sum(scaled.values())}


def _kind(block: Block) -> str:
    if block.source == "compactor" and not isinstance(block.part, ToolResult):
        return "snapshot"
    if block.pinned:
        return "pinned"
    if isinstance(block.part, ToolResult):
        return "tool results"
    return "assistant" if block.source == "assistant" else "user"


def _row(message: ViewMessage, window: Window, edits: _Edits) -> Row:
    tier = max([block.tier for block in message.blocks], default=0)
    return Row(
        message.seq,
        message.role,
        message.turn,
        window.size(message),
        tier,
        edits.fate(message),
        _summary(message),
    )


@dataclass(frozen=True, slots=True)
class _Edits:
    """The effect of a plan: seqs that it summarises, and calls that it clips or clears."""

    summarised: Set[int]
    clipped: Set[str]
    cleared: Set[str]
    inputs: Set[str]

    @classmethod
    def of(cls, plan: Plan) -> _Edits:
        """Return the edits of a plan as sets, for look-ups for each block of a long view."""
        return cls(
            frozenset(plan.summarised), frozenset(plan.clipped), frozenset(plan.cleared), frozenset(plan.cleared_inputs)
        )

    def fate(self, message: ViewMessage) -> str:
        """Return the most notable fate of the message's blocks.

        A message with cleared outputs counts as cleared even if the rest is kept.
        """
        fates = {self._fate(block) for block in message.blocks}
        if "pinned" not in fates and all(block.source == "compactor" for block in message.blocks):
            return "snapshot"
        return next(fate for fate in _FATES if fate in fates)

    def _fate(self, block: Block) -> str:
        if block.pinned:
            return "pinned"
        if block.seq in self.summarised:
            return "summarised"
        call = block.tool_use_id
        if call and call in self.clipped:
            return "to clip"
        if (call and call in self.cleared) or (isinstance(block.part, ToolCall) and block.part.call_id in self.inputs):
            return "to clear"
        return "cleared" if block.cleared else "kept"


_FATES = ("pinned", "summarised", "to clip", "to clear", "cleared", "kept")
"""The fates of blocks, the most notable first."""


def _cached(view: View) -> int:
    for message in reversed(view.messages):
        if message.role == "assistant" and message.usage and message.usage.prompt:
            return message.usage.cache_read + message.usage.cache_write
    return 0


def _summary(message: ViewMessage) -> str:
    """Summarise a message in one line for a person: their words first, injected texts last, no reminders."""
    blocks: Sequence[Block] = message.blocks
    if len(blocks) > 1:
        blocks = sorted(blocks, key=lambda block: isinstance(block.part, Text) and block.part.synthetic)
    text = " · ".join(filter(None, map(_block_text, blocks))) or ADDED
    line = " ".join(text.split())
    short = line[:500]
    return short if short.isprintable() else "".join(letter for letter in short if letter.isprintable())


def _block_text(block: Block) -> str:
    match block.part:
        case Text(source="reminder"):
            return ""
        case Text(text):
            return text[:300]
        case Thinking():
            return "(thinking)"
        case ToolCall(_, name, given):
            return f"{name} {as_text(given)[:200]}"
        case ToolResult(_, name, status) as result:
            return f"{name} → {'' if status == 'success' else status + ': '}{result.for_people[:200]}"
        case File(_, path, _):
            return f"@{path}"
        case Image(mime):
            return f"({mime})"
