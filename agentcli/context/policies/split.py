"""The part of a view that a planner may divide: all of it but the snapshot of the compaction before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentcli.context.compaction.plan import Plan, PlanTrigger
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import Window


def compactable(view: View) -> tuple[ViewMessage, ...]:
    """The messages without blocks of the compactor, oldest first."""
    ours = view.compaction.seq if view.compaction else None
    if ours is None:
        return view.messages
    own = []
    for message in view.messages:
        blocks = tuple(block for block in message.blocks if block.seq != ours)
        if len(blocks) == len(message.blocks):
            own.append(message)
        elif blocks:
            own.append(replace(message, blocks=blocks, seq=min(block.seq for block in blocks)))
    return tuple(own)


def seqs(messages: Iterable[ViewMessage]) -> tuple[int, ...]:
    """The records that messages are made of, oldest first."""
    return tuple(sorted({block.seq for message in messages for block in message.blocks}))


def opens_turn(message: ViewMessage) -> bool:
    """True if a message is the user's and answers no call: the split may fall before it."""
    return message.role == "user" and not message.has_results


def opens_step(message: ViewMessage) -> bool:
    """True if a step of the model begins here, all calls before it being answered: a long turn may be split before it."""
    return message.role == "assistant"


def without_current(messages: Sequence[ViewMessage]) -> Sequence[ViewMessage]:
    """The messages but the one that waits for its answer."""
    return messages[:-1] if messages and messages[-1].role == "user" else messages


def pinned(messages: Iterable[ViewMessage]) -> tuple[int, ...]:
    """The records among them that are pinned."""
    return tuple(sorted({block.seq for message in messages for block in message.blocks if block.pinned}))


def keep_all(policy: str, window: Window, *reasons: str, trigger: PlanTrigger | None = None) -> Plan:
    """The plan to leave everything unchanged, with the reasons."""
    messages, before = compactable(window.view), window.tokens
    return Plan(
        policy,
        trigger,
        kept=seqs(messages),
        pinned=pinned(messages),
        tokens_before=before,
        tokens_after_estimate=before,
        reasons=reasons,
    )


def split_plan(
    policy: str,
    trigger: PlanTrigger,
    window: Window,
    at: int,
    summary: int,
    *reasons: str,
    primers: int = 0,
) -> Plan:
    """The plan to summarise `stretch(window.view)[primers:at]` in about `summary` tokens and keep the rest."""
    view, before = window.view, window.tokens
    messages = compactable(view)
    gone, kept = messages[primers:at], (*messages[:primers], *messages[at:])
    freed = sum(map(window.size, gone))
    if view.compaction:
        freed += sum(window.size(block) for block in view.blocks if block.seq == view.compaction.seq)
    return Plan(
        policy,
        trigger,
        split=messages[at].seq if at < len(messages) else None,
        summarised=seqs(gone),
        kept=seqs(kept),
        pinned=pinned(messages),
        tokens_before=before,
        tokens_after_estimate=max(0, before - freed) + summary,
        reasons=reasons,
        primers=seqs(messages[:primers]),
    )
