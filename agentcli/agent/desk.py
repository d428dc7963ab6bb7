"""One open session with everything that can be done to it: what front ends hold in their hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agentcli.agent import loop, rewound
from agentcli.agent.account import Account
from agentcli.agent.cover import Cover
from agentcli.agent.hands import Hands
from agentcli.agent.hooks import Hooks, configured
from agentcli.agent.notices import MODE_WORDS, assumed, lost
from agentcli.agent.outfit import Outfit
from agentcli.agent.pages import PageReader
from agentcli.agent.permissions import Rules
from agentcli.agent.ports import Prompt
from agentcli.agent.purse import Purse
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.standby import Standby
from agentcli.agent.subagents import Subagents
from agentcli.agent.talk import Talk
from agentcli.context.oversize import is_oversize, reference, size_of
from agentcli.context.settings import PolicyName
from agentcli.context.tokens import Counts
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event, Noticed, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import File, Message, Part, Text, ToolResult
from agentcli.core.model import Model, ToolSchema
from agentcli.core.record import MODES, Mode, Pin, Settings, Title, Undo, Unpin
from agentcli.core.tool import Outcome, PageAnswer, Tool
from agentcli.sessions.info import name_of


class OpenDesk(Account):
    """A session that is open for work. A turn and a compaction can be interrupted."""

    def __init__(self, journal: Journal, outfit: Outfit, model: Model, mode: Mode) -> None:
        self.journal = journal
        self.opened_at = journal.history.last_seq
        self.sandbox = outfit.sandbox
        self._outfit = outfit
        self._hands = Hands(journal, outfit, mode, self._leave_plan, self._delegate, self._answer)
        tell = self._hands.work.printed.put_nowait
        self._subagents = Subagents(self, outfit, tell)
        self._pages = PageReader(
            lambda: outfit.summariser(self.model),
            lambda spec, tokens: self.talk.objection(spec, tokens),
            tell,
            outfit.limits.fetch_answer_seconds,
        )
        self.jobs = self._hands.jobs
        policy = outfit.policy or journal.history.policy or outfit.context.policy
        self._policy = cast(PolicyName, policy)
        self._counts = Counts(outfit.estimator(policy))
        self.talk = self._begin(model)
        self._titled = False
        self._told_mode: Mode = "ask"
        self._strangers: set[str] = set()
        self._inputs = 0

    @property
    def mode(self) -> Mode:
        """How much may be done without asking."""
        return self._hands.gate.mode

    @property
    def cwd(self) -> Path:
        """The folder that the session works in."""
        return self._outfit.place.cwd

    @property
    def tools(self) -> Sequence[Tool]:
        """What the model can call."""
        return self._outfit.tools

    @property
    def rules(self) -> Rules:
        """The permission rules in force, those of the session included."""
        return self._hands.gate.rules

    @property
    def notes(self) -> Sequence[str]:
        """What the person should know before anything is said: what was lost of the session, which settings are ignored."""
        return [*lost(self.journal), *self._outfit.notes]

    @property
    def instructions(self) -> Sequence[tuple[Path, int]]:
        """The instruction files in force with their size in tokens."""
        return self._outfit.instructions

    async def turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """The user says something; the model works until it is done. Ends with exactly one TurnEnded."""
        self.talk.allowance = self._outfit.allowance()
        self._announce()
        if not self.model.known and self.model.name not in self._strangers:
            self._strangers.add(self.model.name)
            yield Warned(assumed(self.model))
        async for event in loop.turn(self.talk, self._small_enough(prompt), interrupt):
            yield event

    def steer(self, prompt: Prompt) -> None:
        """Add to the running turn at its next safe point."""
        self.talk.steer(self._small_enough(prompt))

    async def compress(self, focus: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        """Compact now. Ends with a CompactionEnded."""
        async for event in self.talk.compactor.compact(interrupt, "manual", focus=focus):
            yield event

    def preview(self, focus: str) -> Sequence[str]:
        """Lines that say what `compress` would do now, calling no model."""
        return self.talk.compactor.preview()

    def uncompress(self) -> Sequence[Event]:
        """Take back the newest compaction. Raises InputError when there is none."""
        newest = self.history.compaction
        if newest is None:
            raise InputError("Nothing to take back: this session's view has not been compacted.")
        return [self._hands.record(Undo(newest.seq, "compaction"))]

    def prune(self, undo: bool = False) -> Sequence[Event]:
        """Clear old outputs now; or take back the newest prune. Raises InputError when there is nothing to do."""
        if not undo:
            return self.talk.compactor.prune()
        newest = next(reversed(self.history.prunes), None)
        if newest is None:
            raise InputError("Nothing to take back: no output has been cleared since the last compaction.")
        return [self._hands.record(Undo(newest.seq, "prune"))]

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        """Pin the message with this seq, by default the newest prompt. Raises InputError for one that does not exist."""
        if seq is None:
            prompts = [
                entry.seq for entry in self.history.entries if isinstance(entry.body, Message) and entry.body.is_prompt
            ]
            seq = prompts[-1] if prompts else 0
        record = self.journal.record(seq)
        if record is None or not isinstance(record.body, Message | ToolResult):
            raise InputError(f"There is no message {seq}. /context lists them with their numbers.")
        return [self._hands.record(Unpin(seq) if unpin else Pin(seq))]

    def rewind(self, seq: int) -> Sequence[Event]:
        """Back to just before the prompt with this seq. The conversation only; files stay as they are."""
        record = self.journal.record(seq)
        if record is None or not isinstance(record.body, Message) or not record.body.is_prompt:
            raise InputError(f"There is no prompt {seq} to rewind to.")
        return [self._hands.record(Undo(seq - 1, "rewind"))]

    def undo(self) -> Sequence[Event]:
        """Put the files back as they were before the newest change. Raises InputError when there is none."""
        return self._covered().undo()

    def redo(self) -> Sequence[Event]:
        """Take back what came last, an undo of files or a rewind. Raises InputError when there is neither."""
        rewind = rewound.rewind_to_redo(self.journal.records(newest_first=True))
        files = self._hands.cover.redoes if self._hands.cover else 0
        if rewind > files:
            more = " /redo once more brings the files back, too." if files else ""
            told = Noticed(f"The conversation is as it was before the rewind.{more}")
            return [self._hands.record(Undo(rewind, "undo")), told]
        return self._covered().redo()

    def rewind_files(self, seq: int) -> Sequence[Event]:
        """Put files back as they were before the prompt with this seq. Raises InputError when none was changed since."""
        return self._covered().rewind(seq)

    @property
    def cover(self) -> Cover | None:
        """What takes the states of files, if anything does."""
        return self._hands.cover

    def _covered(self) -> Cover:
        if self.cover is None:
            raise InputError("This session keeps no states of files to go back to.")
        return self.cover

    async def _leave_plan(self, plan: str) -> None:
        """The person approved the plan: go on in the mode that was chosen with it."""
        self.switch(mode=self._hands.gate.after_plan)

    async def _delegate(self, call_id: str, description: str, words: str, kind: str) -> Outcome:
        return await self._subagents.delegate(call_id, description, words, kind)

    async def _answer(self, question: str, page: str) -> PageAnswer:
        return await self._pages.answer(question, page)

    def switch(self, *, model: str = "", mode: str = "") -> Sequence[Event]:
        """Change settings from now on. Raises AgentError for a name that is not known, naming the near ones."""
        if mode and mode not in MODES:
            raise InputError(f"There is no mode {mode!r}. There are: {', '.join(MODES)}.")
        if model:
            self.talk.builder.model = self._outfit.connect(model)
            model = self.model.name
        if mode:
            self._hands.gate.mode = mode
        return [self._hands.record(Settings(model, mode))]

    def rename(self, name: str) -> Sequence[Event]:
        """Give the session a name that `resume` takes. Raises InputError for one that cannot be shown as it is."""
        return [self._hands.record(Title(name=name_of(name)))]

    async def improve_title(self) -> Sequence[Event]:
        """Once a session has something to be named after, have the cheap model think of a title; for when nothing else goes on.

        Nothing where that is switched off, done, or not to be paid for.
        """
        from agentcli.agent import titling

        if self._titled or not self._outfit.agent.titles or not titling.wanted(self.history):
            return []
        self._titled = True
        model, size = self._cheap_model(), self.talk.builder.window().tokens
        if model is None or any(budget.used(spent) >= 1 for budget, spent in self.budgets()):
            return []
        title, spent = await titling.improved(self.history, model, size)
        return [self._hands.record(title), *spent] if title.title or spent else []

    def _cheap_model(self) -> Model | None:
        from agentcli.agent import titling

        try:
            model = self._outfit.summariser(self.model)
        except AgentError:
            return None  # no key for it, say: the first words of the prompt are a title, too
        return model if titling.is_cheap(model.spec, self.model) else None

    def background(self) -> bool:
        """Send the running command to the background; false when none runs."""
        return self.jobs.send_away()

    def close(self) -> None:
        """Save what waits and let others open the session. Its background jobs end."""
        self.jobs.abandon()
        self.journal.close()

    def _begin(self, model: Model) -> Talk:
        outfit = self._outfit
        tools = self._recorded_tools(model)
        context = replace(outfit.context, policy=self._policy)
        system = self.journal.history.system
        builder = RequestBuilder(
            self.journal, model, system, tools, self._counts, context, outfit.agent, strict=outfit.strict
        )
        return Talk(
            builder,
            self._hands.kit,
            outfit.agent,
            Purse(outfit.budget, outfit.approve, outfit.above),
            outfit.allowance(),
            outfit.summariser,
            Hooks(configured(outfit.hooks), cwd=self.cwd),
            Standby(outfit.agent.fallback_model, outfit.connect),
            self._hands.news,
        )

    def _recorded_tools(self, model: Model) -> tuple[ToolSchema, ...]:
        """What the session begins with: taken from its records where it has a beginning, recorded where it is new."""
        outfit, history = self._outfit, self.journal.history
        if not history.system:
            tools = tuple(tool.schema for tool in outfit.tools)
            raw = tuple(tool.raw for tool in tools)
            mode, policy = self._hands.gate.mode, outfit.context.policy
            self._hands.record(Settings(model.spec.name, mode, policy, outfit.system, raw))
            return tools
        asked = outfit.policy if outfit.policy != history.policy else ""
        system = self._restated(history.system)
        if asked or system:
            self._hands.record(Settings(policy=asked, system=system))
        return tuple(map(ToolSchema.recorded, history.tools))

    def _restated(self, recorded: tuple[str, ...]) -> tuple[str, ...]:
        """The system prompt in place of the recorded one: where this run asks for it, or works in another folder."""
        outfit = self._outfit
        here = any(block.startswith("# Where") and f"\nFolder: {self.cwd}\n" in block for block in recorded)
        return outfit.system if (outfit.restated or not here) and outfit.system != recorded else ()

    def _small_enough(self, prompt: Prompt) -> Prompt:
        """The prompt; what is too large for the window is kept in a file, and a reference to it stands in its place."""
        window = self.talk.builder.window()

        def shown(part: Part) -> Part:
            if not (isinstance(part, Text | File) and is_oversize(part.text, window)):
                return part
            self._inputs += 1
            path = self.journal.keep_output(f"input-{self.history.last_seq + 1}-{self._inputs}", part.text)
            words = reference(part.text, path, size_of(part.text, self._counts), window.settings)
            return replace(part, text=words)

        return replace(prompt, parts=tuple(map(shown, prompt.parts or (Text(prompt.text),))))

    def _announce(self) -> None:
        """Facts that change travel with the next prompt, never in the system text: it must stay the same bytes."""
        if self.history.turn == 0:
            self.talk.pending.append(_reminder(f"Today is {self._outfit.today().isoformat()}."))
        if self.mode != self._told_mode:
            self.talk.pending.append(_reminder(MODE_WORDS[self.mode]))
            self._told_mode = self.mode


def _reminder(words: str) -> Text:
    return Text(words, synthetic=True, source="reminder")
