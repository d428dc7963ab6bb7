"""Plans of compactions, the common result of all policies, and their builders."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Literal

from agentcli.context.cleared import input_key, is_input_key, keeps_input
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Text, ToolCall, ToolResult
from agentcli.core.text.words import plural

PlanTrigger = Literal["soft", "hard", "overflow", "manual"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a policy would make to a view."""

    policy: str
    trigger: PlanTrigger | None = None
    """None if there is no reason to compact."""
    split: int | None = None
    """Seq of the first record that stays unchanged; None if nothing is summarised."""
    summarised: tuple[int, ...] = ()
    """Seqs, as in `kept` and `pinned`."""
    kept: tuple[int, ...] = ()
    cleared: tuple[str, ...] = ()
    """Call ids whose outputs are cleared."""
    pinned: tuple[int, ...] = ()
    tokens_before: int = 0
    tokens_after_estimate: int = 0
    """An estimate, like `tokens_before`."""
    reasons: tuple[str, ...] = ()
    """Lines for people."""
    regions: tuple[tuple[str, ...], ...] = ()
    """For `regions`: groups that one summary each replaces.

    A group contains call ids, and `#seq` for the reminders of a record.
    """
    clipped: tuple[str, ...] = ()
    """What keeps only its two ends, because it is new and merely too large.

    An entry is a call id for an output, `input_key` for an input, or `#seq` for a reply's text. Outputs are also in
    `cleared`.
    """
    repeated: tuple[str, ...] = ()
    """`#seq` of kept answers that a later answer of the same turn repeats: a line takes their place."""
    primers: tuple[int, ...] = field(default=())
    """For `sliding`: seqs from before `split` that stay verbatim in front of the summary."""
    needed: tuple[int, ...] = ()
    """For `auto`: seqs of older steps that stay verbatim behind the summary, because the work in progress needs them."""
    cleared_inputs: tuple[str, ...] = ()
    """Call ids whose inputs are cleared."""
    optional: bool = False
    """True if its price is the only reason: no mark has been passed."""
    phase: str = ""
    """Sign that a phase of the work has just ended: the compaction then does not wait for the turn's end."""

    def is_due(self, boundary: bool) -> bool:
        """Return True if it must be carried out now; `boundary`: a prompt waits for its answer."""
        return self.trigger is not None and (boundary or self.trigger != "soft" or bool(self.phase))

    @property
    def does_something(self) -> bool:
        """True if carrying it out changes the view."""
        return bool(self.summarised or self.clipped or self.regions)


def compactable(view: View) -> tuple[ViewMessage, ...]:
    """Return the messages without blocks of the compactor, oldest first."""
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
    """Return the records of the messages, oldest first."""
    return tuple(sorted({block.seq for message in messages for block in message.blocks}))


def opens_turn(message: ViewMessage) -> bool:
    """Return True if a message is the user's and answers no call: the split may be before it."""
    return message.role == "user" and not message.has_results


def opens_step(message: ViewMessage) -> bool:
    """Return True if a step of the model begins here; all earlier calls are then answered.

    A long turn may be split before such a message.
    """
    return message.role == "assistant"


def recent_from(messages: Sequence[ViewMessage], sizes: Sequence[int], tokens: int, *, at_most: bool = False) -> int:
    """Return the index of the first message that stays.

    The newest `tokens`, the model's newest answer and a prompt that waits always stay. A message only partly among
    these tokens stays too, unless `at_most` makes them a maximum.
    """
    at, left = len(messages), tokens
    while at and left > 0 and not (at_most and sizes[at - 1] > left):
        at -= 1
        left -= sizes[at]
    if messages and opens_turn(messages[-1]):
        at = min(at, len(messages) - 1)
    return min(at, next((n for n in range(len(messages) - 1, -1, -1) if messages[n].answer), at))


def without_current(messages: Sequence[ViewMessage]) -> Sequence[ViewMessage]:
    """Return the messages without the one that waits for its answer."""
    return messages[:-1] if messages and messages[-1].role == "user" else messages


def pinned(messages: Iterable[ViewMessage]) -> tuple[int, ...]:
    """Return the pinned records of the messages."""
    return tuple(sorted({block.seq for message in messages for block in message.blocks if block.pinned}))


def too_large(window: Window, kept: Sequence[ViewMessage], excess: int, spared: Container[str] = ()) -> dict[str, int]:
    """Return what to cut to its two ends, except `spared` outputs, with the tokens that each frees.

    Together they free at least `excess` tokens, if enough can be cut. The largest go first, and outputs before what the
    model wrote itself.
    """
    chosen: dict[str, int] = {}
    for found in (_outputs, _written) if excess > 0 else ():
        sizes = [(size - window.settings.auto.clipped, key) for key, size in found(window, kept) if key not in spared]
        for freed, key in sorted(sizes, reverse=True):
            if excess <= 0 or freed <= window.settings.auto.clipped:
                break
            chosen[key] = freed
            excess -= freed
    return chosen


def repeated_answers(messages: Sequence[ViewMessage]) -> tuple[str, ...]:
    """Return the keys of answers that a later answer repeats, with only reminders between them."""
    found: list[str] = []
    later: set[str] = set()
    for message in reversed(messages):
        if message.is_prompt or message.calls:
            later = set()
        elif message.answer and not any(block.pinned or block.original for block in message.blocks):
            words = set(message.answer.split())
            if len(message.answer) >= _LONG_ANSWER and len(words & later) >= _REPEATED * len(words):
                found.append(f"#{message.seq}")
            later |= words
    return tuple(found)


_LONG_ANSWER, _REPEATED = 200, 0.8
"""Characters from which an answer is left out, and the share of its words that come again."""


def outputs(cuts: Iterable[str]) -> tuple[str, ...]:
    """Return the cut parts that are outputs."""
    return tuple(key for key in cuts if not (is_input_key(key) or key.startswith("#")))


def _outputs(window: Window, kept: Sequence[ViewMessage]) -> Iterator[tuple[str, int]]:
    """Yield the outputs that may be cut, with their sizes."""
    for block in (block for message in kept for block in message.blocks):
        if not isinstance(block.part, ToolResult) or block.source != "tool" or block.pinned or block.cleared:
            continue
        if block.part.name not in window.settings.prune.protected_tools:
            yield block.tool_use_id, window.size(block)


def _written(window: Window, kept: Sequence[ViewMessage]) -> Iterator[tuple[str, int]]:
    """Yield the model's own texts and inputs of calls that may be cut, with their sizes."""
    for message in kept:
        texts = [block for block in message.blocks if isinstance(block.part, Text) and block.source == "assistant"]
        if texts and not any(block.pinned or block.original or block.part.meta for block in texts):  # type: ignore[union-attr]
            yield f"#{texts[0].seq}", sum(map(window.size, texts))
        for block in message.blocks:
            call = block.part
            if isinstance(call, ToolCall) and not (block.pinned or block.cleared or keeps_input(call)):
                yield input_key(call.call_id), window.size(block)


def cut_plan(window: Window) -> Plan:
    """Return the plan to cut the largest parts of the view, for a prompt that nothing else makes fit."""
    planned = keep_all(window.settings.policy, window, trigger="hard")
    cuts = too_large(window, compactable(window.view), window.tokens - window.limits.hard)
    if not cuts:
        return planned
    return replace(
        planned,
        cleared=outputs(cuts),
        clipped=tuple(cuts),
        tokens_after_estimate=max(0, window.tokens - sum(cuts.values())),
        reasons=(f"Will cut {plural(len(cuts), 'part')} to the two ends: nothing else makes the prompt fit.",),
    )


def keep_all(policy: str, window: Window, *reasons: str, trigger: PlanTrigger | None = None) -> Plan:
    """Return the plan to leave everything unchanged, with the reasons."""
    blocks, before = window.blocks, window.tokens
    ours = window.view.compaction.seq if window.view.compaction else None
    return Plan(
        policy,
        trigger,
        kept=_without(ours, blocks.seqs),
        pinned=_without(ours, blocks.pinned),
        tokens_before=before,
        tokens_after_estimate=before,
        reasons=reasons,
    )


def _without(ours: int | None, seqs: Sequence[int]) -> tuple[int, ...]:
    return tuple(seqs) if ours is None else tuple([seq for seq in seqs if seq != ours])


def split_plan(
    policy: str,
    trigger: PlanTrigger,
    window: Window,
    at: int,
    summary: int,
    *reasons: str,
    primers: int = 0,
) -> Plan:
    """Return the plan to summarise `compactable(window.view)[primers:at]` in about `summary` tokens and keep the rest."""
    view, before = window.view, window.tokens
    messages = compactable(view)
    gone, kept = messages[primers:at], (*messages[:primers], *messages[at:])
    freed = sum(window.counter.each(messages)[primers:at])
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
