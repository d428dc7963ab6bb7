"""Hooks: the user's own commands, run at certain events; whatever they do, the session goes on."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentcli.agent.settings import HookSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError
from agentcli.tools.lib.process import Command, run_until


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A moment at which hooks run. A matcher is compared with `subject`; `payload` is the JSON object on their stdin."""

    name: str
    subject: str
    payload: Mapping[str, Any]


def before_compression(
    trigger: Literal["manual", "auto"], session: str, transcript: Path | None, **more: Any
) -> HookEvent:
    """The event of a compaction that is about to begin: time to save a copy."""
    payload = {
        "hook": "PreCompress",
        "trigger": trigger,
        "session_id": session,
        "transcript_path": str(transcript) if transcript else None,
        **more,
    }
    return HookEvent("PreCompress", trigger, payload)


EVENTS = ("PreCompress",)


@dataclass(frozen=True, slots=True)
class Hook:
    """A command for the shell that runs at every event of one name whose subject it matches, for `timeout` seconds at most.

    `matcher` is empty or `*` for all, names with `,` or `|` between them, or else a regular expression that is searched for.
    """

    event: str
    command: str
    matcher: str = ""
    timeout: float = 30.0

    def matches(self, event: HookEvent) -> bool:
        """True if the hook runs at this event."""
        if event.name != self.event:
            return False
        if self.matcher in ("", "*"):
            return True
        if _NAMES.fullmatch(self.matcher):
            return event.subject in (name.strip() for name in re.split("[,|]", self.matcher))
        return re.search(self.matcher, event.subject) is not None


_NAMES = re.compile(r"[\w ,|-]+")


def configured(settings: HookSettings) -> tuple[Hook, ...]:
    """The hooks that configuration names. Raises ConfigError for one that makes no sense."""
    first = (Hook("PreCompress", settings.pre_compress, timeout=settings.timeout),) if settings.pre_compress else ()
    return (*first, *(_hook(entry, settings.timeout) for entry in settings.commands))


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "event": str,
    "command": str,
    "matcher": str,
    "timeout": (int, float),
}


def _hook(entry: Mapping[str, Any], timeout: float) -> Hook:
    if wrong := [key for key, value in entry.items() if not isinstance(value, _TYPES.get(key, ()))]:
        raise ConfigError(f"hooks: {wrong[0]} = {entry[wrong[0]]!r} makes no sense. A hook has {', '.join(_TYPES)}.")
    hook = Hook(**{"event": "", "command": "", "timeout": timeout, **entry})
    if hook.event not in EVENTS:
        raise ConfigError(f"hooks: there is no event {hook.event!r}. There are: {', '.join(EVENTS)}.")
    if not hook.command:
        raise ConfigError(f"hooks: a hook for {hook.event} has no command.")
    try:
        re.compile(hook.matcher)
    except re.error as error:
        raise ConfigError(f"hooks: the matcher {hook.matcher!r} is no regular expression: {error}.") from error
    return hook


@dataclass(frozen=True, slots=True)
class Hooks:
    """Runs the commands from the user's config, in `cwd`; of what each prints, `output` bytes are looked at."""

    hooks: Sequence[Hook] = ()
    output: int = 4_000
    cwd: Path | None = None

    async def fire(self, event: HookEvent, interrupt: asyncio.Event | None = None) -> Sequence[str]:
        """Run the hooks that match, all at once. Returns a warning for each that failed; never raises for one.

        An interrupt ends them at once.
        """
        interrupt = interrupt or asyncio.Event()
        matching = {hook.command: hook for hook in self.hooks if hook.matches(event)}
        return [*filter(None, await asyncio.gather(*(self._run(hook, event, interrupt) for hook in matching.values())))]

    async def _run(self, hook: Hook, event: HookEvent, interrupt: asyncio.Event) -> str:
        output, name = _Beginning(self.output), event.name
        try:
            ordered = Command(
                ["/bin/sh", "-c", hook.command], self.cwd or Path.cwd(), os.environ, json.dumps(event.payload)
            )
            ended = await run_until(interrupt, ordered, output, hook.timeout)
        except (OSError, AgentError) as error:
            return f"The hook {name} could not be started: {error}"
        if interrupt.is_set():
            return ""
        if ended.why == "timeout":
            return f"The hook {name} was stopped after {hook.timeout:g} seconds."
        if ended.exit_code:
            return f"The hook {name} failed with exit status {ended.exit_code}: {output.text}".rstrip(": ")
        return ""


class _Beginning:
    """The first bytes that come; the rest is read and thrown away, so that the writer is not held up."""

    def __init__(self, most: int) -> None:
        self.enough = 0
        self._most, self._bytes = most, b""

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece of output."""
        self._bytes = (self._bytes + bytes(piece[: self._most]))[: self._most]

    @property
    def text(self) -> str:
        """The collected output."""
        return self._bytes.decode("utf-8", "replace").strip()
