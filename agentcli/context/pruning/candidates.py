"""Candidates of a prune: clearable outputs and inputs of edits in the order of clearing, with the tokens that each frees; and the cost of
an edit on a warm cache."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from agentcli.context.cleared import cleared_input, cleared_result
from agentcli.context.ledger.command_results import summary_of
from agentcli.context.loss.price import is_worth, priced
from agentcli.context.pruning.blocks import completed
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Prune
from agentcli.core.tool import UNKNOWN


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output, or the `input` of an edit, that may be cleared; `tokens` is the size that this frees.

    `rank` 0 is out of date, 1 old, 2 live content of the newest turns, 3 the text of an error. `carried` is how many requests
    it has been sent with since it became so.
    """

    call_id: str
    seq: int
    position: int
    tokens: int
    rank: int
    carried: int = 0
    input: bool = False


class TokenLayout:
    """A view with the place of each block in tokens.

    `thoughts` are tokens that any edit invalidates besides those removed, since thoughts are bound to the content before them.
    """

    def __init__(self, window: Window) -> None:
        self.window, self.counter, self.index = window, window.counter, window.blocks
        self.blocks = self.index.blocks
        self.total = self.index.start(len(self.blocks))
        bound = self.index.thoughts if window.limits.preserved_thinking else []
        self.thoughts = self.index.thought_tokens if bound else 0
        self.first_thought = self.index.start(bound[0]) if bound else self.total

    def victim(self, number: int, rank: int, carried: int = 0) -> Candidate:
        """The candidate at this position."""
        block, part = self.blocks[number], self.blocks[number].part
        assert isinstance(part, ToolResult | ToolCall)
        given = isinstance(part, ToolCall)
        marker = (
            cleared_input(part) if isinstance(part, ToolCall) else cleared_result(part.call_id, part.name, part.status)
        )
        freed = self.index.size(number) - self.counter.part(marker)
        return Candidate(part.call_id, block.seq, self.index.start(number), freed, rank, carried, given)

    def edit(self, removed: int, first: int) -> EditCost:
        """Cost for the cache of removing so many tokens from a position on."""
        first = min(first, self.first_thought)
        return EditCost(removed, max(0, self.total - first - removed - self.thoughts), self.thoughts)

    def prune(self, chosen: Sequence[Candidate], why: str) -> Prune:
        """The record that clears these."""
        ordered = sorted(chosen, key=lambda victim: victim.position)
        drop = max(block.seq for block in self.blocks) + 1 if self.thoughts else 0
        freed = max(0, sum(victim.tokens for victim in ordered) + self.thoughts)
        outputs, inputs = ([victim.call_id for victim in ordered if victim.input is given] for given in (False, True))
        outcomes = self._outcomes(outputs)
        freed -= sum(map(self.counter.text, outcomes.values()))
        return Prune(tuple(outputs), max(0, freed), why, drop, tuple(inputs), outcomes)

    def _outcomes(self, call_ids: Sequence[str]) -> dict[str, str]:
        """The outcome of each command among these calls, where it is worth its tokens."""
        loss, traits = priced(self.window), self.window.traits
        parts = {block.tool_use_id: block.part for block in self.blocks if isinstance(block.part, ToolResult)}
        runs = [parts[call] for call in call_ids if traits.get(parts[call].name, UNKNOWN).runs_commands]
        found = {result.call_id: summary_of(result.output, _failed(result)) for result in runs if loss.enabled}
        return {call: text for call, text in found.items() if text and is_worth(len(text), loss.command_chance, loss)}


def candidates(layout: TokenLayout) -> tuple[Candidate, ...]:
    """All clearable outputs and inputs of edits, best first: out of date, then old, then live content, then errors.

    Outputs that the model has not answered yet are never among them, nor are the newest `auto_protect` tokens of outputs (on a
    small window a quarter of it) unless they are out of date. Of an edit that succeeded the file is the truth: its input goes
    beyond the newest `auto_protect` tokens of outputs and inputs, once its file was touched again or, if it is large, once its turn has passed.
    """
    rules, index = layout.window.settings.prune, layout.index
    outdated, protect = layout.window.superseded.outputs, rules.protected(layout.window.usable)
    found, total = [], 0
    for number in reversed(index.standing[: bisect_left(index.standing, index.answered)]):
        block = layout.blocks[number]
        total += index.size(number)
        dead = outdated.get(block.tool_use_id)
        if total <= protect and dead is None:
            continue
        old = index.turns_behind(number) >= rules.auto_turns
        rank = 0 if dead else 3 if not completed(block) else 1 if old else 2
        age = index.requests_since(dead.since) if dead else index.requests_beyond(number, protect, rules.auto_turns)
        victim = layout.victim(number, rank, age)
        if victim.tokens >= rules.smallest:
            found.append(victim)
    found += _inputs(layout, protect) if rules.inputs and index.inputs else ()
    return tuple(sorted(found, key=lambda victim: (victim.rank, victim.position)))


def _inputs(layout: TokenLayout, protect: int) -> Iterator[Candidate]:
    rules, index, outdated = layout.window.settings.prune, layout.index, layout.window.superseded.edits
    newest = index.replies[-1]
    protected_turns, total = max(1, rules.auto_turns), 0
    for number in sorted((*index.standing, *index.inputs), reverse=True):
        block, call = layout.blocks[number], layout.blocks[number].part
        if isinstance(call, ToolCall) and (block.seq == newest or call.call_id not in index.succeeded):
            continue
        total += index.size(number)
        if not isinstance(call, ToolCall):
            continue
        touched = outdated.get(call.call_id)
        if total <= protect or (touched is None and index.size(number) < rules.input_least):
            continue
        rank = 0 if touched else 1 if index.turns_behind(number) >= protected_turns else 2
        age = (
            index.requests_since(touched.since) if touched else index.requests_beyond(number, protect, protected_turns)
        )
        victim = layout.victim(number, rank, age)
        if victim.tokens >= rules.smallest:
            yield victim


def _failed(result: ToolResult) -> bool:
    return result.failed or bool(result.metadata.get("exit_code"))


@dataclass(frozen=True, slots=True)
class EditCost:
    """An edit of the sent history, in tokens.

    `removed` are gone for good; `behind` survive behind the first changed byte and are written to the cache anew; `thoughts` are
    dropped with it because the edit invalidates them, and may have to be thought again.
    """

    removed: int
    behind: int
    thoughts: int = 0


def requests_to_pay(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """Requests after which an edit is cheaper than none: R·(w−r) / (S·r), or infinity where it never is.

    `write`, `read` and `output` are prices in units of one fresh token. Dropped thoughts are saved like everything removed,
    and cost once what it takes to write them again.
    """
    saved = (edit.removed + edit.thoughts) * read
    cost = edit_cost(edit, write, read, output)
    if cost <= 0:
        return 0.0
    return cost / saved if saved > 0 else math.inf


def edit_cost(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """One-time cost of an edit in fresh tokens."""
    return edit.behind * (write - read) + edit.thoughts * output
