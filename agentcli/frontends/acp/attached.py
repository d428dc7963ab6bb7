"""A session that another program shares: the editor follows, answers, steers and stops it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp.interfaces import Client
from acp.schema import (
    PermissionOption,
    PermissionOptionKind,
    PromptResponse,
    ToolCallProgress,
    ToolCallStatus,
    ToolCallUpdate,
)

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event, TurnEnded
from agentcli.core.history import History
from agentcli.core.streams import closing
from agentcli.core.tasks import run_beside, start_task
from agentcli.core.tool import Traits
from agentcli.frontends.acp.buffers import Offers
from agentcli.frontends.acp.dialogs import Dialogs
from agentcli.frontends.acp.elsewhere import SharedElsewhere
from agentcli.frontends.acp.errors import answered, stop_reason
from agentcli.frontends.acp.heard import Heard, asked, questions
from agentcli.frontends.acp.prompts import Block, only_text
from agentcli.frontends.acp.questions import NO
from agentcli.frontends.acp.replay import replay
from agentcli.frontends.acp.updates import Shown, Update, Updates, thought_chunk, user_chunk
from agentcli.frontends.serve.tool_traits import shown
from agentcli.sessions.exporting.transcript import cleaned

OVER = "The program that shares this session has ended. Load the session again to continue it here."
MOVED = "The other program has another session open now. Load this session again to continue it here."
CHOSEN_THERE = "Mode, model and effort of this session are chosen in its own terminal."
AHEAD = 100
"""Updates that are sent at once."""
_GRACE = 1.0
"""Seconds for a turn to end after it was stopped."""
_KINDS: Mapping[str, PermissionOptionKind] = {"once": "allow_once", NO: "reject_once"}

_log = logging.getLogger(__name__)
Json = Mapping[str, Any]


@dataclass(slots=True)
class _State:
    """The session as it is known here: its history grows."""

    history: History
    folder: Path
    window: int
    traits: Mapping[str, Traits]

    def shown(self) -> Shown:
        """Return what updates show of it."""
        return Shown(lambda: self.history, lambda: self.window, self.folder, self.traits, {})


class AttachedSession:
    """A session of another program. Mode, model and commands belong to that program's own terminal."""

    def __init__(self, client: Client, offers: Offers, elsewhere: SharedElsewhere, state: _State) -> None:
        self.id = elsewhere.id
        self._client, self._form, self._elsewhere = client, offers.form, elsewhere
        self._state = state
        self._after = state.history.last_seq
        self._updates = Updates(state.shown())
        self._heard = Heard()
        self._following: asyncio.Task[None] | None = None
        self._asked: dict[str, Json] = {}
        self._shown: dict[str, str] = {}
        """Open questions, their calls' ids as the editor knows them, and the questions that it has answered."""
        self._given: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._sending: list[asyncio.Task[None]] = []
        self._own: list[str] = []
        """Prompts of this editor, which shows them itself, whose events have not arrived yet."""
        self._waiting: list[tuple[int, asyncio.Future[TurnEnded]]] = []
        """Numbers of the turns whose ends are waited for."""
        self._turns, self._last = 0, TurnEnded("done")
        """Number of the newest finished turn, and its end."""

    @classmethod
    async def attach(cls, client: Client, offers: Offers, elsewhere: SharedElsewhere) -> AttachedSession:
        """Connect to a shared session. Raise RequestError if it does not answer."""
        with answered():
            state, more = await elsewhere.request(do="state"), await elsewhere.request(do="tools")
            history = await asyncio.to_thread(elsewhere.history)
        tools = {name: shown(told) for name, told in more["tools"].items()}
        return cls(client, offers, elsewhere, _State(history, Path(state["folder"]), int(more["window"]), tools))

    @property
    def working(self) -> bool:
        """True while a prompt of this editor waits for its turn's end."""
        return bool(self._waiting)

    async def announce(self, replays: bool = False) -> None:
        """Follow the session; with `replays`, send its contents first."""
        if replays:
            await self.replay()
        self._following = run_beside(self._follow())

    async def replay(self) -> None:
        """Send the contents of the session."""
        for update in replay(self._state.history, self._updates):
            kept = update.model_dump(mode="json", by_alias=True, exclude_none=True)
            await self._send(type(update).model_validate(cleaned(kept, self._elsewhere.clean)))
        await self._flush()

    async def prompt(self, blocks: Sequence[Block]) -> PromptResponse:
        """Send a message to the running turn, or begin one; wait for the turn's end."""
        with answered():
            text = only_text(blocks)
            turn = await self._say(text)
            ended = self._last
            if turn > self._turns:
                end: asyncio.Future[TurnEnded] = asyncio.get_running_loop().create_future()
                self._waiting.append((turn, end))
                ended = await end
            await self._catch_up()
        await self._flush()
        return PromptResponse(stop_reason=stop_reason(ended, self._state.history))

    async def _say(self, text: str) -> int:
        """Send a message; return the number of its turn. Raise AgentError if it is refused."""
        own = self._elsewhere.clean(text)
        self._own.append(own)
        try:
            return int((await self._request(do="say", text=text))["turn"])
        except AgentError:
            with suppress(ValueError):
                self._own.remove(own)
            raise

    def cancel(self) -> None:
        """Stop the turn."""
        run_beside(self._stop())

    async def close(self) -> None:
        """Detach; the session continues."""
        self._end_waiting(TurnEnded("interrupted"))
        tasks = [task for task in (self._following, *self._answering) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._flush()

    async def _stop(self) -> None:
        with suppress(AgentError):
            await self._request(do="stop")
            await asyncio.sleep(_GRACE)
            if (await self._request(do="state"))["state"] == "idle":  # the message began no turn
                self._end_waiting(TurnEnded("interrupted"))

    async def _request(self, **asked: Any) -> Json:
        """Send a request. Raise AgentError if it is refused, or if nobody answers."""
        answer = await self._elsewhere.request(**asked)
        if not answer.get("ok"):
            raise InputError(str(answer.get("error")))
        return answer

    async def _follow(self) -> None:
        async with closing(self._elsewhere.events(self._after)) as events:
            async for event in events:
                match event["type"]:
                    case "ended" | "moved":
                        await self._leave(OVER if event["type"] == "ended" else MOVED)
                        if event["type"] == "moved":
                            return
                    case "reloaded":
                        await self._reloaded(event)
                    case "question":
                        await self._ask(event)
                    case "answered":
                        await self._answered(str(event["hash"]), str(event["by"]), str(event["choice"]))
                    case "message" if event["role"] == "user":
                        await self._prompted(str(event["text"]))
                    case _:
                        await self._hear(event)

    async def _hear(self, event: Json) -> None:
        if event["type"] in ("tool_result", "usage"):
            await self._catch_up()  # the todo list and the cost are of the records
        try:
            all_heard = [*self._heard.of(event)]
        except (KeyError, TypeError) as error:  # the other program may be of another version
            _log.warning("unreadable event of a shared session: %r", error)
            return
        for heard in all_heard:
            await self._show(heard)
            if isinstance(heard, TurnEnded):
                self._end_turn(int(event["turn"]), heard)

    async def _show(self, event: Event) -> None:
        for update in self._updates.of(event):
            await self._send(update)

    async def _prompted(self, text: str) -> None:
        """Show a message of another program; the editor shows its own messages itself."""
        if text in self._own:
            self._own.remove(text)
        else:
            await self._send(user_chunk(text))

    async def _reloaded(self, state: Json) -> None:
        """Continue from a state: the rest of the arriving reply, finished turns, open questions."""
        for event in self._heard.arriving(state.get("partial", {})):
            await self._show(event)
        if state.get("turns", 0) > self._turns:
            self._end_turn(int(state["turns"]), TurnEnded("done"))
        open_now = {str(each["hash"]): each for each in state.get("questions", ())}
        for key in [key for key in self._asked if key not in open_now]:
            await self._answered(key, "another program", "")
        for key, question in open_now.items():
            if key not in self._asked:
                await self._ask(question)

    async def _leave(self, why: str) -> None:
        """Hear that the session is no longer there."""
        for key in [*self._asked]:
            await self._answered(key, "the end of the program", NO)
        self._own.clear()
        self._turns = 0
        waiting, self._waiting = self._waiting, []
        for _, end in waiting:
            end.set_exception(AgentError(why))
        await self._tell(why)

    def _end_turn(self, number: int, ended: TurnEnded) -> None:
        self._turns, self._last = number, ended
        for turn, end in self._waiting:
            if turn <= number and not end.done():
                end.set_result(ended)
        self._waiting = [each for each in self._waiting if not each[1].done()]

    def _end_waiting(self, ended: TurnEnded) -> None:
        waiting, self._waiting = self._waiting, []
        for _, end in waiting:
            if not end.done():
                end.set_result(ended)

    async def _ask(self, question: Json) -> None:
        """Ask the person a question. The first answer counts, from wherever it comes."""
        key = str(question["hash"])
        self._asked[key] = question
        dialogs = Dialogs(self._client, self._form, lambda: self._dismissed(key), self.id)
        if question["kind"] == "questions":
            work = self._ask_model_questions(key, dialogs, question)
        else:
            start, shown = self._updates.asking(asked(question, self._heard.calls.get(question["call_id"])))
            self._shown[key] = shown.tool_call_id
            if start is not None:
                await self._send(start)
            work = self._approve(key, dialogs, shown, question)
        await self._flush()
        self._answering = {run_beside(work), *(task for task in self._answering if not task.done())}

    async def _approve(self, key: str, dialogs: Dialogs, shown: ToolCallUpdate, question: Json) -> None:
        chosen = await dialogs.choose(shown, options_of(question))
        if chosen is not None:
            await self._give(key, choice=chosen)

    async def _ask_model_questions(self, key: str, dialogs: Dialogs, question: Json) -> None:
        answers = await dialogs.ask(questions(question))
        if answers is not None:
            await self._give(key, answers=[*answers])

    async def _give(self, key: str, **answer: Any) -> None:
        """Send the person's answer; report if another one was first."""
        self._given.add(key)
        try:
            await self._request(do="answer", hash=key, **answer)
        except AgentError as error:
            await self._tell(str(error))

    async def _answered(self, key: str, by: str, choice: str) -> None:
        """Hear that a question is answered, by whomever."""
        question = self._asked.pop(key, None)
        if question is None:
            return
        shown = self._shown.pop(key, "")
        if shown and shown != question["call_id"]:  # a call of a subagent, whose result does not come here
            status: ToolCallStatus = "failed" if choice == NO else "completed"
            await self._send(ToolCallProgress(session_update="tool_call_update", tool_call_id=shown, status=status))
        if key not in self._given:
            labels = {each["choice"]: each["label"] for each in question.get("choices", ())}
            said = labels.get(choice, choice)
            await self._tell(f"Answered by {by}: {said}." if said else f"Answered by {by}.")
        self._given.discard(key)

    def _dismissed(self, key: str) -> None:
        """Stop the turn because the person has cancelled a question, unless it is answered already."""
        if key in self._asked:
            self.cancel()

    async def _catch_up(self) -> None:
        self._state.history = self._elsewhere.history(self._state.history)

    async def _tell(self, text: str) -> None:
        await self._send(thought_chunk(text))

    async def _send(self, update: Update) -> None:
        """Send an update after the previous ones.

        At most `AHEAD` are under way: a slow editor slows the reading of events.
        """
        self._sending.append(start_task(self._client.session_update(self.id, update)))
        if len(self._sending) >= AHEAD:
            await self._flush()

    async def _flush(self) -> None:
        """Wait until all updates are sent; if the client has disconnected, its connection ends by itself."""
        sending, self._sending = self._sending, []
        await asyncio.gather(*sending, return_exceptions=True)


def options_of(question: Json) -> list[PermissionOption]:
    """Return the choices of the session's own terminal, without the choice about further calls.

    The editor does not show further calls.
    """
    return [
        PermissionOption(option_id=each["choice"], name=each["label"], kind=_KINDS.get(each["choice"], "allow_always"))
        for each in question["choices"]
        if each["choice"] != "all"
    ]
