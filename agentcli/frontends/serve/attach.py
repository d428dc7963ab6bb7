"""`agentcli attach`: a session that runs elsewhere, followed and answered line by line in a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.errors import AgentError
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task
from agentcli.frontends.plain.lines import Lines
from agentcli.frontends.serve.following import Following
from agentcli.frontends.serve.machine import Machine
from agentcli.frontends.terminal.dialogs.proposal import needed
from agentcli.sessions.info import SessionInfo

OUTPUT = 12
"""Lines of a tool's output that are printed."""
READING = 0.5
"""Seconds after a question in which a line does not answer it: it was typed for something else."""
TWICE = 1.5
"""Seconds within which a second Ctrl-C detaches."""


class Attached:
    """A terminal that follows a session. With `read_only`, it sends nothing."""

    def __init__(self, machine: Machine, info: SessionInfo, *, read_only: bool = False) -> None:
        self._machine, self._read_only = machine, read_only
        self._following = Following(machine, info)
        self._lines = Lines(sys.stdin.fileno())
        self._questions: dict[str, Mapping[str, Any]] = {}
        self._shown_at = 0.0
        self._streaming = ""
        self._pressed_at = -TWICE
        self._left = asyncio.Event()

    @property
    def _info(self) -> SessionInfo:
        return self._following.info

    async def run(self) -> int:
        """Follow until the person detaches; return the exit code."""
        where = f" in {self._info.directory}" if self._info.directory else ""
        self._say(f"Attached to {self._info.id}{where}.")
        if self._read_only:
            self._say("Ctrl-D detaches.")
        else:
            self._say(
                "Type a line to send it to the session. Ctrl-C stops its turn, Ctrl-D detaches; the session continues."
            )
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._break)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._left.set)
        with self._lines.open():
            tasks = [start_task(work) for work in (self._follow(), self._type(), self._left.wait())]
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            for task in done:
                task.result()
        self._say("", f"Detached. `agentcli attach {self._info.id}` comes back.")
        return 0

    async def _follow(self) -> None:
        """Print the session's past output, then new output; continue if its program is restarted."""
        async with closing(self._following.events()) as events:
            async for event in events:
                match event["type"]:
                    case "reloaded":
                        self._reloaded(event)
                    case "ended":
                        self._questions.clear()
                        self._say("The session has ended. Waiting until it is resumed.")
                    case "moved":
                        self._say(f"This is session {event['session']}.")
                    case _:
                        self._show(event)

    def _reloaded(self, state: Mapping[str, Any]) -> None:
        """Print the rest of the arriving reply, and the open questions."""
        text = str(state.get("partial", {}).get("text", ""))
        if not text.startswith(self._streaming):
            self._streaming = ""
        if len(text) > len(self._streaming):
            self._delta(text[len(self._streaming) :])
        known = self._questions
        self._questions = {each["hash"]: known.get(each["hash"], {}) for each in state.get("questions", ())}
        for question in state.get("questions", ()):
            if not self._questions[question["hash"]]:
                self._ask(question)

    def _show(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "message" if event.get("delta"):
                self._delta(event["text"])
            case "message" if event["role"] == "user":
                self._say("", *(f"> {line}" for line in event["text"].split("\n")))
            case "message":
                self._message(event["text"])
            case "restarted":
                self._say("(the reply begins again)")
            case "tool_call":
                self._say("", f"Calls {event['name']}: {_subject(event['input'])}")
            case "tool_result":
                lines = event["output"].rstrip("\n").split("\n")
                more = [f"({len(lines) - OUTPUT} more lines)"] if len(lines) > OUTPUT else []
                self._say(f"{event['name']}: {event['status']}", *(f"  {line}" for line in lines[:OUTPUT]), *more)
            case "warning":
                self._say(f"Note: {event['message']}")
            case "question":
                self._ask(event)
            case "answered":
                self._answered(event)
            case "turn_ended" if event["error"]:
                self._say(f"Error: {event['error']}")
            case "state":
                self._say({"idle": "The session is idle.", "waits": "", "works": ""}.get(event["state"], ""))
            case _:
                pass

    def _delta(self, text: str) -> None:
        if not self._streaming:
            self._say("")
        self._streaming += text
        print(safe(text), end="", flush=True)

    def _message(self, text: str) -> None:
        """Print a whole message, whose beginning may have been printed already."""
        rest = text[len(self._streaming) :] if text.startswith(self._streaming) else "\n" + text
        print(safe(rest if self._streaming else "\n" + text), flush=True)
        self._streaming = ""

    def _ask(self, question: Mapping[str, Any]) -> None:
        self._questions[str(question["hash"])] = question
        self._shown_at = time.monotonic()
        if question["kind"] == "questions":
            for asked in question["questions"]:
                self._say(
                    "", asked["question"], *(f"  - {each['label']}  {each['description']}" for each in asked["choices"])
                )
            self._say(
                ""
                if self._read_only
                else "Type the answer."
                if len(question["questions"]) == 1
                else "Type the answers, separated by ;"
            )
            return
        self._say("", needed(question["title"]), *filter(None, [question["description"], question["why"]]))
        if question["kind"] != "command":
            self._say(question["subject"])
        self._say(*(f"  {line}" for line in question["preview"].rstrip("\n").split("\n")))
        for other in question["others"]:
            self._say(
                "", f"Also in this reply: {other['title']}", *(f"  {line}" for line in other["preview"].split("\n"))
            )
        for number, choice in enumerate(question["choices"], 1):
            self._say(f"{number}. {choice['label']}")
        if not self._read_only:
            self._say("Type a number. After the number for no, you can add a reason.")

    def _answered(self, event: Mapping[str, Any]) -> None:
        question = self._questions.pop(str(event["hash"]), None)
        if question is not None:
            labels = {each["choice"]: each["label"] for each in question.get("choices", ())}
            self._say(f"Answered by {event['by']}: {labels.get(event['choice'], event['choice'])}")

    async def _type(self) -> None:
        """Send the lines that the person types until Ctrl-D."""
        while (line := await self._lines.next()) is not None:
            if self._read_only:
                continue
            try:
                await self._send(line)
            except AgentError as error:
                self._say(f"Error: {error}")
        if self._lines.silent and not sys.stdin.isatty():
            self._say("There is no input, such as from /dev/null: this only follows the session. Ctrl-C detaches.")
            self._read_only = True
            await self._left.wait()

    async def _send(self, line: str) -> None:
        if not self._questions:
            if line.strip():
                self._told(await self._machine.request(self._info.id, do="say", text=line))
            return
        if time.monotonic() - self._shown_at < READING:
            self._say("Ignored: typed before this question. Please answer again.")
            return
        key, question = next(iter(self._questions.items()))
        if question["kind"] == "questions":
            given = line.split(";") if len(question["questions"]) > 1 else [line]
            answers = [text.strip() for text in given]
            self._told(await self._machine.request(self._info.id, do="answer", hash=key, answers=answers))
            return
        word, _, reason = line.strip().partition(" ")
        if not (word.isdecimal() and 0 < int(word) <= len(question["choices"])):
            self._say("Please answer with one of the numbers.")
            return
        choice = question["choices"][int(word) - 1]["choice"]
        self._told(await self._machine.request(self._info.id, do="answer", hash=key, choice=choice, reason=reason))

    def _told(self, answer: Mapping[str, Any]) -> None:
        if not answer.get("ok"):
            self._say(f"Error: {answer.get('error')}")

    def _break(self) -> None:
        now = time.monotonic()
        twice, self._pressed_at = now - self._pressed_at < TWICE, now
        if twice or self._read_only:
            self._left.set()
            return
        self._say("", "Stopping the turn. Ctrl-C again detaches.")
        start_task(self._stop())

    async def _stop(self) -> None:
        with contextlib.suppress(AgentError):
            self._told(await self._machine.request(self._info.id, do="stop"))

    def _say(self, *lines: str) -> None:
        if self._streaming:
            print(flush=True)
            self._streaming = self._streaming if not lines else ""
        print("".join(f"{safe(line)}\n" for line in lines), end="", flush=True)


def _subject(given: Mapping[str, Any]) -> str:
    """Return what a call is about, in one line."""
    texts: Sequence[str] = [str(value) for value in given.values() if isinstance(value, str)]
    return safe_line(texts[0])[:200] if texts else ""


def attach_to(machine: Machine, selector: str, read_only: bool) -> int:
    """Follow a session in this terminal; return the exit code. Raises InputError for an unknown one."""
    return asyncio.run(Attached(machine, machine.named(selector), read_only=read_only).run())
