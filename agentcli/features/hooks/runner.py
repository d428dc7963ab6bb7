"""Run hooks: all that match an event at once, each equal command once; whatever they do, the session continues."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, MutableSet, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

from agentcli.agent.hooks import Verdict
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import start_task, until_interrupted, watch_task
from agentcli.core.text.secrets import holds_secret
from agentcli.core.text.terminal import console_text
from agentcli.features.hooks.elsewhere import Ask, HookFailed, judged, posted
from agentcli.features.hooks.files import PRE_COMPRESS, Hook
from agentcli.features.hooks.verdict import is_asynchronous, verdict
from agentcli.system.process import Command, Ended, run_until

OUTPUT = 64_000
"""Bytes of stdout and of stderr that are used; the rest is read and discarded."""
_BINDING = frozenset({"PreToolUse", "PermissionRequest"})
"""Events whose hooks guard a tool: a failed one is reported as having blocked nothing."""
_FOLDERS = ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "AGENTCLI_PROJECT_DIR", "extensionPath")
"""Variables of folders that are put into arguments."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A moment at which hooks run. A matcher is compared with `subject` and the names in `also`; `payload` is the JSON
    object on their stdin.

    `tool` is its tool's name, for messages.
    """

    name: str
    subject: str
    payload: Mapping[str, Any]
    also: tuple[str, ...] = ()
    tool: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """All names of the subject."""
        return (self.subject, *self.also)


@dataclass(frozen=True, slots=True)
class Ran:
    """A hook that ran."""

    hook: Hook
    verdict: Verdict
    """Its verdict."""
    warning: str = ""
    """Its failure as a warning for the person; empty if it did not fail."""
    seconds: float = 0.0

    @property
    def result(self) -> str:
        """Its result in a few words."""
        verdict = self.verdict
        if verdict.failed:
            return verdict.failed
        said = {"deny": "blocked", "ask": "asked", "allow": "allowed", "": "no objection"}[verdict.answer]
        return f"{said}: {safe_line(verdict.reason)}" if verdict.reason else said


def before_compression(
    trigger: Literal["manual", "auto"], session: str, transcript: Path | None, **more: Any
) -> HookEvent:
    """Make the event of a compaction that is about to begin, for hooks of `PreCompress`: time to save a copy."""
    payload = {
        "hook": PRE_COMPRESS,
        "trigger": trigger,
        "session_id": session,
        "transcript_path": str(transcript) if transcript else None,
        **more,
    }
    return HookEvent(PRE_COMPRESS, trigger, payload)


Accepts = Callable[[Hook, HookEvent], bool]
Input = Callable[[Hook, HookEvent], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs commands in `cwd`; at most `output` bytes of what each prints are used.

    `accepts` decides about a hook's condition, `input` gives the JSON object on its stdin.
    """

    hooks: Sequence[Hook] = ()
    output: int = OUTPUT
    cwd: Path | None = None
    accepts: Accepts = lambda *_: True
    input: Input = lambda _, event: event.payload
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of every hook, in addition to `base`."""
    base: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment of the session."""
    background: MutableSet[asyncio.Task[Ended]] = field(default_factory=WeakSet)
    """Hooks that run in the background."""
    ask: Ask | None = None
    """Asks a model for hooks of type `prompt`; None without a session."""

    def matching(self, event: HookEvent) -> Sequence[Hook]:
        """Return the hooks that run at this event, each equal command once, in the order of their definitions."""
        found = [hook for hook in self.hooks if hook.matches(event.name, event.subjects) and self.accepts(hook, event)]
        return [*{(hook.kind, hook.command, hook.args): hook for hook in reversed(found)}.values()][::-1]

    async def run(self, event: HookEvent, interrupt: asyncio.Event | None = None) -> Sequence[Ran]:
        """Run the matching hooks, all at once, and wait for them; never raises because of one.

        An interrupt ends them at once.
        """
        interrupt = interrupt or asyncio.Event()
        return await asyncio.gather(*(self._run(hook, event, interrupt) for hook in self.matching(event)))

    def _environment(self, hook: Hook) -> Mapping[str, str]:
        root = str(hook.folder or self.env.get("CLAUDE_PROJECT_DIR") or self.cwd or Path.cwd())
        folders = {"CLAUDE_PROJECT_DIR": root, "AGENTCLI_PROJECT_DIR": root}
        return {**self._seen_by(hook), **self.env, **folders, **dict(hook.env)}

    def _seen_by(self, hook: Hook) -> Mapping[str, str]:
        """Return the variables of the session's environment that a hook sees.

        A project's hook, like a command, sees only the secrets that it lists.
        """
        if not hook.project:
            return self.base
        return {
            name: value for name, value in self.base.items() if name in hook.secrets or not holds_secret(name, value)
        }

    async def _run(self, hook: Hook, event: HookEvent, interrupt: asyncio.Event) -> Ran:
        if hook.kind != "command":
            return await self._run_elsewhere(hook, event, interrupt)
        output, errors = Beginning(self.output), Beginning(self.output)
        argv = ["/bin/sh", "-c", hook.command] if hook.args is None else [hook.command, *hook.args]
        env = self._environment(hook)
        if hook.args is not None:
            argv = [_expanded(word, env) for word in argv]
        try:
            payload = json.dumps(self.input(hook, event))
            command = Command(argv, self.cwd or Path.cwd(), env, payload, errors=errors)
            ended = await self._ended(hook, command, output, interrupt)
        except (OSError, AgentError, ValueError, RuntimeError) as error:  # no more threads, JSON nested too deep
            return self._failure(hook, event, f"could not be started: {error}")
        if ended is None:
            return Ran(hook, Verdict())
        if interrupt.is_set():
            return Ran(hook, Verdict(), seconds=ended.seconds)
        if ended.why == "timeout":
            return self._failure(hook, event, f"was stopped after {hook.timeout:g} seconds", ended.seconds)
        found = verdict(event.name, ended.exit_code, output.text, errors.text)
        if not found.failed:
            return Ran(hook, found, seconds=ended.seconds)
        if event.name == PRE_COMPRESS:
            said = output.text or errors.text
            why = f"failed with exit status {ended.exit_code}: {said}".rstrip(": ")
        else:
            why = f"failed ({found.failed})"
        return self._failure(hook, event, why, ended.seconds)

    async def _run_elsewhere(self, hook: Hook, event: HookEvent, interrupt: asyncio.Event) -> Ran:
        """Send the event to an address, or ask a model about it."""
        began, given = time.monotonic(), self.input(hook, event)
        work = judged(hook, given, self.ask) if hook.kind == "prompt" else posted(hook, given, self.base, self.output)
        try:
            found = await until_interrupted(interrupt, work, hook.timeout)
        except HookFailed as error:
            return self._failure(hook, event, str(error), time.monotonic() - began)
        seconds = time.monotonic() - began
        if found is not None or interrupt.is_set():
            return Ran(hook, found or Verdict(), seconds=seconds)
        return self._failure(hook, event, f"gave no answer in {hook.timeout:g} seconds", seconds)

    async def _ended(self, hook: Hook, command: Command, output: Beginning, interrupt: asyncio.Event) -> Ended | None:
        """Wait for the end of a hook's command; return None for one that runs in the background."""
        running = start_task(run_until(interrupt, command, output, hook.timeout))
        if hook.background:
            output.asynchronous.set()
        asynchronous = start_task(output.asynchronous.wait())
        try:
            await asyncio.wait({running, asynchronous}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            self.background.add(watch_task(running))
            return None
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait({running})
            raise
        finally:
            asynchronous.cancel()

    def _failure(self, hook: Hook, event: HookEvent, why: str, seconds: float = 0.0) -> Ran:
        """Return the run of a hook that gave no answer: a strict hook blocks, any other is reported."""
        if hook.strict and event.name != PRE_COMPRESS:
            reason = f"the hook {hook.name} {why}, and it is strict"
            return Ran(hook, Verdict(answer="deny", reason=reason, failed=why), seconds=seconds)
        about = event.name if event.name == PRE_COMPRESS else hook.name
        if event.name in _BINDING:
            tail = f'and did NOT block {event.tool}. Exit 2 blocks; "strict": true blocks on any failure.'
            text = f"Hook {about} {why} {tail}"
        else:
            text = f"The hook {about} {why}"
            text = text if event.name == PRE_COMPRESS or "failed" in why else text + "."
        return Ran(hook, Verdict(failed=why), safe_line(text), seconds)


class Beginning:
    """The first bytes that come; the rest is read and discarded, so that the writer does not block."""

    def __init__(self, most: int) -> None:
        self.enough = 0
        self.asynchronous = asyncio.Event()
        """Set once the command has requested to run in the background."""
        self._most, self._bytes = most, b""

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece of output."""
        first = b"\n" not in self._bytes
        self._bytes = (self._bytes + bytes(piece[: self._most]))[: self._most]
        if first and b"\n" in self._bytes and is_asynchronous(self.text):
            self.asynchronous.set()

    @property
    def text(self) -> str:
        """The collected output."""
        return console_text(self._bytes).strip()


def _expanded(word: str, env: Mapping[str, str]) -> str:
    """Replace the names of folders in an argument by their paths: no shell does it."""
    for name in _FOLDERS:
        word = word.replace(f"${{{name}}}", env.get(name, "")).replace(f"${name}", env.get(name, ""))
    return word
