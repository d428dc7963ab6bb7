"""Open questions of a shared session: the first answer counts, and the others learn who gave it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.tasks import start_task

SETTLED = 200
"""Answered questions to remember for late answers."""
HERE = "the terminal"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer from elsewhere: a choice with a reason, or the answers to the model's questions.

    `by` is who gave it.
    """

    choice: str = ""
    reason: str = ""
    answers: tuple[str, ...] = ()
    by: str = ""


class TooLate(InputError):
    """Another one has answered."""

    def __init__(self, by: str, choice: str) -> None:
        super().__init__(f"Already answered by {by}: {choice}." if choice else f"No longer asked: {by}.")
        self.by, self.choice = by, choice


@dataclass(slots=True)
class _Open:
    shown: Mapping[str, Any]
    local: asyncio.Task[Any]
    elsewhere: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Questions:
    """Questions that wait for an answer; `publish` gets each as an event, and how it ended."""

    def __init__(self, publish: Callable[[Mapping[str, Any]], None]) -> None:
        self._publish = publish
        self._open: dict[str, _Open] = {}
        self._settled: OrderedDict[str, tuple[str, str]] = OrderedDict()

    @property
    def open(self) -> Sequence[Mapping[str, Any]]:
        """The open questions, oldest first."""
        return [each.shown for each in self._open.values()]

    async def first(
        self,
        shown: Mapping[str, Any],
        here: Awaitable[T],
        taken: Callable[[Answer], T],
        said: Callable[[T], str],
    ) -> tuple[T, Answer | None]:
        """Wait for the first answer, from the front end itself or from elsewhere, and return it.

        If it came from elsewhere, the second value is that answer, otherwise None. `taken` converts an answer from
        elsewhere into a front end's. `said` returns the choice of a front end's answer.
        """
        question = {**shown, "asked": secrets.token_hex(8)}
        key = digest(question)
        question["hash"] = key
        local = start_task(here)
        asked = self._open[key] = _Open(question, local)
        by, choice = "the end of the turn", ""
        self._publish({"type": "question", **question})
        try:
            both: list[asyncio.Future[Any]] = [local, asked.elsewhere]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if asked.elsewhere.done():
                given = asked.elsewhere.result()
                by, choice = given.by, given.choice or "answered"
                return taken(given), given
            answer = local.result()
            by, choice = HERE, said(answer)
            return answer, None
        finally:
            if not local.done():
                local.cancel()
                await asyncio.wait({local})
            self._settle(key, by, choice)

    def _settle(self, key: str, by: str, choice: str) -> None:
        """Note and publish how a question has ended."""
        del self._open[key]
        self._settled[key] = by, choice
        while len(self._settled) > SETTLED:
            self._settled.popitem(last=False)
        self._publish({"type": "answered", "hash": key, "by": by, "choice": choice})

    def answer(self, key: str, answer: Answer) -> None:
        """Answer an open question.

        Raises TooLate if another answer was first, InputError for an unknown question or choice.
        """
        asked = self._open.get(key)
        if asked is None and key in self._settled:
            raise TooLate(*self._settled[key])
        if asked is None:
            raise InputError("There is no such question. It is another call now: read it again.")
        if asked.local.done():
            raise TooLate(HERE, "answered")
        if asked.elsewhere.done():
            raise TooLate(asked.elsewhere.result().by, asked.elsewhere.result().choice or "answered")
        if asked.shown["kind"] == "questions":
            if len(answer.answers) not in (0, len(asked.shown["questions"])):
                raise InputError("Each question needs an answer, or none.")
        elif answer.choice not in [each["choice"] for each in asked.shown["choices"]]:
            raise InputError(f"{answer.choice!r} is not an option of this question.")
        asked.elsewhere.set_result(answer)


def digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
