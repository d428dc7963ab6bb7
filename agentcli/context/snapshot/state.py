"""State of the work instead of its history.

The snapshot has no lines that are out of date or that the view shows anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from agentcli.context.ledger.command_results import is_check, is_test_run, read_tests
from agentcli.context.ledger.decisions import decides
from agentcli.context.ledger.ledger import CommandFact, Ledger
from agentcli.context.ledger.standing_rules import sentences
from agentcli.context.snapshot.form import Snapshot, cite, cited, last_cited, uncited
from agentcli.context.snapshot.reconcile import (
    MARKS,
    command_line,
    contradicted,
    is_ledger_line,
    is_report,
    reports_failure,
    test_lines,
)
from agentcli.context.view import ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import TodoItem, VerbatimText
from agentcli.core.tool import UNKNOWN, Traits


@dataclass(frozen=True, slots=True)
class Shown:
    """Facts beside a snapshot: the ledger of the whole session (`now`), and what the view shows without the snapshot.

    `texts` are the user's words and the newest answer, `records` their numbers, `kept` the records that stay.
    `healed` are tests that failed once and pass now. `typed` are the user's words as the view shows them.
    """

    now: Ledger
    texts: tuple[str, ...] = ()
    records: frozenset[int] = field(default_factory=frozenset)
    kept: frozenset[int] = field(default_factory=frozenset)
    healed: frozenset[str] = frozenset()
    typed: tuple[VerbatimText, ...] = ()


def state_only(snapshot: Snapshot, shown: Shown) -> Snapshot:
    """Return the snapshot with each fact once, and only in its present state.

    Of the commands, the newest result of each build and test stays, unless a kept step shows it. Of the files, the
    changed ones and those with a remark stay. Rules and prompts are not repeated outside their own sections. A rule is
    left out if the view shows the message that sets it.
    """
    listed = {f"{MARKS[item.status]} {item.content}" for item in shown.now.todo}
    said = _Said((*shown.texts, *(rule.text for rule in snapshot.rules)))
    decisions = _undecided(snapshot.decisions, said, shown)
    return replace(
        snapshot,
        rules=tuple(rule for rule in snapshot.rules if not _is_shown(rule, shown)),
        goal="" if _Said(shown.texts).has(_without_cut(snapshot.goal)) else snapshot.goal,
        knowledge=tuple(item for item in _news(snapshot.knowledge, said, shown) if not _repeats(item, decisions)),
        files=tuple(_READ_COUNT.sub("", line) for line in snapshot.files if not _only_read(line)),
        actions=(*_told(snapshot.actions, said, shown), *_checks(shown)),
        plan=tuple(step for step in snapshot.plan if step in listed or _news([step], said, shown)),
        decisions=decisions,
    )


def healed_tests(failed: Iterable[str], now: Ledger) -> frozenset[str]:
    """Return the tests among these that pass now, according to the ledger of the whole session."""
    return frozenset(failed).difference(now.tests.failing if now.tests else ())


def failed_tests(messages: Iterable[ViewMessage], tools: Mapping[str, Traits]) -> Iterator[str]:
    """Yield the tests that failed in the runs of these messages."""
    runs = set()
    for part in [block.part for message in messages for block in message.blocks]:
        if isinstance(part, ToolCall):
            traits = tools.get(part.name, UNKNOWN)
            if traits.runs_commands and is_test_run(str(traits.subject.of(part.input))):
                runs.add(part.call_id)
        elif isinstance(part, ToolResult) and part.call_id in runs:
            tests = read_tests(part.output)
            yield from tests.failing if tests else ()


def without_todo(plan: Sequence[str], todo: Sequence[TodoItem]) -> tuple[str, ...]:
    """Return the steps of a former plan that are neither done nor copied from the todo list of that time."""
    listed = {" ".join(item.content.split()) for item in todo}
    open_steps = (step for step in plan if not step.startswith("[DONE]"))
    return tuple(step for step in open_steps if _STEP.sub("", uncited(step)) not in listed)


_STEP = re.compile(r"^\[(?:DONE|IN PROGRESS|TODO)\]\s*")


class _Said:
    """Texts that are shown, used to find items that only repeat a part of one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = "\n".join(map(_bare, texts))

    def has(self, item: str) -> bool:
        """Return True if one of the texts contains the item's words in this order."""
        words = _bare(_QUOTED.sub(r"\1", _STEP.sub("", uncited(item)))).strip()
        return len(words) >= _SHORTEST and f" {words} " in self._texts


_SHORTEST = 8
_QUOTED = re.compile(r"^The user said \(turn \d+\): \"(.*)\"$", re.DOTALL)


def _is_shown(rule: VerbatimText, shown: Shown) -> bool:
    """Return True if the view shows the user's own message with this rule in it."""
    text = " ".join(rule.text.split())
    return any(words.seq == rule.seq and text in " ".join(words.text.split()) for words in shown.typed)


def _without_cut(goal: str) -> str:
    """Return a goal without its last word, if that was cut off."""
    return goal[:-1].rpartition(" ")[0] if goal.endswith("…") else goal


def _bare(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


_WORD = re.compile(r"\w+")


def _news(items: Iterable[str], said: _Said, shown: Shown) -> tuple[str, ...]:
    return tuple(item for item in items if not said.has(item) and not _overtaken(item, shown))


def _overtaken(item: str, shown: Shown) -> bool:
    """Return True if an item reports something that a newer run has changed."""
    text = uncited(item)
    return contradicted(text, shown.now) or (
        reports_failure(text) and any(_test(name) in text for name in shown.healed)
    )


def _test(name: str) -> str:
    """Return the last part of a test's name, as people write it."""
    return re.split(r"::| > ", name.split(" - ")[0])[-1].strip()


def _only_read(line: str) -> bool:
    """Return True for a line about files that were only read and have no remark."""
    if line.startswith("More in "):
        return not re.search(r"\d (?:MODIFIED|CREATED|DELETED)", line)
    return line.startswith("READ:") and " - " not in uncited(line)


_READ_COUNT = re.compile(r"(?<=: )\d+ READ, |, \d+ READ(?=[,;])")


def _told(actions: Iterable[str], said: _Said, shown: Shown) -> Iterator[str]:
    """Yield what the summary reports, then each of the model's reports once."""
    known = set()
    for item in actions:
        text = uncited(item).partition(" the assistant said: ")[2] if is_report(item) else uncited(item)
        if (is_ledger_line(item) and not is_report(item)) or last_cited(item) in shown.records or text in known:
            continue
        if not said.has(item) and not _overtaken(item, shown):
            known.add(text)
            yield item


def _checks(shown: Shown) -> Iterator[str]:
    """Yield the newest result of each build and of the tests, unless a kept step shows it."""
    now = shown.now
    newest: dict[str, CommandFact] = {}
    for command in now.commands:
        if is_check(command.command) and not (now.tests and is_test_run(command.command)):
            newest.pop(_key(command.command), None)
            newest[_key(command.command)] = command
    for command in newest.values():
        if command.last not in shown.kept:
            yield cite(command_line(command, cwd=now.cwd), (command.last,) if command.last else ())
    if now.tests and now.tests.last not in shown.kept:
        yield from test_lines(now)


def _key(command: str) -> str:
    """Return a command without its folder, redirections and output filters: equal keys mean the same check."""
    bare = re.sub(r"^\s*cd\s+\S+\s*&&\s*", "", command)
    return " ".join(re.sub(r"\d?>&?\s*\S+", " ", bare.partition("|")[0]).split())


def _undecided(decisions: Sequence[VerbatimText], said: _Said, shown: Shown) -> tuple[VerbatimText, ...]:
    """Return the decisions in records that are not shown unchanged, without results that a newer run has changed."""
    stays = (each for each in decisions if each.seq not in shown.records and not said.has(each.text))
    return tuple(still for each in stays if (still := replace(each, text=_still_true(each.text, shown))).text)


def _still_true(text: str, shown: Shown) -> str:
    """Return a decision's sentences that give a reason, and the others that are not overtaken."""
    return " ".join(each for each in sentences(text) if decides(each) or not _overtaken(each, shown))


def _repeats(item: str, decisions: Iterable[VerbatimText]) -> bool:
    """Return True if an item cites the record of a shown decision and adds nothing to it."""
    words = set(_WORD.findall(uncited(item).casefold()))
    texts = (each.text for each in decisions if each.seq in cited(item))
    return any(len(words & set(_WORD.findall(text.casefold()))) >= _SAME * len(words) for text in texts)


_SAME = 0.75
