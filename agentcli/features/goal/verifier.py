"""Check of a goal by a cheap model, which must quote proof that it is reached; code verifies the quotations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentcli.agent.compaction.summariser import Interrupted, Summariser
from agentcli.agent.core import SessionCore
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, UsageReported
from agentcli.core.text.truncate import truncate_middle
from agentcli.features.goal.results import Shown, excerpt, objection
from agentcli.features.goal.state import Verdict
from agentcli.resources import prompt

SHOWN = 60_000
"""Characters of results that the model sees, the newest ones."""
SAID = 2_000
CHARACTERS = 3
"""Characters that a token has at least."""
REPLY = 2_000
"""Tokens for its answer: an answer is short, but some models think first."""
SECONDS = 120.0
"""Seconds that one answer may take."""
REASON = 300
AGAIN = "\n\nYour last reply could not be read: {why}. Reply with the JSON object alone."


class Unread(ValueError):
    """An answer that is not the requested object."""


class Verifier:
    """Asks the model; `events` are the costs of its answers, for display."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self.events: Sequence[Event] = ()

    async def judge(self, goal: str, results: Sequence[Shown], said: str, interrupt: asyncio.Event) -> Verdict:
        """Return the verdict on the results. An unreadable answer is requested once more."""
        core = self._core
        try:
            model = core.setup.models.summariser(core.model)
        except AgentError as error:
            return _none(f"No model can judge the goal: {error}")
        asked = Summariser(model, calls=2, interrupt=interrupt, longest=REPLY)
        text = _question(goal, results, said, min(SHOWN, asked.room * CHARACTERS // 2))
        if forbidden := await core.objection(model.spec, len(text) // CHARACTERS):
            return _none(f"The goal is not judged: {forbidden}")
        try:
            verdict = await self._answer(asked, text, results)
        except Interrupted:
            verdict = Verdict("interrupted", "interrupted")
        except TimeoutError:
            verdict = _none(f"{model.spec.name} took longer than {SECONDS:g} s to judge the goal.")
        except AgentError as error:
            verdict = _none(f"The goal could not be judged: {error}")
        self.events = [replace(event, kind="check") for event in asked.news() if isinstance(event, UsageReported)]
        return replace(verdict, model=model.spec.name, usage=asked.usage, cost=asked.cost)

    async def _answer(self, asked: Summariser, text: str, results: Sequence[Shown]) -> Verdict:
        again = ""
        for _ in range(2):
            request = replace(asked.request([prompt("goal.md")], text + again), options={"thinking": False})
            async with asyncio.timeout(SECONDS):
                answer = await asked.ask(request)
            try:
                return self._verdict(asked.spec.name, answer, results)
            except Unread as error:
                again = AGAIN.format(why=error)
        return _none(f"The answer of {asked.spec.name} on the goal could not be read: {truncate_middle(answer, 80)!r}")

    def _verdict(self, name: str, answer: str, results: Sequence[Shown]) -> Verdict:
        raw = _object(answer)
        reason = truncate_middle(" ".join(str(raw.get("reason") or "").split()), REASON)
        match raw.get("verdict"):
            case "reached":
                return self._held_against(name, _quotes(raw), results)
            case "impossible":
                return Verdict("impossible", reason or "no reason given")
            case "not yet":
                return Verdict("not yet", reason or "no reason given")
            case other:
                raise Unread(f"verdict is {other!r:.40}")

    def _held_against(self, name: str, quotes: Sequence[tuple[int, str]], results: Sequence[Shown]) -> Verdict:
        fault = objection(quotes, results, self._core.traits)
        if fault:
            warning = f"{name} says that the goal is reached, but {fault}. It does not count."
            return Verdict("not yet", "no result shows it: run something whose output shows the goal", warning)
        shown = "; ".join(f"“{' '.join(quote.split())}” (record {number})" for number, quote in quotes[:3])
        return Verdict("reached", shown)


def _none(warning: str) -> Verdict:
    return Verdict("unknown", "the goal was not judged", warning)


def _question(goal: str, results: Sequence[Shown], said: str, room: int) -> str:
    last = truncate_middle(said, SAID)
    return "\n\n".join(
        [wrap("goal", goal), wrap("results", excerpt(results, room) or "[none]"), wrap("said", last or "[nothing]")]
    )


def _object(answer: str) -> dict[str, Any]:
    """Return the JSON object in an answer. Raises Unread."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        raw = json.loads(answer[start : end + 1])
    except (ValueError, RecursionError) as error:
        raise Unread("there is not a JSON object in it") from error
    if not isinstance(raw, dict):
        raise Unread("it is not an object")
    return raw


def _quotes(raw: dict[str, Any]) -> Sequence[tuple[int, str]]:
    """Return the quotations of an answer. Raises Unread."""
    evidence = raw.get("evidence")
    if not isinstance(evidence, list):
        raise Unread("evidence is not a list")
    found = []
    for each in evidence:
        number, quote = (each.get("result"), each.get("quote")) if isinstance(each, dict) else (None, None)
        if isinstance(number, str) and number.isdigit():
            number = int(number)
        if not isinstance(number, int) or not isinstance(quote, str):
            raise Unread("each piece of evidence needs a result and a quote")
        found.append((number, quote))
    return found
