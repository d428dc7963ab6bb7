"""What the reports of a provider say of the messages between two replies: sizes that need no guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agentcli.context.view import View, ViewMessage
from agentcli.core.message import Usage
from agentcli.core.record import Compaction, Prune

LEAST, MOST, SLACK = 0.5, 2.0, 50
"""A report is believed that says no less and no more than these times the estimate, give or take so many tokens."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The messages from one reply up to the next. `usage` is that of the reply they begin with, None before the first."""

    usage: Usage | None = None
    scale: float = 1.0
    guess: int = 0
    edited: bool = False

    def tokens(self, following: Usage | None) -> int:
        """As reported by the difference of two prompts, where that is believable, else the estimate."""
        if self.usage is None or following is None or self.edited:
            return self.guess
        said = round((following.prompt - self.usage.prompt) * self.scale)
        return said if LEAST * self.guess - SLACK <= said <= MOST * self.guess + SLACK else self.guess


def measured(view: View, guess: Callable[[ViewMessage], int], scale: Callable[[str], float]) -> int:
    """Tokens of a view's messages right after a compaction, before any reply to it.

    What stayed was sent before: the prompts of two replies differ by what lies between them. Only the snapshot, what
    came since, and what an edit has changed must be guessed. `scale` turns tokens of the model with that id into tokens
    of the one in use.
    """
    total, span, dropped = 0, _Span(), _thinking_dropped_before(view)
    for message in view.messages:
        usage = _report(view, message)
        if usage is not None:
            total += span.tokens(usage)
            span = _Span(usage, scale(message.model), edited=message.seq < dropped)
        span = replace(span, guess=span.guess + guess(message), edited=span.edited or _is_edited(message))
    return total + span.guess


def _report(view: View, message: ViewMessage) -> Usage | None:
    """What was reported with a reply to this very view, as far as it goes back."""
    elsewhere = any(start < message.seq < end for start, end in view.undone)
    usage = message.usage if message.role == "assistant" and not elsewhere else None
    return usage if usage and usage.prompt else None


def _is_edited(message: ViewMessage) -> bool:
    return any(block.cleared or block.source == "compactor" for block in message.blocks)


def _thinking_dropped_before(view: View) -> int:
    edits = [record.body for record in (view.compaction, *view.prunes) if record]
    return max((edit.drop_thinking_before for edit in edits if isinstance(edit, Compaction | Prune)), default=0)
