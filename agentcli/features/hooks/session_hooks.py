"""Hooks of one open session: fire the events, and turn verdicts into decisions, texts for the model and warnings."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from agentcli.agent.hooks import NOTHING, Hooks, Outcome, Source, Subagent, Verdict
from agentcli.agent.project.places import folders
from agentcli.core.aliases import known_as
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Noticed, UsageReported, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import FeatureState, Mode, Trigger
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import run_beside
from agentcli.core.text.path_pattern import literal
from agentcli.core.tool import Traits
from agentcli.features.hooks.files import EVENTS, PRE_COMPRESS, Hook
from agentcli.features.hooks.names import own_input
from agentcli.features.hooks.payloads import (
    Circumstances,
    as_dialect,
    error_text,
    event,
    suggestions,
    tool_event,
    tool_response,
)
from agentcli.features.hooks.runner import Beginning, HookEvent, Ran, Runner, before_compression
from agentcli.features.hooks.transcript import Transcript
from agentcli.features.hooks.verdict import combined
from agentcli.permissions.facts import by_file, facts_of
from agentcli.permissions.rules import Rules, parse_rule
from agentcli.resources import prompt
from agentcli.system.process import Command, run_until
from agentcli.system.programs import find_program

if TYPE_CHECKING:
    from agentcli.agent.setup import SessionSetup
    from agentcli.permissions.paths import Workspace
    from agentcli.permissions.rules import Rule

TEXT = 10_000
"""Maximum characters of a hook's text that the model sees; the rest stays in a file."""
_NO_MORE: Mapping[str, str] = MappingProxyType({})
VARIABLE = "CLAUDE_ENV_FILE"
COSTS = "hooks"
"""Feature name of the records with the costs of hooks that ask a model."""
REPLY = 1_000
"""Tokens of a model's answer to a hook."""
_ENVIRONMENT_SECONDS = 10.0
"""Maximum time for the lines of the environment file."""
_ENVIRONMENT_BYTES = 1_000_000
"""Maximum bytes of the environment that is read."""
_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS", "BASHOPTS"})


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The session in which hooks run, as far as they need it."""

    journal: Journal
    cwd: Path
    mode: Callable[[], Mode]
    model: Callable[[], str]
    traits: Mapping[str, Traits]
    workspace: Workspace
    effort: str = ""
    subagent: Subagent | None = None
    asks: Callable[[str], Model] | None = None
    """The model that a hook asks, by its name or the cheap one; None without a session. Raises AgentError."""


def hooks_of(
    hooks: Sequence[Hook],
    journal: Journal,
    setup: SessionSetup,
    mode: Callable[[], Mode],
    model: Callable[[], ModelSpec],
) -> SessionHooks:
    """Return these hooks around a session with this journal."""
    workspace, traits, effort = setup.workspace, setup.tools.traits, setup.settings.agent.effort
    models = setup.models

    def asks(name: str) -> Model:
        return models.connect(name) if name else models.summariser(model())

    known = mode, lambda: model().id
    place = HookPlace(journal, workspace.cwd, *known, traits, workspace, effort, setup.parent.identity, asks)
    return SessionHooks(hooks, place)


class SessionHooks(Hooks):
    """Fires the events of one open session, as described in `Hooks`.

    Without a hook for an event nothing happens, and nothing is written.
    """

    def __init__(self, hooks: Sequence[Hook], place: HookPlace) -> None:
        self._own = hooks
        self._last: dict[Hashable, str] = {}
        self.last = self._last
        self._place = place
        self._events = {"PreCompact" if hook.event == PRE_COMPRESS else hook.event for hook in hooks}
        self._transcript = Transcript(place.journal, place.cwd)
        self._background: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._calls: dict[str, ToolCall] = {}
        self._spent: list[UsageReported] = []
        self.variables = place.subagent.variables if place.subagent is not None else {}

    @property
    def judges_calls(self) -> bool:
        return bool(self._own)

    def has(self, *names: str) -> bool:
        return not self._events.isdisjoint(names)

    @property
    def is_subagent(self) -> bool:
        return self._place.subagent is not None

    def identity(self, kind: str, child: Journal) -> Subagent | None:
        if not self._own:
            return None
        return Subagent(child.id, kind, self._place.journal.id, self._transcript.update(), self.variables)

    async def session_start(self, source: Source, interrupt: asyncio.Event) -> Outcome:
        if (of := self._place.subagent) is not None:
            return await self._fire("SubagentStart", of.kind, interrupt)
        if not self.has("SessionStart"):
            return NOTHING
        found = event(self._facts(), "SessionStart", source, source=source)
        with environment_file() as file:
            ran = await self._ran(found, interrupt, {VARIABLE: str(file.path)})
            fresh, trouble = await file.variables(self._place.cwd, self._place.workspace.command_env)
        self.variables = {**self.variables, **fresh}
        outcome = self._outcome("SessionStart", ran)
        return replace(outcome, events=(*outcome.events, Warned(trouble))) if trouble else outcome

    def go_on_from(self, former: Hooks) -> None:
        self.variables = former.variables

    async def session_end(self, reason: str) -> Outcome:
        if not self.has("SessionEnd") or self.is_subagent:
            return NOTHING
        enough = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(EVENTS["SessionEnd"].timeout, enough.set)
        try:
            return await self._fire("SessionEnd", reason, enough, reason=reason)
        finally:
            timer.cancel()

    async def prompt(self, text: str, interrupt: asyncio.Event) -> Outcome:
        if self.is_subagent:
            return NOTHING
        return await self._fire("UserPromptSubmit", "", interrupt, prompt=text)

    async def pre_tool(self, call: ToolCall) -> Outcome:
        return await self._about("PreToolUse", call)

    async def permission(self, call: ToolCall, session: str, always: str) -> Outcome:
        return await self._about("PermissionRequest", call, permission_suggestions=suggestions(session, always))

    async def post_tool(self, call: ToolCall, result: ToolResult, interrupted: bool = False) -> Outcome:
        spent = round(result.seconds * 1000)
        if result.failed:
            about = {"error": error_text(result), "is_interrupt": interrupted, "duration_ms": spent}
            return await self._about("PostToolUseFailure", call, **about)
        if not self.has("PostToolUse"):
            return NOTHING
        response = tool_response(call, result)
        return await self._about("PostToolUse", call, tool_response=response, duration_ms=spent)

    async def stop(self, text: str, again: bool, jobs: Sequence[str], interrupt: asyncio.Event) -> Outcome:
        if not self.has("Stop", "SubagentStop"):
            return NOTHING
        own = {"stop_hook_active": again, "last_assistant_message": text, "background_tasks": [*jobs]}
        fields = {**self._facts().thinking, **own, "session_crons": []}
        if (of := self._place.subagent) is not None:
            path = self._transcript.update() if self.has("SubagentStop") else ""
            return await self._fire("SubagentStop", of.kind, interrupt, agent_transcript_path=path, **fields)
        return await self._fire("Stop", "", interrupt, **fields)

    async def stop_failed(self, error: AgentError, text: str, interrupt: asyncio.Event) -> Outcome:
        kind = _error_kind(error)
        about = {"error": kind, "error_details": str(error), "last_assistant_message": text or str(error)}
        found = await self._fire("StopFailure", kind, interrupt, **about)
        return replace(found, verdict=Verdict())

    async def pre_compact(self, trigger: Trigger, focus: str, interrupt: asyncio.Event | None, **more: Any) -> Outcome:
        interrupt = interrupt or asyncio.Event()
        kind = "manual" if trigger == "manual" else "auto"
        journal = self._place.journal
        more.pop("summarised", None)
        old = before_compression("manual" if kind == "manual" else "auto", journal.id, journal.folder, **more)
        former = await self._ran(old, interrupt)
        found = await self._fire("PreCompact", kind, interrupt, trigger=kind, custom_instructions=focus)
        warnings = [Warned(f"{ran.warning.rstrip('.')}. The compaction continues.") for ran in former if ran.warning]
        return replace(found, events=(*warnings, *found.events))

    async def post_compact(self, trigger: Trigger, summary: str, interrupt: asyncio.Event) -> Outcome:
        kind = "manual" if trigger == "manual" else "auto"
        return await self._fire("PostCompact", kind, interrupt, trigger=kind, compact_summary=summary)

    def notify(self, message: str, kind: str) -> None:
        if not self.has("Notification"):
            return
        about = {"message": message, "title": "agentcli", "notification_type": kind}
        self._background.add(run_beside(self._fire("Notification", kind, asyncio.Event(), **about)))

    async def test(self, name: str, subject: str, call: ToolCall | None, fields: Mapping[str, Any]) -> Sequence[Ran]:
        """Run the hooks of an event to look at their verdicts."""
        if call is not None:
            self._calls[call.call_id] = call
            return await self._ran(tool_event(self._facts(), name, call, **fields), asyncio.Event())
        return await self._ran(event(self._facts(), name, subject, **fields), asyncio.Event())

    def close(self) -> None:
        for task in self._background:
            task.cancel()
        self._transcript.close()

    async def _about(self, name: str, call: ToolCall, /, **fields: Any) -> Outcome:
        if not self.has(name):
            return NOTHING
        self._calls[call.call_id] = call
        try:
            ran = await self._ran(tool_event(self._facts(), name, call, **fields), asyncio.Event())
        finally:
            self._calls.pop(call.call_id, None)
        return self._outcome(name, ran, call)

    async def _fire(self, name: str, subject: str, interrupt: asyncio.Event, /, **fields: Any) -> Outcome:
        if not self.has(name):
            return NOTHING
        return self._outcome(name, await self._ran(event(self._facts(), name, subject, **fields), interrupt))

    async def _ran(
        self, found: HookEvent, interrupt: asyncio.Event, env: Mapping[str, str] = _NO_MORE
    ) -> Sequence[Ran]:
        place = self._place
        call = self._calls.get(str(found.payload.get("tool_use_id", "")))
        root = next(iter(folders(place.cwd)))

        def accepts(hook: Hook, _: HookEvent) -> bool:
            condition, folder = hook.condition, hook.folder
            if folder is None or not folder.is_relative_to(root):  # a subagent works in a worktree of the project
                folder = root
            return not condition or call is None or fulfils(condition, call, folder, place.traits, place.workspace)

        runner = Runner(
            self._own,
            cwd=place.cwd,
            accepts=accepts,
            input=lambda hook, event: as_dialect(event, call, hook.dialect, place.cwd),
            env={"CLAUDE_PROJECT_DIR": str(root), **env},
            base=place.workspace.env,
            background=self._background,
            ask=self._asked if place.asks is not None else None,
        )
        ran = await runner.run(found, interrupt)
        self._last.update((each.hook, each.result) for each in ran)
        return [_bounded(each, call) for each in ran]

    async def _asked(self, question: str, name: str) -> str:
        """Ask a model for a hook, and record the cost. Raises AgentError."""
        from agentcli.agent.compaction.summariser import Summariser

        place = self._place
        assert place.asks is not None
        model = place.asks(name)
        summariser = Summariser(model, calls=1, longest=REPLY)
        request = replace(summariser.request([prompt("hook.md")], question), options={"thinking": False})
        try:
            return await summariser.ask(request)
        finally:
            if summariser.usage.total:
                place.journal.append(FeatureState(COSTS, {}, model.spec.name, summariser.usage, summariser.cost))
            news = summariser.news()
            self._spent += [replace(one, kind="aside") for one in news if isinstance(one, UsageReported)]

    def _facts(self) -> Circumstances:
        place = self._place
        return Circumstances(
            place.journal.id,
            self._transcript.update(),
            place.cwd,
            place.mode(),
            place.journal.history.turn,
            place.model(),
            place.effort,
            place.subagent,
        )

    def _outcome(self, name: str, ran: Sequence[Ran], call: ToolCall | None = None) -> Outcome:
        """Combine the verdicts of an event's hooks; cut texts to the length that a model may see."""
        verdict = combined([each.verdict for each in ran])
        spent, self._spent = self._spent, []
        events: list[Event] = [*spent, *(Warned(each.warning) for each in ran if each.warning)]
        shown = [each for each in ran if each.verdict.message and not _is_shown_anyway(name, each.verdict)]
        events += [Noticed(f"{each.hook.name}: {each.verdict.message}") for each in shown]
        if verdict.blocks and name in EVENTS and not EVENTS[name].can_block:
            events += [Warned(f"{each.hook.name}: {each.verdict.reason}") for each in ran if each.verdict.blocks]
        changing = [each for each in ran if each.verdict.input is not None]
        if any(each.verdict.input != changing[0].verdict.input for each in changing[1:]):
            text = f"Hooks {', '.join(each.hook.name for each in changing)} change the same call differently; the first counts."
            events.append(Warned(text))
        deciding = [each.hook.name for each in ran if verdict.answer and each.verdict.answer == verdict.answer]
        key = f"hook-{name}-{call.call_id}" if call else f"hook-{name}-{self._place.journal.history.last_seq}"
        cut = replace(verdict, reason=self._cut(key, verdict.reason), context=self._cut(key, verdict.context))
        return Outcome(
            cut, tuple(events), ", ".join(dict.fromkeys(deciding)), changing[0].hook.name if changing else ""
        )

    def _cut(self, key: str, text: str) -> str:
        if len(text) <= TEXT:
            return text
        path = self._place.journal.keep_output(key, text)
        return f"{text[:TEXT]}\n[{len(text) - TEXT:,} more characters in {path}]"


def _bounded(ran: Ran, call: ToolCall | None) -> Ran:
    """Translate the run's input to our names, and limit a project's hook: it may deny and ask, never allow."""
    verdict = ran.verdict
    if ran.hook.project and verdict.answer == "allow":
        verdict = replace(verdict, answer="", reason="")
    if call is not None and verdict.input is not None:
        verdict = replace(verdict, input=own_input(call, verdict.input, ran.hook.dialect))
    return replace(ran, verdict=verdict)


def _is_shown_anyway(name: str, verdict: Verdict) -> bool:
    """Return True if the person sees the message as the reason of a denial."""
    return name in ("PreToolUse", "PermissionRequest") and verdict.blocks and verdict.message == verdict.reason


def _error_kind(error: AgentError) -> str:
    """Return the kind of an error in Claude Code's terms."""
    known = {"auth": "authentication_failed", "billing": "billing_error", "rate_limit": "rate_limit"}
    known |= {"overloaded": "server_error", "server": "server_error", "bad_request": "invalid_request"}
    return known.get(str(getattr(error, "cause", "")), "unknown")


def fulfils(condition: str, call: ToolCall, root: Path, traits: Mapping[str, Traits], workspace: Workspace) -> bool:
    """Return True if the call matches the rule of an `if`, or hides whether it does.

    Paths in it are relative to `root`.
    """
    rule = _rule(condition, str(root))
    if rule is None or not rule.is_for(call.name):
        return False
    for each in by_file(call, traits):
        facts = facts_of(each, traits, Rules(deny=(rule,)), workspace)
        if facts.denied or facts.obscure or facts.refused:
            return True
    return False


@lru_cache(maxsize=256)
def _rule(condition: str, root: str) -> Rule | None:
    """Parse a condition as a rule with our tool name; return None if it is invalid.

    A path pattern is written as in `.gitignore`. `/` is the project's folder, and `//` is the root of the disk.
    """
    name, _, rest = condition.strip().partition("(")
    pattern = rest.removesuffix(")")
    name = known_as(name) or name
    if name != "bash" and pattern.startswith("/"):
        pattern = pattern[1:] if pattern.startswith("//") else f"{literal(root)}{pattern}"
    try:
        return parse_rule(f"{name}({pattern.removeprefix('./')})" if pattern else name)
    except AgentError:
        return None


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """A file to which hooks write variables, in a separate folder."""

    path: Path

    async def variables(self, cwd: Path, env: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
        """Return the variables that the lines set or change, and why some may be missing. `env` is the environment of
        commands.
        """
        try:
            if not self.path.stat().st_size:
                return {}, ""
        except OSError:
            return {}, ""
        shell = find_program("bash", (), env.get("PATH")) or "/bin/sh"
        script = 'set -a; . "$1" > /dev/null; set -- $?; env -0; exit $1'
        output, errors = Beginning(_ENVIRONMENT_BYTES), Beginning(_ENVIRONMENT_BYTES)
        command = Command([shell, "-c", script, shell, str(self.path)], cwd, env, errors=errors)
        ended = await run_until(asyncio.Event(), command, output, _ENVIRONMENT_SECONDS)
        pairs = (pair.partition("=") for pair in output.text.split("\0"))
        found = {name: value for name, _, value in pairs if name and name not in _OF_THE_SHELL}
        changed = {name: value for name, value in found.items() if env.get(name) != value}
        first = next((line.strip() for line in errors.text.splitlines() if line.strip()), "")
        failed = not found or (ended.exit_code != 0 and first)
        trouble = (
            f"A line that a hook wrote to {VARIABLE} failed: {safe_line(first)[:200] or ended.why}" if failed else ""
        )
        return changed, trouble


@contextmanager
def environment_file() -> Iterator[EnvironmentFile]:
    """Yield an empty file for hooks; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="agentcli-hooks-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "environment.sh")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield EnvironmentFile(path)
