"""Compaction by regions: old tool outputs and reminders are summarised in their places, the largest first; words and calls stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentcli.context.policies.plans import Plan, PlanTrigger, compactable, keep_all, seqs
from agentcli.context.settings import RegionSettings
from agentcli.context.view import Block, ViewMessage, replaced_key
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Text, ToolResult

POLICY = "regions"
_SOURCES = ("tool", "reminder")


@dataclass(frozen=True, slots=True)
class Region:
    """Neighbouring outputs and reminders that may be summarised together; sizes in tokens and bytes."""

    blocks: tuple[Block, ...]
    tokens: int
    bytes: int

    @property
    def keys(self) -> tuple[str, ...]:
        """Call ids of its outputs, then `#seq` of the records of its reminders."""
        keys = dict.fromkeys(map(replaced_key, self.blocks))
        return tuple(sorted(keys, key=lambda key: key.startswith("#")))


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Choose the regions to summarise, each to a fifth of its size, until the aim is reached.

    A call and its result stay together: the result stays in its place with the summary as its content.
    """
    rules, limits, before = window.settings.regions, window.limits, window.tokens
    trigger = _due(window, forced)
    if trigger is None or not (forced or window.settings.autocompact):
        return keep_all(POLICY, window, f"{before:,} tokens are below {rules.soft:.0%} of the window.")
    # If the user requests it below the aim, the aim is a share of the current size.
    aim = int(min(limits.window, before) * rules.aim)
    if trigger == "hard":
        aim = min(limits.usable, int(limits.window * rules.hard)) - rules.buffer
    chosen, after = _enough(by_worth(regions(window), rules), before, aim, rules)
    if not chosen:
        fresh = trigger == "manual" and not any(map(_is_summary, window.view.blocks))
        why = NOTHING_OLD if fresh else EXHAUSTED
        return keep_all(POLICY, window, why, trigger=trigger)
    proposed = keep_all(
        POLICY,
        window,
        f"{before:,} tokens are in use, {aim:,} is the aim.",
        f"Will summarise {len(chosen)} regions of old outputs to a {_ordinal(rules.ratio)} each.",
        *([] if after <= aim else [f"About {after:,} remain: more than the aim."]),
        trigger=trigger,
    )
    messages, going = compactable(window.view), {key for region in chosen for key in region.keys}
    stays = {block.seq for message in messages for block in message.blocks if replaced_key(block) not in going}
    gone = {block.seq for region in chosen for block in region.blocks} - stays
    return replace(
        proposed,
        summarised=tuple(sorted(gone)),
        kept=tuple(seq for seq in proposed.kept if seq not in gone),
        pinned=tuple(sorted({*proposed.pinned, *seqs(messages[_recent(messages, window) :])})),
        regions=tuple(region.keys for region in chosen),
        tokens_after_estimate=after,
    )


NOTHING_OLD = "There is no old tool output to summarise yet; messages and recent outputs stay."
EXHAUSTED = (
    "Nothing is left to compact: a summary is never summarised again. Continue in a new session "
    "that starts with a summary of this one (/handoff)."
)


def regions(window: Window) -> tuple[Region, ...]:
    """Return runs of neighbouring outputs and reminders outside the recent part, oldest first; any other block ends a run."""
    messages = compactable(window.view)
    found: list[Region] = []
    run: list[Block] = []
    for message in messages[: _recent(messages, window)]:
        for block in message.blocks:
            if _compactable(block):
                run.append(block)
            elif run:
                found.append(_region(run, window))
                run = []
    return (*found, _region(run, window)) if run else tuple(found)


def by_worth(found: Sequence[Region], rules: RegionSettings) -> list[Region]:
    """Sort large outputs first, small ones last, and the largest first among equals."""
    return sorted(found, key=lambda region: (_rank(region, rules), -region.tokens, region.blocks[0].seq))


def heading(first: int, last: int) -> str:
    """Return the line above each summary."""
    return f"[compacted summary of turns {first}-{last}]"


def threshold(window: Window) -> int:
    """Return the size in tokens beyond which it compacts at a turn boundary."""
    return int(window.limits.window * window.settings.regions.soft)


def hard(window: Window) -> int:
    """Return the size in tokens beyond which it also compacts between two steps."""
    return int(window.limits.window * window.settings.regions.hard)


def _due(window: Window, forced: bool) -> PlanTrigger | None:
    before = window.tokens
    if before > hard(window):
        return "hard"
    if forced:
        return "manual"
    return "soft" if before > threshold(window) else None


def _recent(messages: Sequence[ViewMessage], window: Window) -> int:
    """Return the index of the first message of the recent part, which is pinned.

    The recent part is within both the newest tokens and the newest turns.
    """
    rules = window.settings.regions
    newest = messages[-1].turn if messages else 0
    left = rules.keep_recent_tokens
    for number in range(len(messages) - 1, -1, -1):
        if left <= 0 or messages[number].turn <= newest - rules.keep_recent_turns:
            return number + 1
        left -= window.size(messages[number])
    return 0


def _compactable(block: Block) -> bool:
    return (
        bool(replaced_key(block))
        and block.source in _SOURCES
        and block.compactable
        and not (block.pinned or block.cleared)
    )


def _is_summary(block: Block) -> bool:
    return isinstance(block.part, ToolResult) and block.source == "compactor"


def _region(blocks: Sequence[Block], window: Window) -> Region:
    return Region(tuple(blocks), sum(map(window.size, blocks)), sum(_bytes(text_of(block)) for block in blocks))


def text_of(block: Block) -> str:
    """Return the output or the reminder in a block."""
    match block.part:
        case ToolResult(output=text) | Text(text):
            return text
        case _:
            return ""


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _rank(region: Region, rules: RegionSettings) -> int:
    if region.bytes > rules.large_output:
        return 0
    return 2 if region.bytes < rules.small_output else 1


def _enough(ranked: Sequence[Region], before: int, aim: int, rules: RegionSettings) -> tuple[list[Region], int]:
    chosen, after = [], before
    for region in ranked:
        if after <= aim:
            break
        saved = region.tokens - rules.summary_of(region.tokens)
        if saved > 0:
            chosen.append(region)
            after -= saved
    return chosen, after


def _ordinal(ratio: int) -> str:
    return {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}.get(ratio, f"1/{ratio}")
