"""Candidates of a prune: clearable outputs and inputs of edits in the order of clearing, with their tokens; and the cost of
an edit on a warm cache."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from agentcli.context.cleared import cleared_input, cleared_result
from agentcli.context.ledger.command_results import summary_of
from agentcli.context.loss.price import is_worth, priced
from agentcli.context.pruning.blocks import completed
from agentcli.context.pruning.superseded import Outdated
from agentcli.context.settings import PruneSettings
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Prune
from agentcli.core.tool import UNKNOWN


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output, or the `input` of an edit, that may be cleared; `tokens` is the size that this frees.

    `rank` 0 is out of date, 1 old, 2 live content of the newest turns, 3 the text of an error. `since` is the seq from which
    it is out of date. `number` counts the blocks before it, `position` their tokens.
    """

    call_id: str
    number: int
    position: int
    tokens: int
    rank: int
    since: int | None = None
    input: bool = False


class TokenLayout:
    """A view with the place of each block in tokens.

    `thoughts` are further tokens that any edit invalidates, because thoughts are bound to the content before them.
    """

    def __init__(self, window: Window) -> None:
        self.window, self.counter, self.index = window, window.counter, window.blocks
        self.blocks = self.index.blocks
        self.total = self.index.start(len(self.blocks))
        bound = self.index.thoughts if window.limits.preserved_thinking else []
        self.thoughts = self.index.thought_tokens if bound else 0
        self.first_thought = self.index.start(bound[0]) if bound else self.total

    def victim(self, number: int, rank: int, outdated: Outdated | None = None) -> Candidate:
        """Return the candidate at this position."""
        part = self.blocks[number].part
        given = isinstance(part, ToolCall)
        if isinstance(part, ToolCall):
            marker: ToolCall | ToolResult = cleared_input(part)
        else:
            assert isinstance(part, ToolResult)
            marker = cleared_result(part.call_id, part.name, part.status)
        freed = self.index.size(number) - self.counter.part(marker)
        since = outdated.since if outdated else None
        return Candidate(part.call_id, number, self.index.start(number), freed, rank, since, given)

    def carried(self, victim: Candidate) -> int:
        """Return the number of requests that have carried a candidate since it became one."""
        rules = self.window.settings.prune
        if victim.since is not None:
            return self.index.requests_since(victim.since)
        turns = _protected_turns(rules) if victim.input else rules.auto_turns
        return self.index.requests_beyond(victim.number, rules.protected(self.window.usable), turns)

    def edit(self, removed: int, first: int) -> EditCost:
        """Return the cost for the cache of removing `removed` tokens from position `first` on."""
        first = min(first, self.first_thought)
        return EditCost(removed, max(0, self.total - first - removed - self.thoughts), self.thoughts)

    def prune(self, chosen: Sequence[Candidate], why: str) -> Prune:
        """Return the record that clears these candidates."""
        ordered = sorted(chosen, key=lambda victim: victim.position)
        drop = max(block.seq for block in self.blocks) + 1 if self.thoughts else 0
        freed = max(0, sum(victim.tokens for victim in ordered) + self.thoughts)
        outputs, inputs = ([victim.call_id for victim in ordered if victim.input is given] for given in (False, True))
        outcomes = self._outcomes(ordered)
        freed -= sum(map(self.counter.text, outcomes.values()))
        return Prune(tuple(outputs), max(0, freed), why, drop, tuple(inputs), outcomes)

    def _outcomes(self, chosen: Iterable[Candidate]) -> dict[str, str]:
        """Return the outcome of each of these commands, if it is worth its tokens."""
        loss, traits = priced(self.window), self.window.traits
        outputs = (part for victim in chosen if isinstance(part := self.blocks[victim.number].part, ToolResult))
        runs = [output for output in outputs if traits.get(output.name, UNKNOWN).runs_commands]
        found = {result.call_id: summary_of(result.output, _failed(result)) for result in runs if loss.enabled}
        return {call: text for call, text in found.items() if text and is_worth(len(text), loss.command_chance, loss)}


def candidates(layout: TokenLayout) -> tuple[Candidate, ...]:
    """Return all clearable outputs and inputs of edits, best first: out of date, then old, then live content, then errors.

    Outputs that the model has not answered yet are never candidates, nor are the newest `auto_protect` tokens of outputs (on a
    small window a quarter of it) unless they are out of date. After a successful edit the file itself has the content: its input
    is a candidate beyond the newest `auto_protect` tokens of outputs and inputs, once its file was touched again or, if it is
    large, once its turn has passed.
    """
    rules, index = layout.window.settings.prune, layout.index
    outdated, protect = layout.window.superseded.outputs, rules.protected(layout.window.usable)
    found, total = [], 0
    for number in reversed(index.standing[: bisect_left(index.standing, index.answered)]):
        block = layout.blocks[number]
        size = index.size(number)
        total += size
        dead = outdated.get(block.tool_use_id)
        if (total <= protect and dead is None) or size < rules.smallest:
            continue
        old = index.turns_behind(number) >= rules.auto_turns
        rank = 0 if dead else 3 if not completed(block) else 1 if old else 2
        victim = layout.victim(number, rank, dead)
        if victim.tokens >= rules.smallest:
            found.append(victim)
    found += _inputs(layout, protect) if rules.inputs and index.inputs else ()
    return tuple(sorted(found, key=lambda victim: (victim.rank, victim.position)))


def _inputs(layout: TokenLayout, protect: int) -> Iterator[Candidate]:
    rules, index, outdated = layout.window.settings.prune, layout.index, layout.window.superseded.edits
    newest = index.replies[-1]
    protected_turns, total = _protected_turns(rules), 0
    for number in sorted((*index.standing, *index.inputs), reverse=True):
        block, call = layout.blocks[number], layout.blocks[number].part
        if isinstance(call, ToolCall) and (block.seq == newest or call.call_id not in index.succeeded):
            continue
        size = index.size(number)
        total += size
        if not isinstance(call, ToolCall):
            continue
        touched = outdated.get(call.call_id)
        if total <= protect or size < (rules.input_least if touched is None else rules.smallest):
            continue
        rank = 0 if touched else 1 if index.turns_behind(number) >= protected_turns else 2
        victim = layout.victim(number, rank, touched)
        if victim.tokens >= rules.smallest:
            yield victim


def _protected_turns(rules: PruneSettings) -> int:
    """Return the number of turns after which the input of an edit is old."""
    return max(1, rules.auto_turns)


def _failed(result: ToolResult) -> bool:
    return result.failed or bool(result.metadata.get("exit_code"))


@dataclass(frozen=True, slots=True)
class EditCost:
    """An edit of the sent history, in tokens.

    `removed` are gone for good; `behind` follow the first changed byte and are written to the cache again; `thoughts` are
    dropped because the edit invalidates them, and the model may have to think them again.
    """

    removed: int
    behind: int
    thoughts: int = 0


def requests_to_pay(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """Return the requests after which an edit is cheaper than none: R·(w−r) / (S·r), or infinity if it never is.

    `write`, `read` and `output` are prices in units of one fresh token. Dropped thoughts save tokens like everything removed,
    and cost their rewriting once.
    """
    saved = (edit.removed + edit.thoughts) * read
    cost = edit_cost(edit, write, read, output)
    if cost <= 0:
        return 0.0
    return cost / saved if saved > 0 else math.inf


def edit_cost(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """Return the one-time cost of an edit in fresh tokens."""
    return edit.behind * (write - read) + edit.thoughts * output
