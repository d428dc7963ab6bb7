"""Merge of a summary with the ledger and the former snapshot: known facts are neither lost nor contradicted."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.decisions import fitting_decisions
from agentcli.context.ledger.ledger import CommandFact, FileFact, Ledger, newest
from agentcli.context.snapshot.form import WITHOUT_MODEL, Snapshot, cite, cited, last_cited, relative, uncited
from agentcli.context.snapshot.knowledge import merged_knowledge
from agentcli.context.snapshot.verify import CONTRADICTED, Evidence, unsupported
from agentcli.core.record import TodoItem, VerbatimText

MARKS = {"pending": "[TODO]", "in_progress": "[IN PROGRESS]", "completed": "[DONE]"}


def merged(
    new: Snapshot, former: Snapshot | None, ledger: Ledger, settings: SnapshotSettings, *, mark: bool = False
) -> Snapshot:
    """Complete a verified summary: files, actions and plan agree with the ledger, and rules come from the ledger alone.

    All knowledge of the former snapshot stays unless the new one names it as obsolete. `mark`: what the ledger
    contradicts is marked, not left out.
    """
    whys = _whys(former.files if former else (), ledger) | _whys(new.files, ledger)
    obsolete = (*(former.obsolete if former else ()), *new.obsolete)
    new = replace(
        new,
        knowledge=_agreeing(new.knowledge, ledger, mark, _FINE),
        actions=_agreeing(new.actions, ledger, mark),
    )
    return Snapshot(
        goal=new.goal or (former.goal if former else ""),
        rules=ledger.rules,
        decisions=fitting_decisions(standing_decisions(ledger, obsolete), settings.decision_characters),
        obsolete=obsolete,
        knowledge=merged_knowledge(former.knowledge if former else (), new.knowledge, new.obsolete),
        files=_files(ledger, whys, settings),
        actions=_actions(new.actions, ledger, settings),
        plan=_plan(new.plan or _still_planned(former, obsolete), ledger.todo),
        unverified=newest(
            tuple(dict.fromkeys((*(former.unverified if former else ()), *new.unverified))), settings.unverified
        ),
        note=new.note,
        covers=new.covers,
    )


def _still_planned(former: Snapshot | None, obsolete: Sequence[str]) -> tuple[str, ...]:
    return tuple(step for step in (former.plan if former else ()) if uncited(step) not in obsolete)


def _agreeing(items: Iterable[str], ledger: Ledger, mark: bool, only: re.Pattern[str] | None = None) -> tuple[str, ...]:
    """Return the items that the ledger does not contradict, or all of them with marks."""
    wrong = {item for item in items if CONTRADICTED not in item and _contradicts(uncited(item), ledger, only)}
    marked = (cite(f"{uncited(item)} {CONTRADICTED}", cited(item)) if item in wrong else item for item in items)
    return tuple(marked) if mark else tuple(item for item in items if item not in wrong)


def standing_decisions(ledger: Ledger, obsolete: Sequence[str]) -> tuple[VerbatimText, ...]:
    """Return the decisions of a ledger that a summary does not declare obsolete."""
    return tuple(said for said in ledger.decisions if said.text not in obsolete)


def from_ledger(ledger: Ledger, former: Snapshot | None, goal: str, settings: SnapshotSettings) -> Snapshot:
    """Return a snapshot made without any model; `goal` is used if no former snapshot names one."""
    bare = Snapshot(goal=former.goal if former and former.goal else goal, note=WITHOUT_MODEL)
    earlier = tuple(item for item in (former.actions if former else ()) if not is_ledger_line(item))
    reports = tuple(
        cite(f"(turn {report.turn}) the assistant said: {report.text}", [report.seq]) for report in ledger.reports
    )
    return merged(replace(bare, actions=(*earlier, *reports)), former, ledger, settings)


def contradicted(item: str, ledger: Ledger) -> bool:
    """Return True if the ledger contradicts a sentence about a command, the tests or a file."""
    return _contradicts(item, ledger, _FINE)


def ledger_lines(ledger: Ledger) -> Iterator[str]:
    """Yield the ledger as text, without the user's rules: evidence for a summary."""
    yield ledger.cwd
    yield from (_file_line(fact, "") for fact in ledger.files)
    yield from (command.command for command in ledger.commands)
    yield from (command_line(command, len(command.command)) for command in ledger.commands)
    yield from (item.content for item in ledger.todo)
    yield from (words.text for words in ledger.reports)
    yield from test_lines(ledger)


def reports_failure(item: str) -> bool:
    """Return True if a sentence reports a failure and no success."""
    return bool(_BROKEN.search(item)) and not _FINE.search(item)


def _files(ledger: Ledger, whys: dict[str, str], settings: SnapshotSettings) -> tuple[str, ...]:
    lines = [f"CWD: `{ledger.cwd}`"] if ledger.cwd else []
    newest_first = [fact for fact in reversed(ledger.files) if not (fact.created and fact.deleted)]
    changed = [fact for fact in newest_first if fact.state != "READ"][: settings.files_changed]
    only_read = _most_relevant(
        [fact for fact in newest_first if fact.state == "READ"], ledger, whys, settings.files_read
    )
    shown = (*changed, *only_read)
    lines += [cite(_file_line(fact, whys.get(fact.path, ""), ledger.cwd), _seq(fact.last)) for fact in shown]
    listed = {fact.path for fact in shown}
    return (*lines, *_settled([fact for fact in newest_first if fact.path not in listed], ledger.cwd, settings))


def _settled(newest_first: Sequence[FileFact], cwd: str, settings: SnapshotSettings) -> Iterator[str]:
    """Yield a line for each folder of files that are not listed one by one.

    It gives their number in each state. Folders with changed files come first.
    """
    folders: dict[str, list[FileFact]] = {}
    newest_first = sorted(newest_first, key=lambda fact: fact.state == "READ")
    for fact in newest_first:
        folder = posixpath.dirname(relative(fact.path, cwd))
        top = "/".join(folder.split("/")[: 2 + folder.startswith("/")]) or "."
        folders.setdefault(top, []).append(fact)
    places = [(f"`{folder}/`", facts) for folder, facts in folders.items()]
    others = [fact for _, facts in places[settings.folders :] for fact in facts]
    for place, facts in (*places[: settings.folders], *([("other folders", others)] if others else [])):
        states = Counter(fact.state for fact in facts)
        counts = ", ".join(f"{number} {state}" for state, number in states.items())
        yield f"More in {place}: {counts}; recall names them"


def _most_relevant(
    newest_first: Sequence[FileFact], ledger: Ledger, whys: dict[str, str], most: int
) -> Sequence[FileFact]:
    """Return at most `most` of the files, in their order.

    Files with a remark or a mention, read often or read lately, come first.
    """
    said = " ".join(
        (*(words.text for words in (*ledger.rules, *ledger.reports)), *(item.content for item in ledger.todo))
    )
    folders = {posixpath.dirname(fact.path) for fact in ledger.files if fact.state != "READ"}

    def weight(place: int) -> float:
        fact = newest_first[place]
        spoken_of = fact.path in whys or posixpath.basename(fact.path) in said
        near = posixpath.dirname(fact.path) in folders
        return 3 * spoken_of + near + min(fact.reads, 4) / 2 - 2 * place / len(newest_first)

    chosen = sorted(sorted(range(len(newest_first)), key=weight, reverse=True)[:most])
    return [newest_first[place] for place in chosen]


def _seq(last: int) -> tuple[int, ...]:
    return (last,) if last else ()


def _file_line(fact: FileFact, why: str, cwd: str = "") -> str:
    figures = []
    if fact.additions or fact.deletions:
        figures.append(f"+{fact.additions} -{fact.deletions}")
    if fact.lines and fact.state != "DELETED":
        figures.append(f"{fact.lines} lines")
    count = f" ({', '.join(figures)})" if figures else ""
    return f"{fact.state}: `{relative(fact.path, cwd)}`{count}" + (f" - {why}" if why else "")


def _whys(lines: Iterable[str], ledger: Ledger) -> dict[str, str]:
    """Return the remark on each file in a `<file_system_state>`, without the state, which comes from the ledger.

    A remark on an action that contradicts the ledger is left out: it explains something that never happened.
    """
    found = {}
    for line in lines:
        match = _FILE_LINE.match(line)
        named = match["path"] or match["bare"] if match and match["why"] else ""
        fact = (ledger.file(posixpath.join(ledger.cwd, named)) or ledger.file(named)) if named else None
        if match and fact and _may_be(match["state"], fact, ledger):
            found[fact.path] = uncited(match["why"].strip())
    return found


def _may_be(state: str, fact: FileFact, ledger: Ledger) -> bool:
    """Return True if the ledger allows the state that a line gives a file."""
    match state:
        case "MODIFIED":
            return bool(fact.edits) or _may_have(_WRITERS, fact, ledger)
        case "CREATED":
            return fact.created or _may_have(_WRITERS, fact, ledger)
        case "DELETED":
            return fact.deleted or _may_have(_REMOVERS, fact, ledger)
        case _:
            return True


_FILE_LINE = re.compile(
    r"^(?:\**(?P<state>READ|MODIFIED|CREATED|DELETED)\**)\s*:?\s*(?:`(?P<path>[^`]+)`|(?P<bare>\S+))(?:\s*\([^)]*\d[^)]*\))?\s*(?:[-–—:]+\s*(?P<why>.+))?$"
)


def _actions(reported: Sequence[str], ledger: Ledger, settings: SnapshotSettings) -> tuple[str, ...]:
    lookups = newest([command for command in ledger.commands if is_lookup(command.command)], settings.lookups)
    listed = [command for command in ledger.commands if command in lookups or not is_lookup(command.command)]
    listed = list(newest(listed, settings.commands))
    lines = [item for item in reported if not _retold(item, listed)]
    lines = [item for item in lines if CONTRADICTED in item or not _contradicts(uncited(item), ledger)]
    lines = [line for line in lines if not line.startswith(_TESTS)]
    lines += [cite(command_line(command, cwd=ledger.cwd), _seq(command.last)) for command in listed]
    # Order by time: a report is between the commands before and after it.
    return (*dict.fromkeys(sorted(lines, key=last_cited)), *test_lines(ledger))


def _retold(item: str, commands: Iterable[CommandFact]) -> bool:
    """Return True if an item is the ledger's own line for a command that it will report again.

    The new line may have a newer outcome.
    """
    return item.startswith(tuple(f"`{text}` → " for command in commands for text in _spellings(command.command)))


def _contradicts(item: str, ledger: Ledger, only: re.Pattern[str] | None = None) -> bool:
    """Return True if an item contradicts the ledger about a command, the tests or a file.

    With `only`, claims of the other kind are allowed: an earlier failure may be worth knowing.
    """
    for command in ledger.commands:
        if any(f"`{text}`" in item for text in _spellings(command.command)):
            return _misreports(item, command.failed, only)
    if ledger.tests and _ABOUT_TESTS.search(item) and _misreports(item, ledger.tests.failed, only):
        return not _figures_agree(item, ledger)
    return _wrong_about_a_file(item, ledger)


def _misreports(item: str, failed: bool, only: re.Pattern[str] | None) -> bool:
    wrong, right = (_FINE, _BROKEN) if failed else (_BROKEN, _FINE)
    return only in (None, wrong) and bool(wrong.search(item)) and not right.search(item)


def _figures_agree(item: str, ledger: Ledger) -> bool:
    summary = Evidence([ledger.tests.summary]) if ledger.tests else Evidence(())
    return bool(re.search(r"\d", item)) and not unsupported(item, summary)


def _wrong_about_a_file(item: str, ledger: Ledger) -> bool:
    for verb, right, means in _CLAIMED_DEEDS:
        for match in verb.finditer(item):
            fact = ledger.file(match["path"].strip("`"))
            if fact is not None and not right(fact) and not _may_have(means, fact, ledger):
                return True
    return False


def _may_have(means: re.Pattern[str], fact: FileFact, ledger: Ledger) -> bool:
    """Return True if a command names the file and a program that could have changed it without a record."""
    name = posixpath.basename(fact.path)
    return any(name in command.command and means.search(command.command) for command in ledger.commands)


_PATH = r"(?:the |file |new |a |old |unused ){0,3}`?(?P<path>[\w.@+-]*[./][\w./@+-]*\w)`?"
_REMOVERS = re.compile(r"\b(?:rm|mv|unlink|shred|clean|del|remove)\b")
_WRITERS = re.compile(
    r"\b(?:sed|awk|perl|python\d?|node|ruby|patch|git|mv|cp|tee|install|make|npx?|ed|format|fmt|fix)\b|>"
)
_CLAIMED_DEEDS: tuple[tuple[re.Pattern[str], Callable[[FileFact], bool], re.Pattern[str]], ...] = (
    (
        re.compile(rf"\b(?:deleted|removed|dropped|erased)\s+{_PATH}", re.IGNORECASE),
        lambda fact: fact.deleted,
        _REMOVERS,
    ),
    (re.compile(rf"\bcreated\s+{_PATH}", re.IGNORECASE), lambda fact: fact.created, _WRITERS),
    (
        re.compile(rf"\b(?:modified|edited|changed|rewrote|updated|patched)\s+{_PATH}", re.IGNORECASE),
        lambda fact: bool(fact.edits),
        _WRITERS,
    ),
)
_FINE = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succe\w+|green|ok|exit(?:ed)?(?: (?:code|status|with))* 0|without (?:any )?(?:errors?|failures?)|no (?:errors?|failures?)|clean(?:ly)?|all good|works?|worked)\b",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|errored|broken?|broke|red|crash\w*|exit(?:ed)?(?: (?:code|status|with))* [1-9]\d*|still (?:not|failing))\b",
    re.IGNORECASE,
)
_ABOUT_TESTS = re.compile(r"\b(?:tests?|test suite|specs?)\b", re.IGNORECASE)
_LEDGER_LINE = re.compile(r"^`[^`]+` → |^\(turn \d+\) the assistant said: ")
_TESTS = "Last test run: "


def _spellings(command: str) -> set[str]:
    """Return the spellings that a snapshot may use for a command."""
    bare = _FOLDER.sub("", command)
    return {command, bare, _one_line(command), _one_line(bare)}


def is_lookup(command: str) -> bool:
    """Return True if a command, or the ledger's line for it, only looks something up.

    Its result soon loses its value.
    """
    return bool(_LOOKUP.match(_FOLDER.sub("", command.removeprefix("`"))))


_FOLDER = re.compile(r"^\s*cd\s+(?P<folder>\S+)\s*&&\s*")
_LOOKUP = re.compile(
    r"(?:grep|rg|ls|cat|head|tail|wc|find|tree|stat|file|which|pwd|echo|sed -n|git (?:status|log|diff|show|branch))\b(?!.*>)"
)


def command_line(command: CommandFact, longest: int = 200, cwd: str = "") -> str:
    """Return a snapshot's line for a command: how it ended, and the most informative line of its output."""
    ended = command.status if command.exit_code is None else f"exit {command.exit_code}"
    times = f" ({command.runs} runs)" if command.runs > 1 else ""
    said = f": {command.outcome}" if command.outcome else ""
    text = command.command
    if (folder := _FOLDER.match(text)) and folder["folder"].rstrip("/") == cwd.rstrip("/"):
        text = text[folder.end() :]
    return f"`{_one_line(text, longest)}` → {ended}{times}{said}"


def _one_line(command: str, longest: int = 200) -> str:
    line = " ".join(command.split()).replace("`", "'")
    return line if len(line) <= longest else line[: longest - 1] + "…"


def test_lines(ledger: Ledger) -> Iterator[str]:
    """Yield the line for the newest run of tests, if there is one."""
    if ledger.tests is None:
        return
    tests = ledger.tests
    failing = f"; failing: {', '.join(tests.failing)}" if tests.failing else ""
    verdict = "failed" if tests.failed else "passed"
    yield f"{_TESTS}`{_one_line(tests.command)}` {verdict}: {tests.summary}{failing}"


def is_ledger_line(line: str) -> bool:
    """Return True if the ledger, not a summary, wrote an action of a snapshot."""
    return bool(_LEDGER_LINE.match(line)) or line.startswith(_TESTS) or bool(_LEFT_OUT_LINE.match(line))


def is_report(line: str) -> bool:
    """Return True if an action of a snapshot is the ledger's line for one of the model's final reports."""
    return bool(_REPORT.match(line))


def is_test_line(line: str) -> bool:
    """Return True if an action of a snapshot reports the newest run of tests."""
    return line.startswith(_TESTS)


_REPORT = re.compile(r"\(turn \d+\) the assistant said: ")
_LEFT_OUT_LINE = re.compile(r"\(\d+ older items left out")


def _plan(steps: Sequence[str], todo: Sequence[TodoItem]) -> tuple[str, ...]:
    """Return the current todo list, then the steps of the summary that it does not contain."""
    known = [f"{MARKS[item.status]} {item.content}" for item in todo]
    others = [step for step in steps if not any(same_step(step, item.content) for item in todo)]
    return (*known, *(step if _MARK.match(step) else f"[TODO] {step}" for step in others))


def same_step(one: str, other: str) -> bool:
    """Return True if two steps differ only in wording or state: the longer contains most words of the shorter.

    A name or a path is one word.
    """
    texts = (set(_STEP_WORD.findall(uncited(_MARK.sub("", step)).casefold())) for step in (one, other))
    shorter, longer = sorted(texts, key=len)
    return len(shorter & longer) >= _SAME_STEP * len(shorter)


_SAME_STEP = 0.7
_STEP_WORD = re.compile(r"\w+(?:[./:-]+\w+)*")
_MARK = re.compile(r"^\[(?:DONE|IN PROGRESS|TODO)\]\s*")
