"""Hooks in a session: verdicts, the hooks of its events, what they add to results, and hooks around its turns."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

from agentcli.agent.ports import Prompt
from agentcli.context.inject import wrap
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, HookBlocked
from agentcli.core.event import Event, Noticed, Recorded, TurnEnded, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import Message, Part, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Trigger
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import start_task, until_interrupted, watch_task
from agentcli.tools.jobs import Jobs
from agentcli.tools.seen_files import SeenFiles

Answer = Literal["", "allow", "ask", "deny"]
Source = Literal["startup", "resume", "clear", "compact", "fork"]
"""Ways in which a session begins, for hooks."""
STOPS = 3
"""How many times in a row a hook may prolong a turn."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Meaning of one hook's end, or of several together. Texts are empty if no hook gave one."""

    answer: Answer = ""
    """`deny` blocks the announced action; `allow` and `ask` are about a tool's call."""
    reason: str = ""
    """The reason of the answer, for the model."""
    context: str = ""
    """Text for the model that blocks nothing."""
    message: str = ""
    """Text for the person."""
    input: Mapping[str, Any] | None = None
    """A complete input that replaces the call's."""
    output: Any = None
    """The output that the model sees instead of the tool's."""
    text: str | None = None
    """A text instead of the prompt's, or of a compaction's focus."""
    summary: str = ""
    """The whole summary of a compaction, for which no model is asked."""
    ends: bool = False
    """The turn must end; `stop_reason` is the reason."""
    stop_reason: str = ""
    failed: str = ""
    """Why the hook's end is meaningless: it failed without blocking."""

    @property
    def blocks(self) -> bool:
        """True if the announced action must not happen."""
        return self.answer == "deny"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Combined verdict of one event's hooks (`names`), and their messages to the person."""

    verdict: Verdict = field(default_factory=Verdict)
    events: tuple[Event, ...] = ()
    names: str = ""
    changed_by: str = ""
    """The name of the hook whose input replaces the call's."""
    by_extension: bool = False
    """True if `names` is an extension."""

    @property
    def who(self) -> str:
        """The hooks or the extension, as a sentence begins with them."""
        return f"The extension {self.names}" if self.by_extension else f"A hook ({self.names or 'SessionStart'})"

    @property
    def rule(self) -> str:
        """The hooks or the extension, as the rule of a decision."""
        return f"{'extension' if self.by_extension else 'hook'}:{self.names}"


NOTHING = Outcome()


@dataclass(frozen=True, slots=True)
class Subagent:
    """Identity of a subagent: its id and kind, and its parent's session and transcript."""

    id: str
    kind: str
    session: str = ""
    transcript: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables for its commands that the parent's hooks have set."""


class Hooks:
    """Hooks of a session: here none, so every event passes and nothing is written."""

    last: Mapping[Hashable, str] = {}
    """The newest result of each hook, in a few words."""
    variables: Mapping[str, str] = {}
    """Variables that hooks have set for the session's commands (CLAUDE_ENV_FILE)."""

    @property
    def judges_calls(self) -> bool:
        """True if calls pass the hooks' stage."""
        return False

    def has(self, *names: str) -> bool:
        """Return True if a hook is defined for any of these events."""
        return False

    @property
    def is_subagent(self) -> bool:
        """True if the session is a subagent's."""
        return False

    def identity(self, kind: str, child: Journal) -> Subagent | None:
        """Return a subagent's identity for hooks; None if no hook would use it."""
        return None

    async def session_start(self, source: Source, interrupt: asyncio.Event) -> Outcome:
        """SessionStart, or SubagentStart for a subagent."""
        return NOTHING

    def go_on_from(self, former: Hooks) -> None:
        """Take over what hooks have set when the same session was open before."""

    async def session_end(self, reason: str) -> Outcome:
        """SessionEnd; all its hooks together get a few seconds."""
        return NOTHING

    async def prompt(self, text: str, interrupt: asyncio.Event) -> Outcome:
        """UserPromptSubmit: a block keeps the prompt from being sent."""
        return NOTHING

    async def pre_tool(self, call: ToolCall) -> Outcome:
        """PreToolUse: deny, ask, allow, or another input, in our names."""
        return NOTHING

    async def permission(self, call: ToolCall, session: str, always: str) -> Outcome:
        """PermissionRequest: an answer instead of the person's; `session` and `always` are the rules that would be
        saved.
        """
        return NOTHING

    async def post_tool(self, call: ToolCall, result: ToolResult, interrupted: bool = False) -> Outcome:
        """PostToolUse, or PostToolUseFailure for a call that failed."""
        return NOTHING

    async def stop(self, text: str, again: bool, jobs: Sequence[str], interrupt: asyncio.Event) -> Outcome:
        """Stop, or SubagentStop for a subagent: a block continues the turn with the reason."""
        return NOTHING

    async def stop_failed(self, error: AgentError, text: str, interrupt: asyncio.Event) -> Outcome:
        """StopFailure: what hooks print is not looked at."""
        return NOTHING

    async def pre_compact(self, trigger: Trigger, focus: str, interrupt: asyncio.Event | None, **more: Any) -> Outcome:
        """PreCompact: a block cancels the compaction if nothing forces it."""
        return NOTHING

    async def post_compact(self, trigger: Trigger, summary: str, interrupt: asyncio.Event) -> Outcome:
        """PostCompact."""
        return NOTHING

    def notify(self, message: str, kind: str) -> None:
        """Notification; its hooks run in the background."""

    def close(self) -> None:
        """End the hooks that run in the background."""


def with_hook_output(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return the result as the model sees it, with the hooks' additions at its end.

    If a hook requests it, another output replaces the result's. The original stays in the metadata.
    """
    verdict = outcome.verdict
    added = "\n\n".join(filter(None, [verdict.reason if verdict.blocks else "", verdict.context]))
    output = _replaced(verdict.output)
    if output is not None:
        result = replace(result, output=output, metadata={**result.metadata, "hook_replaced": result.output})
    if not added:
        return result
    return replace(result, output=f"{result.output}\n{wrap('post-tool-use-hook', added)}".lstrip("\n"))


_CHANGES, _FILE = 20, 1_000_000
"""Most lines that a hook changed which are shown, and most bytes of a file that is compared."""


def contents(paths: Sequence[Path]) -> Mapping[Path, bytes]:
    """Return the content of each regular file that is not too large to compare."""
    found: dict[Path, bytes] = {}
    for path in paths:
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                data = file.read(_FILE + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError:
            continue
        if data is not None and len(data) <= _FILE:
            found[path] = data
    return found


def with_changes_of_hooks(result: ToolResult, before: Mapping[Path, bytes], files: SeenFiles, cwd: Path) -> ToolResult:
    """Add what hooks, such as formatters, have changed in the files of an edit since `before`.

    The model then knows the content of a file that it knew, if all changes are shown.
    """
    from agentcli.core.text.encodings import readable
    from agentcli.tools.lib.diff import lines_changed, unified

    notes, seen = list[str](), dict[str, str]()
    for path, data in contents([*before]).items():
        diff = unified(readable(before[path]), readable(data), os.path.relpath(path, cwd))
        if not diff.text:
            continue
        name = f"A hook has changed {safe_line(os.path.relpath(path, cwd))} since"
        if diff.additions + diff.deletions > _CHANGES:
            notes.append(f"[{name}: {lines_changed(diff)}. Read these again before you edit them]")
            continue
        notes.append(f"[{name}:]\n{diff.text[diff.text.index('@@') :].rstrip()}")
        if files.knowledge(path, before[path]) == "current":
            seen[str(path)] = files.remember(path, data)
    if not notes:
        return result
    known = {"seen": {**result.metadata.get("seen", {}), **seen}} if seen else {}
    return replace(result, output="\n".join([result.output, *notes]), metadata={**result.metadata, **known})


def _replaced(output: object) -> str | None:
    match output:
        case str():
            return output
        case {"stdout": str(text)}:
            return text
        case _:
            return None


class TurnHooks:
    """Fires the events of turns. `pending` gets the hooks' texts for the model, to send with the next prompt."""

    def __init__(
        self,
        journal: Journal,
        hooks: Hooks,
        jobs: Jobs,
        record: Callable[[Body], Recorded],
        pending: list[Part],
        source: Source | None = None,
    ) -> None:
        self._journal, self._hooks, self._jobs, self._record = journal, hooks, jobs, record
        self._pending = pending
        self.source: Source = source or ("resume" if journal.history.turn else "startup")
        self._opening: asyncio.Task[Outcome] | None = None
        self._close_opening = asyncio.Event()
        self._opened: list[Outcome] = []
        """Outcome of the session's beginning, until a prompt has taken it."""
        self._reported = False
        self._stops = 0
        self._text = ""
        self.reworded: str | None = None
        """The text with which hooks have replaced the admitted prompt; None if they have not."""
        self._compaction = _newest_compaction(journal)

    def open(self, show: Callable[[Sequence[Event]], None]) -> None:
        """Run the SessionStart hooks now, before the first prompt, which waits for them; `show` gets their messages."""
        if self._opening is None and self._hooks.has("SessionStart"):

            def ended(outcome: Outcome) -> None:
                if events := self._unshown([outcome]):
                    show(events)

            watch_task(self._start(), ended=ended)

    def go_on_from(self, former: TurnHooks) -> None:
        """Take over the beginning of the same session from when it was open before."""
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
        """Run the hooks of a prompt, before the first prompt also the SessionStart hooks.

        The last event is a TurnEnded if the prompt is blocked.
        """
        beginning = await self._begun(interrupt)
        asked = await self._hooks.prompt(text, interrupt)
        self.reworded = asked.verdict.text
        outcomes = [*beginning, asked]
        events = [*self._unshown(beginning), *asked.events]
        if asked.verdict.blocks or any(outcome.verdict.ends for outcome in outcomes):
            said = next((o.verdict.stop_reason for o in outcomes if o.verdict.ends and o.verdict.stop_reason), "")
            why = said or asked.verdict.reason or "a hook ended the turn"
            error = HookBlocked(f"{asked.who} blocked the prompt: {why}")
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
        """Wait for the hooks of the session's beginning, unless interrupted; return their outcome, for the first prompt
        only.
        """
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
        """Run the hooks of prompts added to a running turn; return the prompts that they do not block."""
        kept: list[Prompt] = []
        events: list[Event] = []
        for prompt in prompts:
            asked = await self._hooks.prompt(prompt.text, interrupt)
            events += asked.events
            if asked.verdict.blocks:
                events.append(Warned(f"{asked.who} blocked the prompt: {asked.verdict.reason}"))
            else:
                self._add_context(asked)
                kept.append(prompt if asked.verdict.text is None else reworded(prompt, asked.verdict.text))
        return kept, events

    def _add_context(self, outcome: Outcome) -> None:
        if outcome.verdict.context:
            self._pending.append(_context(outcome.verdict.context))

    async def stop(self, text: str, interrupt: asyncio.Event) -> Outcome:
        """Run the hooks of a turn's end. A block, or text for the model, continues it, up to three times in a row."""
        self._text = text
        jobs = [job.command for job in self._jobs.running()]
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
            f"The hook {held.names or 'of Stop'} has kept the turn going {STOPS} times in a row; now it is ignored."
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
        return (*found.events, self._record(Message("user", (_context(found.verdict.context),), turn)))


def reworded(prompt: Prompt, text: str) -> Prompt:
    """Return the prompt with another text; its attachments stay."""
    kept = tuple(part for part in prompt.parts if not isinstance(part, Text) or part.synthetic)
    return replace(prompt, text=text, parts=(*kept, Text(text)), own=None)


def _context(text: str) -> Text:
    return Text(text, synthetic=True, source="hook")


def _newest_compaction(journal: Journal) -> int:
    newest = journal.history.compaction
    return newest.seq if newest is not None else 0
