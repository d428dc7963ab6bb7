"""Judge of the end of a turn.

It reminds the model of an undone task, and fails a run that still ends that way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.claim_words import NO_RECEIPT, Receipt, may_claim
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart, Unfinished
from agentcli.agent.intent import (
    after_answered,
    announces,
    asks,
    breaks_off,
    claims_success,
    files_named,
    leaves_open,
    orders_change,
    reports_no_change,
    unclear,
)
from agentcli.agent.reply import ENDS, ReplyBuilder
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Record

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
    "Your last message names {files}, but nothing in this turn changed or named it before. If the task asks to change it, do so now. "
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
"""A question or an open list after work: it may be an offer."""
_OFFERED = Reason(LEFT, confirmed=True)
"""A question after work that a check or the list of tasks shows to be done. If repeated, it is an offer."""
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
    """True if a command ran that does more than show something, whatever its result."""
    acted: bool = False
    """True if a call succeeded that may have changed something, or proved success: any call except a mere reading."""
    changed: bool = False
    """True if a call succeeded that did more than read, check or run code, or if files were changed."""
    progress: bool = False
    """True if a call succeeded since the last reminder."""
    checked: bool = False
    """True if the last check since the last edit passed."""
    failed: bool = False
    """True if the last command or edit failed, and no edit followed. A command that only shows something does not count."""
    wrong: bool = False
    """True if it was a check or an edit."""


def undone(text: str, deeds: Deeds, task: str, *, idle: bool = True, alone: bool = False) -> Iterator[Reason]:
    """Yield the reasons why a turn with these deeds leaves its task undone if it ends with this text.

    `idle` if only the model's text explains why nothing was changed, `alone` if nobody reads it who could answer.
    """
    done = deeds.changed if alone else deeds.acted
    sure = done or not alone or orders_change(task)
    if text.rstrip().endswith(ENDS) and _writes_call(text, task):
        yield _WRITTEN_CALL
    elif re.fullmatch(_LONE_COMMAND, text):
        yield _LONE
    elif announces(text, anywhere=sure and not done):
        yield _ANNOUNCED if sure else _ANNOUNCED_OR_SAID
    if alone and breaks_off(text):
        yield _CUT_SHORT
    if not idle or done or (alone and deeds.called and reports_no_change(text)):
        return
    if orders_change(task, surely=alone) and not deeds.acted:
        yield _NOTHING_DONE
    elif alone and unclear(text, task, called=deeds.called, ran=deeds.ran):
        yield _UNCLEAR


_REPORT = 50_000
"""Characters of a message in which claims are looked for: several times the longest report. The search takes 2 s a megabyte."""


def receipt_in(core: SessionCore, text: str) -> Receipt:
    """Return the receipt of a message with which a turn of this session ends. Of a very long one, its end is read."""
    if len(text) > _REPORT:
        text = text[-_REPORT:].partition("\n")[2]
    if not core.setup.settings.agent.receipts or not may_claim(text):
        return NO_RECEIPT
    from agentcli.agent.receipts import receipt_of  # it compiles patterns, and few messages claim something

    return receipt_of(text, core)


def _writes_call(text: str, task: str) -> bool:
    from agentcli.agent.written_calls import opens_call  # few replies end as a call does

    return opens_call(text, task)


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
        self._unsure = ""
        self.deeds = Deeds()

    def prompted(self) -> None:
        """Begin with a new prompt: every reason counts again."""
        self._unsure = ""
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
        rest = after_answered(text) if self._unsure else None
        answer = "" if rest is None else rest or self._unsure
        return "" if claims_success(answer) and not self.deeds.changed else answer

    def _may_say(self, reason: Reason) -> bool:
        most = MOST_REMINDERS if reason.undone and not reason.once else 1
        key = reason.key or reason.reminder
        return key not in self._pending and self._said[key] < most

    def _stands(self, reason: Reason) -> bool:
        return not reason.once or (reason.key or reason.reminder) in self._pending

    def _reasons(self, text: str) -> Iterator[Reason]:
        idle, task = self._able() and not self._denied(), self._task()
        failed = self.deeds.failed and self._core.checkpointer is not None
        if self._alone and (self.deeds.acted or failed) and not self.deeds.changed:
            self.deeds.changed = self._changed_files()
        yield from undone(text, self.deeds, task, idle=idle, alone=self._alone)
        if self._alone and self.deeds.changed:
            yield from self._left(text, task)
        if self._alone and (items := self._open_todos()):
            yield Reason(OPEN_TODOS.format(items=items))
        if self._alone and self._confirms and self.deeds.acted:
            yield Reason(CONFIRM)

    def _left(self, text: str, task: str) -> Iterator[Reason]:
        """Yield what shows that something is left after a change."""
        if leaves_open(text):
            yield _LEFT
        elif asks(text):
            yield _OFFERED if self.deeds.checked or self._list_is_done() else _LEFT
        elif self.deeds.failed:
            yield _CHECK_FAILED if self.deeds.wrong else _FAILED
        elif files := self._untouched(text, task):
            why = f"it names {files}, which no call of the turn named or changed"
            yield Reason(UNTOUCHED.format(files=files), why, key="untouched", confirmed=True, once=True)

    def _list_is_done(self) -> bool:
        items = self._journal.history.todo
        return bool(items) and all(item.status == "completed" for item in items)

    def _untouched(self, text: str, task: str) -> str:
        """Return the first file that a reply names, and that this turn neither changed nor named in a call.

        It counts if the task names it, or if a changed file or folder has its ending. A task may leave out the ending
        of a name that is no plain word, such as `README`. Without checkpoints return nothing.
        """
        checkpointer, entries = self._core.checkpointer, self._of_turn()
        if checkpointer is None or not entries:
            return ""
        changed = checkpointer.files_since(entries[0].seq)
        parts = [part for entry in entries if isinstance(entry.body, Message) for part in entry.body.parts]
        given = [value for part in parts if isinstance(part, ToolCall) for value in part.input.values()]
        touched = [*map(str, [*changed, *given])]  # not one text: a value may be a whole file
        endings = {PurePath(part).suffix for path in changed for part in path.parts}
        asked = {*files_named(task), *re.findall(_NAME, task)}
        for path in map(PurePath, files_named(text)):
            names = {str(path), path.stem} if path.suffix.islower() else {str(path)}
            named = (path.name in each for each in touched)
            if (path.suffix in endings or asked & names) and not any(named):
                return str(path)
        return ""

    def _able(self) -> bool:
        """Return True if the session can change files."""
        offered = [self._core.traits.get(str(raw["name"])) for raw in self._journal.history.tools]
        return self._core.approval.mode != "plan" and any(known is not None and known.edits_files for known in offered)

    def _changed_files(self) -> bool:
        """Return True if a command of this turn has changed files. Without checkpoints it counts as such."""
        checkpointer, entries = self._core.checkpointer, self._of_turn()
        return checkpointer is None or (bool(entries) and checkpointer.changed_since(entries[0].seq))

    def _denied(self) -> bool:
        """Return True if a call of this turn was denied."""
        return any(isinstance(entry.body, ToolResult) and entry.body.status == "denied" for entry in self._of_turn())

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
        succeeded = call.output.status == "success"
        command = traits.subject.text(call.call.input) if traits.runs_commands else ""
        if command and call.output.status in ("success", "error"):
            _note_command(deeds, command, succeeded=succeeded)
        if not succeeded:
            if call.output.status == "error" and traits.edits_files:
                deeds.failed = deeds.wrong = True
            return
        deeds.progress = True
        known = (
            call.harmless
            or (traits.server is not None and traits.server.reads_only)
            or (call.decision is not None and call.decision.reads)
        )
        reads = known or (traits.effect not in ("write", "run") and not traits.behaviour.delegates)
        if reads or _changed_nothing(call.output.metadata):
            return
        deeds.acted = True
        if not command:
            deeds.checked = deeds.failed = False
        deeds.changed = deeds.changed or not (command and _examines(command))


def _examines(command: str) -> bool:
    from agentcli.agent.proof import examines  # it compiles patterns, and most turns run no command

    return examines(command)


def _note_command(deeds: Deeds, command: str, *, succeeded: bool) -> None:
    from agentcli.agent.proof import checks, shows

    if checks(command):
        deeds.checked = succeeded
    if not shows(command):
        deeds.ran, deeds.failed, deeds.wrong = True, not succeeded, checks(command)


def _changed_nothing(metadata: Mapping[str, Any]) -> bool:
    """Return True if an edit left its file as it was."""
    return metadata.get("additions") == 0 == metadata.get("deletions") and not metadata.get("created")
