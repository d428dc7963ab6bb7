"""Facts about files, commands, plan and tests, folded from the records without any model."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.command_results import is_test_run, outcome, read_tests, stops_early, tries
from agentcli.context.ledger.decisions import fold_decisions
from agentcli.context.ledger.shell_effects import effects
from agentcli.context.ledger.standing_rules import standing_rules
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import Message, Status, ToolCall, ToolResult, exit_in_pipe
from agentcli.core.record import InnerCall, Record, Todo, TodoItem, VerbatimText
from agentcli.core.subagent_result import changed_files
from agentcli.core.tool import UNKNOWN, Traits

_KEEP = LedgerSettings()
Fact = TypeVar("Fact")
FileState = Literal["READ", "MODIFIED", "CREATED", "DELETED"]


@dataclass(frozen=True, slots=True)
class NameFact:
    """A name and the seq of the newest record that mentions it."""

    text: str
    last: int = 0


@dataclass(frozen=True, slots=True)
class FileFact:
    """Operations on one file. `lines` is its length, or 0 if unknown; `last` the seq of the newest operation."""

    path: str
    reads: int = 0
    edits: int = 0
    created: bool = False
    deleted: bool = False
    additions: int = 0
    deletions: int = 0
    lines: int = 0
    last: int = 0

    @property
    def state(self) -> FileState:
        """State of the file in one word, as in a snapshot."""
        if self.deleted:
            return "DELETED"
        if self.created:
            return "CREATED"
        return "MODIFIED" if self.edits else "READ"


@dataclass(frozen=True, slots=True)
class CommandFact:
    """A command and the result of its newest run; `outcome` is the most informative line of its output."""

    command: str
    status: Status = "success"
    exit_code: int | None = None
    runs: int = 1
    outcome: str = ""
    last: int = 0

    @property
    def failed(self) -> bool:
        """True if the newest run failed."""
        return self.status != "success" or bool(self.exit_code)


@dataclass(frozen=True, slots=True)
class TestFact:
    """The newest run of tests, in its program's own words.

    `failing` are the tests that have failed and not passed since, in this and earlier runs.
    """

    __test__ = False

    command: str
    failed: bool
    summary: str = ""
    failing: tuple[str, ...] = ()
    last: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything up to record `through`. Files and commands are in the order of their newest use, oldest first.

    `reports` are the final texts of the model's newest turns, shortened; `decisions` its sentences that decide
    something or state values.
    """

    files: tuple[FileFact, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    todo: tuple[TodoItem, ...] = ()
    tests: TestFact | None = None
    rules: tuple[VerbatimText, ...] = ()
    reports: tuple[VerbatimText, ...] = ()
    names: tuple[NameFact, ...] = ()
    decisions: tuple[VerbatimText, ...] = ()
    cwd: str = ""
    through: int = 0

    def file(self, path: str) -> FileFact | None:
        """Return the fact about a file by its full path.

        The end of its path is enough if only one file matches.
        """
        exact = posixpath.normpath(path)
        alike = [fact for fact in self.files if fact.path == exact or same_file(fact.path, exact)]
        whole = [fact for fact in alike if fact.path == exact]
        return whole[0] if whole else alike[0] if len(alike) == 1 else None


def fold_ledger(
    start: Ledger,
    records: Iterable[Record],
    tools: Mapping[str, Traits],
    todo: tuple[TodoItem, ...] | None = None,
    keep: LedgerSettings = _KEEP,
) -> Ledger:
    """Return the ledger after more records; records that it knows already (seq up to `through`) change nothing.

    The call of each result must be among the records, known or not; `tools` are the traits of all tools. Relative paths
    start at `start.cwd`. `todo`, if given, is the current list; otherwise `Todo` records decide.
    """
    files = {fact.path: fact for fact in start.files}
    commands = {fact.command: fact for fact in start.commands}
    ledger = start
    known, new = _divided(records, start.through)
    calls = _Calls(known)
    for record in new:
        match record.body:
            case Message() as message:
                for call in message.calls:
                    calls[call.call_id] = call
            case ToolResult() | InnerCall() as body if (made := _made(body, calls)) is not None:
                call, result = made
                traits = tools.get(call.name, UNKNOWN)
                _note_files(files, call, traits, result, record.seq, start.cwd)
                if traits.runs_commands:
                    ledger = _note_command(ledger, commands, traits.subject.of(call.input), result, record.seq, keep)
            case Todo(items):
                ledger = replace(ledger, todo=items)
            case _:
                pass
    return replace(
        ledger,
        files=newest([*files.values()], keep.files),
        commands=newest([*commands.values()], keep.commands),
        todo=ledger.todo if todo is None else todo,
        rules=standing_rules(new, start.rules, keep),
        reports=newest([*start.reports, *_reports(new, keep)], keep.reports),
        names=fold_names(start.names, new, keep),
        decisions=fold_decisions(start.decisions, new, keep),
        through=max((record.seq for record in new), default=start.through),
    )


def _divided(records: Iterable[Record], through: int) -> tuple[Sequence[Record], Sequence[Record]]:
    """Return the records up to number `through`, and those after it."""
    parts = list[Record](), list[Record]()
    for record in records:
        parts[record.seq > through].append(record)
    return parts


class _Calls(dict[str, ToolCall | None]):
    """New calls by their ids, and those of the known records. The latter are read only if a call is missing."""

    def __init__(self, known: Sequence[Record]) -> None:
        self._known = known

    def __missing__(self, call_id: str) -> ToolCall | None:
        return self._earlier.get(call_id)

    @cached_property
    def _earlier(self) -> Mapping[str, ToolCall]:
        messages = (record.body for record in self._known if isinstance(record.body, Message))
        return {call.call_id: call for message in messages for call in message.calls}


def _made(body: ToolResult | InnerCall, calls: _Calls) -> tuple[ToolCall, ToolResult] | None:
    """Return a call with its result; None if its call is unknown."""
    if isinstance(body, InnerCall):
        return body.call, body.result
    call = calls[body.call_id]
    return None if call is None else (call, body)


def to_json(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger in the form of a compaction record."""
    plain = _plain(ledger)
    for name in ("files", "commands", "todo", "rules", "reports", "names", "decisions"):
        plain[name] = [_plain(fact) for fact in plain[name]]
    if ledger.tests:
        plain["tests"] = {**_plain(ledger.tests), "failing": list(ledger.tests.failing)}
    return plain


def from_json(raw: Mapping[str, Any]) -> Ledger:
    """Return the ledger of a compaction record; missing and unknown entries get their defaults."""
    tests = raw.get("tests")
    return Ledger(
        files=tuple(FileFact(**_known(FileFact, fact)) for fact in raw.get("files") or ()),
        commands=tuple(CommandFact(**_known(CommandFact, fact)) for fact in raw.get("commands") or ()),
        todo=tuple(TodoItem(**_known(TodoItem, item)) for item in raw.get("todo") or ()),
        tests=TestFact(**{**_known(TestFact, tests), "failing": tuple(tests.get("failing") or ())}) if tests else None,
        rules=tuple(VerbatimText(**_known(VerbatimText, rule)) for rule in raw.get("rules") or ()),
        reports=tuple(VerbatimText(**_known(VerbatimText, report)) for report in raw.get("reports") or ()),
        decisions=tuple(VerbatimText(**_known(VerbatimText, said)) for said in raw.get("decisions") or ()),
        names=tuple(NameFact(**_known(NameFact, name)) for name in raw.get("names") or ()),
        cwd=str(raw.get("cwd") or ""),
        through=int(raw.get("through") or 0),
    )


def newest(values: Sequence[Fact], count: int) -> tuple[Fact, ...]:
    """Return the last `count` of the values, in their order."""
    return tuple(values[max(0, len(values) - count) :])


def same_file(path: str, other: str) -> bool:
    """Return True if one path is the end of the other, component by component."""
    shorter, longer = sorted((path.removeprefix("./"), other.removeprefix("./")), key=len)
    return bool(shorter) and (longer == shorter or longer.endswith("/" + shorter.lstrip("/")))


def _reports(records: Sequence[Record], keep: LedgerSettings) -> Sequence[VerbatimText]:
    """Return the newest final texts of turns, oldest first, at most `keep.reports`."""
    return tuple(islice(_newest_reports_first(records, keep.report_characters), keep.reports))[::-1]


def _newest_reports_first(records: Sequence[Record], longest: int) -> Iterator[VerbatimText]:
    for record in reversed(records):
        body = record.body
        if isinstance(body, Message) and body.role == "assistant" and not body.calls and body.text.strip():
            text = " ".join(body.text.split())
            yield VerbatimText(record.seq, body.turn, text if len(text) <= longest else text[: longest - 1] + "…")


def _plain(fact: Any) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in fact.__dataclass_fields__}


def _known(kind: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _note_files(
    files: dict[str, FileFact], call: ToolCall, traits: Traits, result: ToolResult, seq: int, cwd: str
) -> None:
    if traits.runs_commands:
        if not result.failed and not result.metadata.get("exit_code"):
            for effect in effects(str(traits.subject.of(call.input) or "")):
                _touch(files, _at(cwd, effect.path), seq, _EFFECTS[effect.kind])
        return
    for file in changed_files(result.metadata):
        _touch(
            files,
            _at(cwd, file["path"]),
            seq,
            _EFFECTS["deleted"]
            if file.get("deleted")
            else partial(_was_edited, call=call, result=replace(result, metadata=file)),
        )
    path = result.metadata.get("path") or call.input.get("file_path") or call.input.get("path")
    change = _change(traits)
    listed = "entries" in result.metadata
    if change and not result.failed and not listed and isinstance(path, str) and path:
        _touch(files, _at(cwd, path), seq, lambda fact: change(fact, call, result))


@lru_cache(1_024)
def _at(cwd: str, path: str) -> str:
    return posixpath.normpath(path if path.startswith("~") else posixpath.join(cwd, path))


def _touch(files: dict[str, FileFact], path: str, seq: int, change: _Change) -> None:
    # Removing it first moves it to the end: the order is the order of use.
    fact = files.pop(path, None) or FileFact(path)
    files[path] = replace(fact, last=seq, **change(fact))


_Change = Callable[[FileFact], Mapping[str, Any]]
"""A function that returns the fields of a fact that a call changes."""


def _change(traits: Traits) -> Callable[[FileFact, ToolCall, ToolResult], Mapping[str, Any]] | None:
    """Return the function that updates the fact about a file after a call of a tool with these traits."""
    if traits.reads_files:
        return _was_read
    if traits.subject.content:
        return partial(_was_written, content=traits.subject.content)
    return _was_edited if traits.edits_files else None


def _was_read(fact: FileFact, call: ToolCall, result: ToolResult) -> Mapping[str, Any]:
    return {"reads": fact.reads + 1, "lines": _length(call, result) or fact.lines, "deleted": False}


def _length(call: ToolCall, result: ToolResult) -> int:
    """Return the lines of the file that was read, or 0 if only a part of it was."""
    match result.metadata.get("lines"):
        case [1, int(last)] if not result.truncated:
            return last
        case None if not (result.truncated or call.input.get("offset") or call.input.get("limit")):
            return _lines(result.output)
        case _:
            return 0


def _was_written(fact: FileFact, call: ToolCall, result: ToolResult, content: str) -> Mapping[str, Any]:
    lines = _lines(str(call.input.get(content) or ""))
    known = bool(fact.reads or fact.edits) and not fact.deleted
    return {
        "edits": fact.edits + 1,
        "created": fact.created or bool(result.metadata.get("created", not known)),
        "deleted": False,
        "additions": fact.additions + (_number(result, "additions") if "additions" in result.metadata else lines),
        "deletions": fact.deletions + _number(result, "deletions"),
        "lines": lines,
    }


def _was_edited(fact: FileFact, call: ToolCall, result: ToolResult) -> Mapping[str, Any]:
    plus, minus = _edited_lines(call, result)
    return {
        "edits": fact.edits + 1,
        "created": fact.created or bool(result.metadata.get("created")),
        "deleted": False,
        "additions": fact.additions + plus,
        "deletions": fact.deletions + minus,
        "lines": max(0, fact.lines + plus - minus) if fact.lines else 0,
    }


def _edited_lines(call: ToolCall, result: ToolResult) -> tuple[int, int]:
    if "additions" in result.metadata:
        return _number(result, "additions"), _number(result, "deletions")
    edits = call.input.get("edits")
    edits = edits if isinstance(edits, list) else [call.input]
    pairs = [edit for edit in edits if isinstance(edit, Mapping)]
    plus = sum(_lines(str(edit.get("new_string") or edit.get("newText") or "")) for edit in pairs)
    return plus, sum(_lines(str(edit.get("old_string") or edit.get("oldText") or "")) for edit in pairs)


_EFFECTS: dict[str, _Change] = {
    "read": lambda fact: {"reads": fact.reads + 1},
    "modified": lambda fact: {"edits": fact.edits + 1, "deleted": False, "lines": 0},
    "created": lambda fact: {
        "edits": fact.edits + 1,
        "created": fact.created or not (fact.reads or fact.edits),
        "deleted": False,
        "lines": 0,
    },
    "deleted": lambda fact: {"deleted": True},
}


def _note_command(
    ledger: Ledger,
    commands: dict[str, CommandFact],
    command: object,
    result: ToolResult,
    seq: int,
    keep: LedgerSettings,
) -> Ledger:
    if not isinstance(command, str) or not command.strip():
        return ledger
    code = exit_in_pipe(result.metadata)
    failed = result.failed or bool(code)
    command = command[: keep.command_characters]
    former = commands.pop(command, CommandFact(command, runs=0))
    text = outcome(result.output, failed)
    commands[command] = CommandFact(command, result.status, code, former.runs + 1, text, seq)
    tests = read_tests(result.output) if is_test_run(command) else None
    if tests is None:
        return _passed(ledger, command, seq) if not failed and is_test_run(command) else ledger
    failed = failed or bool(tests.failing)
    failing = tuple(dict.fromkeys((*tests.failing, *_still_failing(ledger.tests, command, failed))))
    return replace(ledger, tests=TestFact(command, failed, tests.summary, failing[:_MOST_FAILING], seq))


def _passed(ledger: Ledger, command: str, seq: int) -> Ledger:
    """Return the ledger after a run of tests that succeeded without a report: the included tests no longer fail."""
    if ledger.tests is None or not ledger.tests.failed:
        return ledger
    failing = tuple(_still_failing(ledger.tests, command, failed=False))
    return replace(ledger, tests=TestFact(command, False, "", failing, seq))


def _still_failing(former: TestFact | None, command: str, failed: bool) -> Iterator[str]:
    """Yield the failing tests of earlier runs that this run did not include or did not reach.

    A run reaches no further test if it stopped at a failure.
    """
    known = former.failing if former else ()
    return (test for test in known if (failed and stops_early(command)) or not tries(command, test))


_MOST_FAILING = 30


def _number(result: ToolResult, name: str) -> int:
    value = result.metadata.get(name)
    return value if isinstance(value, int) else 0


def _lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


def fold_names(start: Iterable[NameFact], records: Sequence[Record], keep: LedgerSettings) -> tuple[NameFact, ...]:
    """Return the newest names after more records, in the order of their newest mention, oldest first."""
    newest: dict[str, NameFact] = {}
    # Start at the newest record and stop at the limit, because searching for names is slow.
    for fact in chain(_newest_first(records, keep), reversed(tuple(start))):
        if len(newest) >= keep.names:
            break
        newest.setdefault(fact.text, fact)
    return tuple(newest.values())[::-1]


def _newest_first(records: Sequence[Record], keep: LedgerSettings) -> Iterator[NameFact]:
    read = set[str]()
    for record in reversed(records):
        names = tuple(_names(record.body, keep.names_each, read))
        yield from (NameFact(text, record.seq) for text in reversed(names))


def _names(body: object, most: int, read: set[str]) -> Iterator[str]:
    """Yield the names in a record, none for an output that was `read` before: a newer record has the same."""
    match body:
        case Message():
            if "`" in (text := body.text):  # code in fences is shown, not named
                yield from _first(_QUOTED.findall(_FENCE.sub("", text)), most)
        case ToolResult() if not body.failed and not body.metadata.get("exit_code") and body.output not in read:
            read.add(body.output)
            if "/" in body.output:
                yield from _first(_PATH.findall(body.output), most)
            if any(word in body.output for word in _DEFINING):  # twice as fast as the pattern
                yield from _first(_DEFINED.findall(body.output), most)
        case _:
            return


def _first(found: Iterable[str], most: int) -> Iterator[str]:
    return islice(dict.fromkeys(found), most)


_FENCE = re.compile(r"```.*?```", re.DOTALL)
_QUOTED = re.compile(r"`([A-Za-z_][\w.]{3,60}(?:\(\))?)`")
_DEFINING = ("def ", "class ", "function ", "interface ", "struct ", "enum ", "trait ", "fn ", "func ", "type ")
_DEFINED = re.compile(rf"\b(?:{'|'.join(_DEFINING)})([A-Za-z_]\w{{3,60}})")
_PATH = re.compile(r"(?<![\w/.:-])(?:[\w.-]{1,60}/){1,12}[\w-]{1,60}\.\w{1,5}\b")
