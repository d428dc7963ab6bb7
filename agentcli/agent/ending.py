"""Judge of the end of a turn.

It reminds the model of an undone task, and fails a run that still ends that way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath
from typing import Any

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.claim_words import NO_RECEIPT, Receipt, spoken_in
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart, Unfinished
from agentcli.agent.intent import (
    after_answered,
    announces,
    asks,
    breaks_off,
    claims_success,
    falls_short,
    files_named,
    leaves_open,
    lists_steps,
    orders_change,
    reports_no_change,
    sentences,
    telling_words,
    unclear,
    wants_answer,
)
from agentcli.agent.reply import ENDS, ReplyBuilder
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Record
from agentcli.core.tool import ToolOutput

LAST_WORD = "Only your last message is read: repeat in it what is needed of this one."
_TAKE_IT = "You announced a step and did not take it. Take it now, or say that the task is finished."
ANNOUNCED = f"{_TAKE_IT} {LAST_WORD}"
WRITTEN_CALL = f"Your reply holds a call written as text, which nothing runs. Make it as a tool call now, or say that the task is finished. {LAST_WORD}"
CONFIRMED = "reply just `ANSWERED` if your last message says so, else `ANSWERED:` and the answer"
NOTHING_DONE = (
    "The task asks for a change, and nothing was changed, nor did a command show that it is done. Nobody can answer a question: decide, and do it now. "
    f"If nothing has to change, run what shows it (a test, a build). Then, or if it cannot be done, {CONFIRMED}."
)
UNCLEAR = (
    "No file was changed. If the task asks for a change, decide and make it now: nobody can answer a question. "
    f"If it asks only for an answer, or nothing has to change, or it cannot be done, {CONFIRMED}."
)
ANNOUNCED_OR_SAID = f"{_TAKE_IT} If the task asks only for an answer, {CONFIRMED}."
LEFT = (
    "Your last message leaves something open, and nobody can answer it: decide, and do what is left of the task. "
    "If nothing is left, reply just `ANSWERED`."
)
UNTOUCHED = (
    "{where} names {file}, but nothing in this turn changed it, or named it in a call. If the task asks to change it, do so now. "
    "If nothing is left, reply just `ANSWERED`."
)
FAILED = (
    "The last command or edit failed, and you ended. Nobody can answer a question: decide, and do what is left of the task. "
    "If nothing is left, or it cannot be done, reply just `ANSWERED`."
)
CUT_SHORT = (
    "Your last message ends within a block of code. If it was a change, make it with a tool; if it was an answer, send it again, whole. "
    "If it is whole, reply just `ANSWERED`."
)
OPEN_TODOS = f"Your list still has open items:\n{{items}}\nDo them, or correct the list with todo and say what is left undone and why. {LAST_WORD}"
ONLY_NOTES = (
    "{file} is all that this turn wrote, and the task does not name it. If it asks for more than this text, do that now: nobody can answer a question. "
    "If nothing is left, reply just `ANSWERED`."
)
UNSHOWN = f"{{claim}}. Run it now, or say plainly that it was not run, or that it fails. {LAST_WORD}"
CONFIRM = (
    "Before you end: read the task again and check each requirement by running something, as its tester would. "
    "If all holds, repeat your final answer."
)
STOPPED_SHORT = "The model announced a step and did not take it. Type “continue” to let it proceed."
NO_CHANGE = "Nothing was changed. Type “continue” to let the model proceed."
UNDONE = "The task is not done: {why}, also after a reminder. `agentcli resume` continues the session; another model may get further."
MOST_REMINDERS = 3
"""Maximum reminders of one kind in a turn in which the model makes progress between them."""

_NAME = r"(?<![\w./-])(?=[a-z]*[^\sa-z])[\w-]+(?![\w/-]|\.\w)"
"""A word with another character than a small letter."""
_IN_CODE = r"`([\w.-]+)`"
"""A name in code marks."""
_NEVER_RAN = r"\bcommand not found\b|\[exit code 12[67]\]"
"""The end of an output if the shell could not start the program."""
_NOTES = (".md", ".txt", ".rst", ".adoc", ".org")
"""Endings of files that hold a text for people."""
_STEM = r"(?<![^\W\d_])[^\W\d_]{3,4}(?=.*\.)"
"""The first letters of a word in the name of a file, without its ending."""
_README = "readme"
"""Name of a file that is no plan."""
_NOTE = 500
"""Characters at the end of an output that tell why a command failed."""
_LONE_COMMAND = r"(?s)\s*```(?:bash|sh|shell|console)\n(?:(?!```).)*```\s*"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason against the end of a turn. `undone` is what the model left undone, for an error; without it the reason
    only reminds.

    `notice` is the line for a person, who can continue the turn.
    """

    reminder: str
    undone: str = ""
    notice: str = ""
    key: str = ""
    """Name under which it is counted, if its text differs each time."""
    confirmed: bool = False
    """True if the model may settle it by `ANSWERED`."""
    once: bool = False
    """True if it reminds once in a turn, as every reason without `undone` does. It then counts against the end only until a call succeeds."""


_NOT_TAKEN = "the model announced a step and did not take it"
_ANNOUNCED = Reason(ANNOUNCED, _NOT_TAKEN, STOPPED_SHORT)
_WRITTEN_CALL = Reason(WRITTEN_CALL, "the model wrote a call as text, which nothing runs", STOPPED_SHORT)
_ANNOUNCED_OR_SAID = Reason(ANNOUNCED_OR_SAID, _NOT_TAKEN, STOPPED_SHORT, confirmed=True)
"""What reads like an announcement, in a turn that changed nothing: it may be an explanation."""
_LONE = Reason(WRITTEN_CALL, notice=STOPPED_SHORT)
"""A reply that is only a command: it may be the answer."""
_LEFT = Reason(
    LEFT, "its last message asks something or lists what is left, and nobody answers", confirmed=True, once=True
)
"""An open list after work, or a question, which may be an offer."""
_FAILED = Reason(FAILED, confirmed=True)
"""A failed command after work. If the message is repeated, the failure does not matter."""
_CHECK_FAILED = Reason(FAILED, "its last check or edit failed, and it did not go on", confirmed=True, once=True)
_CUT_SHORT = Reason(CUT_SHORT, "its last message ends within a block of code", confirmed=True)
_NOTHING_DONE = Reason(
    NOTHING_DONE,
    "it asks for a change, nothing was changed, and no command showed that it holds",
    NO_CHANGE,
    confirmed=True,
)
_UNCLEAR = Reason(
    UNCLEAR,
    "nothing was changed, and the model did not say that the task asks only for an answer",
    confirmed=True,
)


@dataclass(slots=True)
class Deeds:
    """Results of a turn's calls so far."""

    called: bool = False
    ran: bool = False
    """True if a command ran that does more than show something, whatever its result. One that is missing never ran."""
    acted: bool = False
    """True if a call succeeded that may have changed something, or proved success: any call except a mere reading."""
    worked: bool = False
    """True if one of these calls was no line with git or gh."""
    changed: bool = False
    """True if a call succeeded that did more than read, check or run code, or if files were changed."""
    progress: bool = False
    """True if a call succeeded since the last reminder."""
    checked: bool = False
    """True if the last check since the last edit passed."""
    failed: bool = False
    """True if the last command or edit failed, and no edit followed. A command that only shows something does not count."""
    wrong: bool = False
    """True if it was a check or an edit. A command that also ran before the last edit is a check of it."""
    unknown: bool = False
    """True if a command succeeded whose effect is unknown, such as a script of the project."""
    looked: bool = False
    """True if a call followed it: if it changed no file, it may have been a look, too."""
    commands: list[str] = field(default_factory=list)
    before: frozenset[str] = frozenset()
    """The commands before the last edit."""


def undone(
    text: str, deeds: Deeds, task: str, *, idle: bool = True, alone: bool = False, tools: Collection[str] = ()
) -> Iterator[Reason]:
    """Yield the reasons why a turn with these deeds leaves its task undone if it ends with this text.

    `idle` if only the model's text explains why nothing was changed, `alone` if nobody reads it who could answer.
    `tools` are the names of all tools.
    """
    done = deeds.changed if alone else deeds.acted
    if text[-_REPORT:].rstrip().endswith(ENDS) and _writes_call(text, task, tools):
        yield _WRITTEN_CALL
    elif re.fullmatch(_LONE_COMMAND, text):
        yield _LONE
    elif announces(text, anywhere=not done):
        sure = done or not alone or orders_change(task)
        if sure or announces(text):
            yield _ANNOUNCED if sure else _ANNOUNCED_OR_SAID
    if alone and breaks_off(text):
        yield _CUT_SHORT
    if not idle or done or (alone and deeds.called and reports_no_change(text)):
        return
    if orders_change(task, surely=alone) and not deeds.acted:
        yield _NOTHING_DONE
    elif alone and unclear(text, task, called=deeds.called, ran=deeds.ran, failed=deeds.failed):
        yield _UNCLEAR


_REPORT = 50_000
"""Characters of a message in which claims are looked for: several times the longest report. The search takes 2 s a megabyte."""


def receipt_in(core: SessionCore, text: str) -> Receipt:
    """Return the receipt of a message with which a turn of this session ends. Of a very long one, its end is read."""
    if len(text) > _REPORT:
        text = text[-_REPORT:].partition("\n")[2]
    if not core.setup.settings.agent.receipts or not spoken_in(text):
        return NO_RECEIPT
    from agentcli.agent.receipts import receipt_of  # it compiles patterns, and few messages claim something

    return receipt_of(text, core)


def _writes_call(text: str, task: str, tools: Collection[str]) -> bool:
    from agentcli.agent.written_calls import opens_call  # few replies end as a call does

    return opens_call(text, task, tools)


class Ending(SessionPart):
    """Judges the end of a turn.

    It objects to an end that leaves the task undone, and fails it in an unattended run.

    The calls' results decide. Each reason counts once until a call succeeds. A person only gets a notice, because a
    person can continue the turn.
    """

    name = "end of a turn"

    def __init__(self, core: SessionCore) -> None:
        self._core, self._journal, self._alone = core, core.journal, core.setup.alone
        self._confirms = core.setup.settings.agent.confirm_done
        self._said: Counter[str] = Counter()
        self._pending: set[str] = set()
        self._turn = 0
        self._unsure = self._settled = ""
        self.deeds = Deeds()

    def prompted(self) -> None:
        """Begin with a new prompt: every reason counts again."""
        self._unsure = self._settled = ""
        self._said.clear()
        self._pending.clear()

    def replied(self, reply: ReplyBuilder) -> tuple[Event, ...]:
        """Record whether the turn has called tools. A prompt added to a turn keeps the turn's deeds."""
        if self._turn != self._journal.history.turn:
            self._turn, self.deeds = self._journal.history.turn, Deeds()
        self.deeds.called = self.deeds.called or reply.has_calls
        return ()

    def before_end(self, reply: ReplyBuilder) -> Unfinished:
        """Return the objection to an end with this reply."""
        answer = self._confirmed(reply.text)
        text = answer or reply.text
        reasons = [one for one in self._reasons(text) if not (answer and one.confirmed)]
        receipt = receipt_in(self._core, text)
        if not self._alone:
            notice = next((reason.notice for reason in reasons if reason.notice), receipt.line)
            return Unfinished(notice=notice, verified=receipt.verified)
        if receipt.claim:
            reasons.append(Reason(UNSHOWN.format(claim=receipt.claim), key="receipt"))
        if self.deeds.progress:
            self._pending.clear()
            self.deeds.progress = False
        for reason in reasons:
            if self._may_say(reason):
                self._said[reason.key or reason.reminder] += 1
                self._pending.add(reason.key or reason.reminder)
                self._unsure = text if reason.confirmed and after_answered(text) is None else ""
                return Unfinished(reason.reminder, undone=reason.undone)
        undone = next((reason.undone for reason in reasons if reason.undone and self._stands(reason)), "")
        line = receipt.line if receipt.verified is False else ""
        left = UNDONE.format(why=undone) if undone else ""
        return Unfinished(undone=left, notice=line, verified=receipt.verified, answer=answer)

    def _confirmed(self, text: str) -> str:
        """Return the final answer that a reply confirms or gives after a reminder; empty without one.

        A claim of success is no answer: nothing shows it.
        """
        if text == self._settled:
            return text
        rest = after_answered(text) if self._unsure else None
        answer = "" if rest is None else rest or self._unsure
        done = self.deeds.changed or self.deeds.unknown
        self._settled = "" if answer and not done and claims_success(answer) else answer
        return self._settled

    def _may_say(self, reason: Reason) -> bool:
        most = MOST_REMINDERS if reason.undone and not reason.once else 1
        key = reason.key or reason.reminder
        return key not in self._pending and self._said[key] < most

    def _stands(self, reason: Reason) -> bool:
        return not reason.once or (reason.key or reason.reminder) in self._pending

    def _reasons(self, text: str) -> Iterator[Reason]:
        task, failed = self._task(), self.deeds.failed and self._core.checkpointer is not None
        if self._alone and (self.deeds.acted or failed) and not self.deeds.changed:
            self.deeds.changed = (self.deeds.unknown and not self.deeds.looked) or self._changed_files()
        idle = self._able() and not self._denied() and not self._hindered(text, task)
        yield from undone(text, self.deeds, task, idle=idle, alone=self._alone, tools=self._core.traits)
        if self._alone and self.deeds.changed:
            yield from self._left(text, task)
        if self._alone and (items := self._open_todos()):
            yield Reason(OPEN_TODOS.format(items=items))
        if self._alone and self._confirms and self.deeds.acted:
            yield Reason(CONFIRM)

    def _left(self, text: str, task: str) -> Iterator[Reason]:
        """Yield what shows that something is left after a change."""
        # After a commit or a push alone, what remains is files of other tasks.
        remains = leaves_open(text) and (self.deeds.worked or bool(self._files_changed()))
        if file := self._only_notes(text, task):
            why = f"it only wrote {file}, which the task does not name"
            yield Reason(ONLY_NOTES.format(file=file), why, key="notes", confirmed=True, once=True)
        elif remains or falls_short(text, task) or (asks(text) and not self._offers(task)):
            yield _LEFT
        elif self.deeds.failed:
            yield _CHECK_FAILED if self.deeds.wrong else _FAILED
        elif left := self._untouched(text, task):
            where, file = left
            why = f"{where.lower()} names {file}, which no call of the turn named or changed"
            yield Reason(UNTOUCHED.format(where=where, file=file), why, key="untouched", confirmed=True, once=True)

    def _offers(self, task: str) -> bool:
        """Return True if a last question is an offer. It follows an answer, or work that is shown to be done."""
        items = self._journal.history.todo
        listed = bool(items) and all(item.status == "completed" for item in items)
        return self.deeds.checked or listed or wants_answer(task)

    def _untouched(self, text: str, task: str) -> tuple[str, str] | None:
        """Return the first file that this turn neither changed nor named in a call, after where it is named.

        A reply names it, and so does the task, or a changed file or folder has its ending. A task may leave out the
        ending of a name that is no plain word, such as `README`. Or an output lists it beside a changed file, and
        the reply names it in code marks. Or the output is of a search for what the task quotes, and no check has
        passed since. Without checkpoints return None.
        """
        changed = self._files_changed()
        if changed is None:
            return None
        calls = list(_calls(self._of_turn()))
        # Not one text: a value may be a whole file.
        touched = [*map(str, changed), *(str(value) for call, _ in calls for value in call.input.values())]

        def left(path: PurePath) -> bool:
            return not any(path.name in each for each in touched)

        endings = {PurePath(part).suffix for path in changed for part in path.parts}
        asked = {*files_named(task), *re.findall(_NAME, task)}
        for path in map(PurePath, files_named(text)):
            names = {str(path), path.stem} if path.suffix.islower() else {str(path)}
            if (path.suffix in endings or asked & names) and left(path):
                return "Your last message", str(path)
        words = set(re.findall(_IN_CODE, text))
        for call, result in calls:
            found = [PurePath(line) for line in result.output.splitlines() if line in files_named(line)]
            if not any(path.stem == each.stem for path in found for each in changed):
                continue
            remaining = list(filter(left, found))
            if named := next((path for path in remaining if words & {path.name, path.stem}), None):
                return "Your last message", str(named)
            if remaining and not self.deeds.checked and _searches_for(call, task):
                return "Your search", str(remaining[0])
        return None

    def _only_notes(self, text: str, task: str) -> str:
        """Return the only file that this turn changed if it lists steps and the task does not name it.

        Such a file may be a plan of the task. A task names it by the beginning of each word of its name. A reply of one
        sentence says that it is the result.
        """
        changed = None if self.deeds.unknown or len(sentences(text)) < 2 else self._files_changed()
        if changed is None:
            return ""
        files = changed.difference(*(path.parents for path in changed))  # a new folder counts as changed, too
        if len(files) != 1 or (file := next(iter(files))).suffix.lower() not in _NOTES:
            return ""
        calls = _calls(self._of_turn())
        planned = any(
            lists_steps(str(call.input.get("content"))) for call, made in calls if made.metadata.get("created")
        )
        stems = re.findall(_STEM, file.name.lower())
        named = bool(stems) and all(stem in task.lower() or stem in _README for stem in stems)
        return file.name if planned and not named else ""

    def _able(self) -> bool:
        """Return True if the session can change files."""
        offered = [self._core.traits.get(str(raw["name"])) for raw in self._journal.history.tools]
        return self._core.approval.mode != "plan" and any(known is not None and known.edits_files for known in offered)

    def _files_changed(self) -> frozenset[PurePath] | None:
        """Return the files that this turn has changed; None without checkpoints, or if the turn is empty."""
        checkpointer, entries = self._core.checkpointer, self._of_turn()
        return checkpointer.files_since(entries[0].seq) if checkpointer is not None and entries else None

    def _changed_files(self) -> bool:
        """Return True if a command of this turn has changed files. Without checkpoints it counts as such."""
        checkpointer, entries = self._core.checkpointer, self._of_turn()
        return checkpointer is None or (bool(entries) and checkpointer.changed_since(entries[0].seq))

    def _denied(self) -> bool:
        """Return True if a call of this turn was denied."""
        return any(isinstance(entry.body, ToolResult) and entry.body.status == "denied" for entry in self._of_turn())

    def _hindered(self, text: str, task: str) -> bool:
        """Return True if a command lacked a network, a host or a login, and the message names its error.

        What the task or a call holds names no error: every message may repeat it.
        """
        if not self.deeds.ran or self.deeds.changed or asks(text) or claims_success(text):
            return False
        from agentcli.tools.lib.command_notes import out_of_reach  # few turns end without a change after a command

        calls = list(_calls(self._of_turn()))
        known = telling_words("\n".join([task, *(str(value) for call, _ in calls for value in call.input.values())]))
        failed = (out_of_reach(result.output) for _, result in calls if result.status == "error")
        return any((telling_words(lines) - known) & telling_words(text) for lines in failed)

    def _task(self) -> str:
        """Return what the person said in this turn."""
        messages = [entry.body for entry in self._of_turn() if isinstance(entry.body, Message)]
        parts = [part for message in messages if message.role == "user" for part in message.parts]
        return "\n".join(part.text for part in parts if isinstance(part, Text) and not part.synthetic)

    def _of_turn(self) -> Sequence[Record]:
        """Return the entries since the prompt of this turn."""
        entries, turn = self._journal.history.entries, self._journal.history.turn
        first = next(
            (at for at, entry in enumerate(entries) if isinstance(entry.body, Message) and entry.body.turn == turn), 0
        )
        return entries[first:]

    def _open_todos(self) -> str:
        # A turn without calls only answers: a list left open by an earlier turn is not its task. This reply may
        # complete an item in progress.
        left = [item for item in self._journal.history.todo if item.status == "pending"]
        return "\n".join(f"- {item.content}" for item in left) if self.deeds.called else ""


def _calls(entries: Iterable[Record]) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield calls with their results."""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        if isinstance(entry.body, Message):
            calls |= {call.call_id: call for call in entry.body.calls}
        elif isinstance(entry.body, ToolResult) and entry.body.call_id in calls:
            yield calls[entry.body.call_id], entry.body


def _searches_for(call: ToolCall, task: str) -> bool:
    """Return True if a call searches for what the task quotes. A plain word may occur anywhere."""
    sought = str(call.input.get("pattern") or "").replace("\\", "")
    return sought in task and re.fullmatch(r"[a-z]*", sought) is None


class DeedStage(Stage):
    """Records what the successful calls did."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            done = await run(call)
            self._note(done)
            return done

        return ran

    def _note(self, call: Call) -> None:
        if call.output is None:
            return
        deeds, traits = self._ending.deeds, call.its_tool.traits
        about, status = call.output.metadata, call.output.status
        command = traits.subject.text(call.call.input) if traits.runs_commands else ""
        deeds.looked = deeds.unknown
        if command and status in ("success", "error"):
            _note_command(deeds, command, call.output)
        if status != "success":
            if status == "error" and traits.edits_files:
                deeds.failed = deeds.wrong = True
            return
        deeds.progress = True
        known = (
            call.harmless
            or (traits.server is not None and traits.server.reads_only)
            or (call.decision is not None and call.decision.reads)
        )
        reads = known or (traits.effect not in ("write", "run") and not traits.behaviour.delegates)
        if reads or _changed_nothing(about):
            return
        deeds.acted = True
        if not command:
            deeds.checked = deeds.failed = False
            deeds.before = frozenset(deeds.commands)
            deeds.changed = deeds.worked = True
        else:
            _note_effect(deeds, command)


def _note_effect(deeds: Deeds, command: str) -> None:
    from agentcli.agent.proof import examines, publishes  # it compiles patterns, and most turns run no command

    if publishes(command):
        deeds.changed = True
        return
    deeds.worked = True
    if not examines(command):
        deeds.unknown, deeds.looked = True, False


def _note_command(deeds: Deeds, command: str, output: ToolOutput) -> None:
    from agentcli.agent.proof import checks, shows

    succeeded, check = output.status == "success", checks(command)
    if check:
        deeds.checked = succeeded
    if not shows(command):
        deeds.ran = deeds.ran or re.search(_NEVER_RAN, output.output[-_NOTE:]) is None
        deeds.failed = not succeeded
        deeds.wrong = check or command in deeds.before
    deeds.commands.append(command)


def _changed_nothing(metadata: Mapping[str, Any]) -> bool:
    """Return True if an edit left its file as it was."""
    return metadata.get("additions") == 0 == metadata.get("deletions") and not metadata.get("created")
