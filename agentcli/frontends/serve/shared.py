"""A shared session: its events, its state, its open questions, and actions from elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
from agentcli.core.errors import InputError
from agentcli.core.event import Event, Recorded, ReplyRestarted, TextDelta, ThinkingDelta, ToolStarted, TurnEnded
from agentcli.core.message import Message
from agentcli.core.tool import Question
from agentcli.frontends.run.events import to_json
from agentcli.frontends.run.results import run_events
from agentcli.frontends.serve.feed import Feed
from agentcli.frontends.serve.questions import Answer, Questions, digest
from agentcli.frontends.serve.registry import Served
from agentcli.frontends.serve.tool_traits import told
from agentcli.frontends.terminal.dialogs import proposal
from agentcli.frontends.terminal.sharing import Front, Share
from agentcli.frontends.terminal.style import MUTE, Look
from agentcli.sessions.exporting.transcript import cleaned

SETTLES = 0.1
"""Seconds after which a front end has noticed that its turn is over."""
LONGEST = 100_000
"""Characters of a message from elsewhere."""
JOINED = 50_000
"""Characters of a text that become an event at the latest, even if no reader is up to date."""

T = TypeVar("T")
Clean = Callable[[str], str]


class SharedSession(Share):
    """The open session of a front end. Everything that leaves passes `clean`, which removes secrets.

    `moved_to` is called when another session is opened.
    """

    def __init__(self, front: Front, clean: Clean, serving: Served) -> None:
        self._front, self._clean, self._serving = front, clean, serving
        self.feed = Feed(gather=self._pass_on)
        self.questions = Questions(self._publish)
        self._state = self.state
        self._text, self._thought = LiveText(clean), LiveText(clean)
        self._arriving = self._text
        self._doing = ""
        self._began = self._changed = time.monotonic()
        """When the turn began, and when the state changed."""
        self._turns, self._told_end = 0, True
        """How many turns have ended, and whether the newest one's end was reported."""

    @property
    def id(self) -> str:
        """The id of the open session."""
        return self._front.session.journal.id

    @property
    def state(self) -> str:
        """`waits` for an answer, `works` or is `idle`."""
        return "waits" if self.questions.open else "works" if self._front.working else "idle"

    def snapshot(self) -> Mapping[str, Any]:
        """Return the state with the newest event's id: a reader that follows after it misses nothing."""
        self.feed.touch()
        self._pass_on()
        session = self._front.session
        history = session.history
        return {
            "session": session.journal.id,
            "state": self.state,
            "doing": self._doing if self.state == "works" else "",
            "jobs": [self._clean(job.command) for job in session.core.jobs.running()],
            "folder": str(session.cwd),
            "model": session.core.model.name,
            "mode": session.core.approval.mode,
            "cost": history.cost,
            "tokens": history.usage.total,
            "seconds": round(time.monotonic() - (self._began if self.state == "works" else self._changed), 1),
            "records": history.last_seq,
            "turns": self._turns,
            "cursor": self.feed.cursor,
            "partial": {"text": self._text.whole, "thinking": self._thought.whole},
            "questions": self.questions.open,
        }

    def tools(self) -> Mapping[str, Any]:
        """Return the model's window and each tool's traits, by which an editor shows calls."""
        session = self._front.session
        return {
            "window": session.core.model.window,
            "tools": {tool.name: told(tool.traits) for tool in session.core.setup.tools.offered},
        }

    def show(self, event: Event) -> None:
        """Take an event of the front end."""
        if isinstance(event, TextDelta | ThinkingDelta):
            self._add(event.text, self._text if isinstance(event, TextDelta) else self._thought)
            return
        self._pass_on()
        match event:
            case ReplyRestarted():
                self._forget_reply()
                self._publish({"type": "restarted"})
            case ToolStarted(title=title):
                self._doing = self._clean(title)
                self._publish({"type": "started", "id": event.call.call_id, "title": self._doing})
            case TurnEnded(ending, error=error):
                self._forget_reply()
                self._end_turn(ending, "" if error is None else self._clean(str(error)))
                self.turned()
            case _:
                pass
        if not self.feed.wanted:
            if isinstance(event, Recorded) and isinstance(event.record.body, Message):
                self._forget_reply()
            return
        for each in run_events(event):
            line = cleaned(to_json(each), self._clean)
            self._publish({**line, "seq": event.record.seq} if isinstance(event, Recorded) else line)
        if isinstance(event, Recorded) and isinstance(event.record.body, Message):
            self._forget_reply()
        elif isinstance(event, Recorded) and event.record.kind in ("undo", "compaction", "prune"):
            self._publish({"type": "record", "kind": event.record.kind, "seq": event.record.seq})

    def turned(self) -> None:
        """Publish the state, now and once the front end has noticed its turn's end."""
        self._publish_state()
        asyncio.get_running_loop().call_later(SETTLES, self._settled)

    async def moved(self) -> None:
        """Continue as another session: its readers find it under its own id."""
        self._publish({"type": "moved", "session": self.id})
        self._forget_reply()
        await self._serving.rename(self.id)

    async def approve(self, ask: ApprovalRequest, here: Approve) -> ApprovalResponse | None:
        """Return the first answer, from here or elsewhere."""
        call = digest({"name": ask.call.name, "input": dict(ask.call.input), "call_id": ask.call.call_id})
        shown = {
            **cleaned(question_of(ask, str(self._front.session.cwd)), self._clean),
            "call": call,
            "session": self.id,
        }
        answer, given = await self._first(
            shown,
            here(ask),
            partial(response_of, ask),
            lambda said: "no" if said is None else said.choice,
        )
        if given is not None:
            self._front.tell(f"Answered by {given.by}: {self._label(shown, given.choice)}.")
        return answer

    async def ask_user(self, questions: Sequence[Question], here: AskUser) -> Sequence[str] | None:
        """Return the first answers, from here or elsewhere."""
        asked = [
            {
                "question": one.question,
                "header": one.header,
                "multiple": one.multiple,
                "choices": [{"label": each.label, "description": each.description} for each in one.choices],
            }
            for one in questions
        ]
        shown = {"kind": "questions", "session": self.id, **cleaned({"questions": asked}, self._clean)}

        def taken(answer: Answer) -> Sequence[str] | None:
            return answer.answers

        answers, given = await self._first(shown, here(questions), taken, lambda said: "answered")
        if given is not None:
            self._front.tell(f"Answered by {given.by}.")
        return answers

    def answer(self, key: str, answer: Answer) -> None:
        """Answer an open question. Raises TooLate, InputError."""
        self.questions.answer(key, answer)

    def say(self, text: str, by: str) -> Mapping[str, Any]:
        """Send a message to the turn, or begin one; return how, and the turn's number.

        Raises AgentError for a command: commands belong to the terminal.
        """
        if not text.strip():
            raise InputError("The message is empty.")
        if len(text) > LONGEST:
            raise InputError(f"A message can have at most {LONGEST:,} characters.")
        if text.lstrip().startswith(("/", "!")):
            raise InputError("Commands that begin with / or ! work only in the session's own terminal.")
        how = self._front.take(text)
        self._front.tell(f"Message from {by}.")
        return {"how": how, "turn": self._turns + 1}

    def stop(self, by: str) -> None:
        """Interrupt the turn."""
        if self._front.working:
            self._front.interrupt()
            self._front.tell(f"Stopped by {by}.")

    async def close(self) -> None:
        """End the sharing; readers hear it."""
        self._publish({"type": "ended", "session": self.id})
        await asyncio.sleep(0)
        await self._serving.close()

    async def _first(
        self,
        shown: Mapping[str, Any],
        here: Awaitable[T],
        taken: Callable[[Answer], T],
        said: Callable[[T], str],
    ) -> tuple[T, Answer | None]:
        try:
            return await self.questions.first(shown, here, taken, said)
        finally:
            self._publish_state()

    def _add(self, piece: str, live: LiveText) -> None:
        """Take a piece of a text; readers get all pieces of a while as one event."""
        if live is not self._arriving:
            self._pass_on()
            self._arriving = live
        live.add(piece)
        if live.waiting > JOINED:
            self._pass_on()
        else:
            self.feed.expect()

    def _pass_on(self) -> None:
        """Publish what has arrived of a text."""
        passed = self._arriving.take()
        if passed and self.feed.wanted:
            kind = ThinkingDelta if self._arriving is self._thought else TextDelta
            for each in run_events(kind(passed)):
                self.feed.add(to_json(each))

    def _forget_reply(self) -> None:
        self._text.clear()
        self._thought.clear()

    def _settled(self) -> None:
        if not self._front.working and not self._told_end:  # it failed before it began
            self._end_turn("done", "")
        self._publish_state()

    def _end_turn(self, ending: str, error: str) -> None:
        self._turns, self._told_end = self._turns + 1, True
        self._publish({"type": "turn_ended", "turn": self._turns, "ending": ending, "error": error})

    def _publish_state(self) -> None:
        if self.state != self._state:
            self._changed = time.monotonic()
            if self._state == "idle":
                self._told_end, self._began = False, self._changed
            self._state = self.state
            self._publish({"type": "state", "state": self._state, "cost": self._front.session.history.cost})

    def _publish(self, event: Mapping[str, Any]) -> None:
        self._pass_on()
        self.feed.add(event)
        if event["type"] == "question":
            self._publish_state()

    def _label(self, shown: Mapping[str, Any], choice: str) -> str:
        return next((each["label"] for each in shown["choices"] if each["choice"] == choice), choice)


_BLOCK = "-----BEGIN "
"""The beginning of a private key, none of which is passed on while it arrives."""


class LiveText:
    """A text that grows. What was passed on never changes, so no word leaves before it is complete and checked."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._line = self._passed = ""
        self._parts: list[str] = []
        self._pieces: list[str] = []
        self.waiting = 0
        """Characters of the pieces that were not looked at."""

    @property
    def whole(self) -> str:
        """All that was passed on."""
        return "".join(self._parts)

    def add(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)
        self.waiting += len(piece)

    def take(self) -> str:
        """Return what can be passed on now."""
        if not self._pieces:
            return ""
        self._line += "".join(self._pieces)
        self._pieces, self.waiting = [], 0
        last = max(self._line.rfind(" "), self._line.rfind("\n"), self._line.rfind("\t"))
        return self._pass(self._line[: last + 1]) if last >= 0 else ""

    def clear(self) -> None:
        """Begin another text."""
        self._line = self._passed = ""
        self._parts, self._pieces, self.waiting = [], [], 0

    def _pass(self, ready: str) -> str:
        block = ready.find(_BLOCK)
        if block >= 0:
            ready = ready[:block]
        cleaned = self._clean(ready)
        if not cleaned.startswith(self._passed):
            # A passed-on word has changed: the rest of this line waits for the whole message.
            return ""
        more = cleaned[len(self._passed) :]
        self._passed = cleaned
        self._parts.append(more)
        if block < 0 and (end := ready.rfind("\n")) >= 0:
            self._line = self._line[end + 1 :]
            self._passed = self._clean(ready[end + 1 :])
        return more


def question_of(ask: ApprovalRequest, folder: str) -> Mapping[str, Any]:
    """Return a question about a call with everything that the terminal shows: title, reason, whole preview, each
    choice. Paths are relative to `folder`.
    """
    look = Look(MUTE, folder=folder)
    dialog = proposal.question(ask, None, look)
    names = proposal.PLAN if ask.kind == "plan" else proposal.answers(ask, None)
    description = ask.call.input.get("description")
    return {
        "kind": ask.kind,
        "call_id": ask.call.call_id,
        "name": ask.call.name,
        "title": dialog.title,
        "subject": look.near(ask.title),
        "why": "\n".join(filter(None, (dialog.note, *proposal.parts_of(ask)))),
        "description": description if ask.kind == "command" and isinstance(description, str) else "",
        "preview": ask.preview or (proposal.NO_CHANGE if ask.kind == "diff" else ""),
        "unsaved": ask.unsaved,
        "choices": [
            {"choice": name, "label": _label(ask, name, choice.label)}
            for name, choice in zip(names, dialog.choices, strict=True)
        ],
        "careful": dialog.chosen != 0,
        "others": [{"title": other.title, "kind": other.kind, "preview": other.preview} for other in ask.others],
    }


def _label(ask: ApprovalRequest, name: str, label: str) -> str:
    """Return a choice's label without the terminal's keys, and with the rule if the terminal shows it next."""
    match name:
        case "session" if ask.edits:
            return "Yes, and all edits in this session"
        case "everywhere":
            return f"Always allow {proposal.covered(ask.always)} in every project"
        case "all":
            return f"Yes to {proposal.together(ask)}"
        case _:
            return label


def response_of(ask: ApprovalRequest, answer: Answer) -> ApprovalResponse | None:
    """Return the front end's answer for one from elsewhere."""
    match answer.choice:
        case "boxed":
            return ApprovalResponse("prefix", rules=(ask.boxes,))
        case "everywhere":
            return ApprovalResponse("prefix", rules=(ask.always,), everywhere=True)
        case "once" | "session" | "always" | "prefix" | "programs" | "folder" | "all" | "compact" as choice:
            return ApprovalResponse(choice)
        case _:
            return ApprovalResponse("no", answer.reason)
