"""Events as one closed union: front ends and the store match on it, the type checker proves they are complete."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Pieces, ToolCall, Usage
from agentcli.core.record import CompactionStatus, Record, Trigger

Ending = Literal["done", "interrupted", "limit", "refused", "incomplete", "blocked", "failed"]
"""Outcome of a turn. `incomplete`: the model never gave a complete answer, even if some text arrived. `blocked`: a hook
blocked the prompt.
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record is on disk. Everything lasting is announced this way: messages, tool results, prunes, titles."""

    record: Record


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply's text, for display; the message that follows is authoritative.

    `whole` is the growing text that contains it, if the model keeps one.
    """

    text: str
    whole: Pieces | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's reasoning, for display."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """The model is writing a tool call; `text` is the next piece of its input's JSON, maybe empty."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyRestarted:
    """The reply broke off and is requested again: deltas shown so far no longer count."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """An allowed call begins to run. `title` describes it in one line."""

    call: ToolCall
    title: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool printed something.

    For a subagent or a script, the text is a call. `calls` and `tokens` count all so far.
    """

    call_id: str
    text: str
    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class PermissionDecided:
    """Decision on a call, with the rule that made it."""

    call_id: str
    name: str
    decision: Literal["allow", "deny", "ask"]
    rule: str
    why: str = ""
    host: str = ""
    """The host that the call's command may not reach; empty for a decision on the call itself."""
    allow: tuple[str, ...] = ()
    """Rules that would allow a call that is denied because no one can approve it."""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Usage of one request. `cost` is in USD or None if prices are unknown; `context` is the number of tokens now in the window."""

    usage: Usage
    cost: float | None
    context: int
    kind: Literal["reply", "summary", "title", "subagent", "page", "search", "check", "aside"] = "reply"


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """A compaction begins; it may request a summary from a model."""

    trigger: Trigger
    policy: str


@dataclass(frozen=True, slots=True)
class CompactionEnded:
    """End of a compaction, even one that did not change the view. `why` is a line for people."""

    trigger: Trigger
    status: CompactionStatus
    policy: str
    tokens_before: int
    tokens_after: int
    why: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """Old outputs were cleared from the view; `why` is the reason for doing it now."""

    call_ids: tuple[str, ...]
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """A request failed and may succeed later. It is repeated in `delay` seconds, and for `left` more seconds if it
    still fails.
    """

    attempt: int
    delay: float
    reason: str
    left: float = 0.0

    def text(self, delay: float | None = None) -> str:
        """Return the event as a line for people; `delay` in seconds is the remaining wait, by default the whole delay."""
        wait = seconds_left(self.delay if delay is None else delay)
        return f"{self.reason}. Retrying in {wait} (attempt {self.attempt})"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Backpressure: the next request waits `delay` seconds.

    `reason` is a low budget, or an earlier refusal of requests with its key.
    """

    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know; the work continues."""

    message: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """An automatic action and its reason, in one line."""

    message: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over and the history is valid. `text` is the final answer; `error` is set if it failed.

    `verified` is True if the session's calls prove the answer's claims, such as that tests pass. It is None if the
    answer claims nothing.
    """

    ending: Ending
    text: str = ""
    error: Exception | None = None
    steps: int = 0
    verified: bool | None = None


def seconds_left(seconds: float) -> str:
    """Return a wait as readable text, rounded up: `3 s`, `2 min 5 s`."""
    minutes, rest = divmod(max(1, math.ceil(seconds)), 60)
    return " ".join([f"{minutes} min"] * bool(minutes) + [f"{rest} s"] * bool(rest))


Event = (
    Recorded
    | TextDelta
    | ThinkingDelta
    | CallDelta
    | ReplyRestarted
    | ToolStarted
    | ToolProgress
    | PermissionDecided
    | UsageReported
    | CompactionStarted
    | CompactionEnded
    | Pruned
    | Retrying
    | Waiting
    | Warned
    | Noticed
    | TurnEnded
)

Emit = Callable[[Event], Awaitable[None]]
"""Takes the events of a turn as they happen. The turn awaits it, so a slow reader slows the turn down."""


async def emit_all(events: Iterable[Event], emit: Emit) -> None:
    """Emit events one after the other; create each only after the previous one was taken."""
    for event in events:
        await emit(event)
