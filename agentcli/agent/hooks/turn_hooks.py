"""Hooks around the turns of a conversation: before the prompt, at the end, after a compaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentcli.agent.core import SessionCore
from agentcli.agent.hooks.outcome import NOTHING, Outcome, Source, Verdict
from agentcli.agent.ports import Prompt
from agentcli.core.errors import AgentError, HookBlocked
from agentcli.core.event import Event, Noticed, TurnEnded, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import Message, Part, Text
from agentcli.core.tasks import start_task, until_interrupted, watch_task

STOPS = 3
"""How often in a row a hook may keep a turn going."""


class TurnHooks:
    """Fires the events of turns. `pending` gets what hooks have for the model, to go with the next prompt."""

    def __init__(self, core: SessionCore, pending: list[Part], source: Source | None = None) -> None:
        journal = core.journal
        self._journal, self._core, self._pending, self._hooks = journal, core, pending, core.hooks
        self.source: Source = source or ("resume" if journal.history.turn else "startup")
        self._opening: asyncio.Task[Outcome] | None = None
        self._close_opening = asyncio.Event()
        self._opened: list[Outcome] = []
        """The outcome of the session's beginning, until a prompt has taken it."""
        self._reported = False
        self._stops = 0
        self._text = ""
        self._compaction = _newest_compaction(journal)

    def open(self, show: Callable[[Sequence[Event]], None]) -> None:
        """Run the SessionStart hooks now, before the first prompt, which waits for them; `show` gets their messages."""
        if self._opening is None and self._hooks.has("SessionStart"):

            def ended(outcome: Outcome) -> None:
                if events := self._unshown([outcome]):
                    show(events)

            watch_task(self._start(), ended=ended)

    def go_on_from(self, former: TurnHooks) -> None:
        """Take over the beginning of the same session, as it was open before."""
        self.source, self._opening, self._close_opening = former.source, former._opening, former._close_opening
        self._opened, self._reported = former._opened, former._reported

    async def close(self) -> None:
        """End the hooks of the beginning if they still run."""
        if self._opening is not None and not self._opening.done():
            self._close_opening.set()
            await asyncio.wait({self._opening})

    def begin(self) -> None:
        """Begin a turn, with no stops counted."""
        self._stops, self._text = 0, ""

    async def admit(self, text: str, interrupt: asyncio.Event) -> Sequence[Event]:
        """Run the hooks of a prompt; before the first prompt also the SessionStart hooks. The last event is a TurnEnded if the prompt is blocked."""
        beginning = await self._begun(interrupt)
        asked = await self._hooks.prompt(text, interrupt)
        outcomes = [*beginning, asked]
        events = [*self._unshown(beginning), *asked.events]
        if asked.verdict.blocks or any(outcome.verdict.ends for outcome in outcomes):
            said = next((o.verdict.stop_reason for o in outcomes if o.verdict.ends and o.verdict.stop_reason), "")
            why = said or asked.verdict.reason or "a hook ended the turn"
            error = HookBlocked(f"A hook ({asked.names or 'SessionStart'}) kept the prompt from being sent: {why}")
            return [*events, TurnEnded("blocked", error=error)]
        for outcome in outcomes:
            self._add_context(outcome)
        return events

    def _start(self) -> asyncio.Task[Outcome]:
        async def start() -> Outcome:
            outcome = await self._hooks.session_start(self.source, self._close_opening)
            self._opened.append(outcome)
            return outcome

        self._opening = start_task(start())
        return self._opening

    async def _begun(self, interrupt: asyncio.Event) -> Sequence[Outcome]:
        """Wait for the hooks of the session's beginning, which an interrupt ends; their outcome, for the first prompt only."""
        if self._opening is None and not self._hooks.has("SessionStart", "SubagentStart"):
            return ()
        opening = self._opening or self._start()
        if not opening.done():
            await until_interrupted(interrupt, asyncio.wait({opening}))
            await self.close()
        opening.result()
        taken, self._opened = self._opened, []
        return taken

    def _unshown(self, outcomes: Sequence[Outcome]) -> Sequence[Event]:
        """Return the events of a beginning, once."""
        shown, self._reported = self._reported, True
        return [] if shown else [event for outcome in outcomes for event in outcome.events]

    async def steering(self, prompts: Sequence[Prompt], interrupt: asyncio.Event) -> tuple[list[Prompt], list[Event]]:
        """Run the hooks of prompts that were added to a running turn; return the prompts that they do not block."""
        kept: list[Prompt] = []
        events: list[Event] = []
        for prompt in prompts:
            asked = await self._hooks.prompt(prompt.text, interrupt)
            events += asked.events
            if asked.verdict.blocks:
                events.append(Warned(f"A hook ({asked.names}) kept the prompt from being sent: {asked.verdict.reason}"))
            else:
                self._add_context(asked)
                kept.append(prompt)
        return kept, events

    def _add_context(self, outcome: Outcome) -> None:
        if outcome.verdict.context:
            self._pending.append(_context(outcome.verdict.context))

    async def stop(self, text: str, interrupt: asyncio.Event) -> Outcome:
        """Run the hooks of the end of a turn. A block, or text for the model, continues it, up to three times in a row."""
        self._text = text
        jobs = [job.command for job in self._core.jobs.running()]
        held = await self._hooks.stop(text, self._stops > 0, jobs, interrupt)
        if held.verdict.context:
            said = "\n\n".join(filter(None, (held.verdict.reason if held.verdict.blocks else "", held.verdict.context)))
            held = replace(held, verdict=replace(held.verdict, answer="deny", reason=said))
        if held.verdict.ends or not held.verdict.blocks:
            self._stops = 0
            ended = [Noticed(held.verdict.stop_reason)] if held.verdict.ends and held.verdict.stop_reason else []
            return replace(held, verdict=Verdict(), events=(*held.events, *ended))
        self._stops += 1
        if self._stops <= STOPS:
            return held
        told = Warned(
            f"The hook {held.names or 'of Stop'} has kept the turn going {STOPS} times in a row; it is ignored now."
        )
        return replace(NOTHING, events=(*held.events, told))

    async def stop_failed(self, error: AgentError, interrupt: asyncio.Event) -> Sequence[Event]:
        """Run the hooks of a turn that ended badly."""
        return (await self._hooks.stop_failed(error, self._text, interrupt)).events

    async def compacted(self, interrupt: asyncio.Event) -> Sequence[Event]:
        """Run the SessionStart hooks again after a compaction; record their text for the model."""
        newest = _newest_compaction(self._journal)
        if newest == self._compaction or self._hooks.is_subagent:
            return ()
        self._compaction = newest
        found = await self._hooks.session_start("compact", interrupt)
        if not found.verdict.context:
            return found.events
        turn = self._journal.history.turn
        return (*found.events, self._core.record(Message("user", (_context(found.verdict.context),), turn)))


def _context(text: str) -> Text:
    return Text(text, synthetic=True, source="hook")


def _newest_compaction(journal: Journal) -> int:
    newest = journal.history.compaction
    return newest.seq if newest is not None else 0
