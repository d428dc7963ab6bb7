"""Status command: the person's program for the status line.

It reads the session as JSON in Claude Code's form, and prints a line.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.message import Message, Usage
from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.render.pieces import Note
from agentcli.system import probe
from agentcli.system.cells import RESET
from agentcli.system.process import Command, LimitedSink, run_until
from agentcli.system.programs import hardened

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.console import Console

SECONDS = 2.0
"""Time limit of one run."""
EVERY = 1.0
"""Least seconds between two runs."""
AGAIN = 5.0
"""Seconds after which it runs again without a change, and after a failure."""
MOST = 64_000
"""Bytes of output that are read."""
SHOWN = 300
"""Characters of it that are shown."""
LARGE_PROMPT = 200_000
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


@dataclass(frozen=True, slots=True)
class Line:
    """The first line that a run printed, made safe; or the failure, as a sentence for the person."""

    text: str = ""
    failure: str = ""


class StatusCommand:
    """Runs the command while the terminal is open. Each kind of failure is reported once."""

    def __init__(self, command: str, console: Console) -> None:
        self._command, self._console = command, console
        self._told: set[str] = set()
        self._began = time.monotonic()

    async def run(self) -> None:
        """Run it after a change of the facts, and every few seconds; its line becomes the fact `extra`."""
        before, ran_at = "", 0.0
        while True:
            session, status = self._console.session, self._console.screen.state.status
            given = json.dumps(facts(session, status, 0.0))
            if given != before or time.monotonic() - ran_at >= AGAIN:
                before, ran_at = given, time.monotonic()
                seconds = ran_at - self._began
                line = await printed(self._command, facts(session, status, seconds), session.cwd)
                self._show(line)
                if line.failure:
                    await asyncio.sleep(AGAIN)
            await asyncio.sleep(EVERY)

    def _show(self, line: Line) -> None:
        if line.failure and line.failure not in self._told:
            self._told.add(line.failure)
            self._console.screen.print(Note("warn", f"{line.failure} The status line omits it."))
        if self._console.status_line.extra != line.text:
            self._console.status_line.extra = line.text
            self._console.screen.refresh()


async def printed(command: str, given: dict[str, Any], folder: Path) -> Line:
    """Run the command once with this JSON on its stdin; git in it starts no programs of the repository."""
    if not probe.is_dir(folder):
        return Line(failure=f"Can't start ui.status_command: {os.strerror(errno.ENOENT)}.")
    output, errors = LimitedSink(MOST), LimitedSink(0)
    argv, env = ["/bin/sh", "-c", command], hardened(os.environ, (folder,))
    try:
        work = Command(argv, folder, env, json.dumps(given), errors=errors)
        ended = await run_until(output.flooded, work, output, SECONDS)
    except ToolError as error:
        return Line(failure=f"Can't start ui.status_command: {error}.")
    if output.flooded.is_set():
        return Line(failure=f"ui.status_command printed more than {MOST:,} bytes and was stopped.")
    if ended.why == "timeout":
        return Line(failure=f"ui.status_command took more than {SECONDS:.0f} s and was stopped.")
    if ended.exit_code:
        return Line(failure=f"ui.status_command failed with exit code {ended.exit_code}.")
    return Line(coloured(output.data.decode("utf-8", "replace").split("\n")[0].rstrip("\r")))


def coloured(line: str) -> str:
    """Return a line with its colours and nothing else that a terminal would obey, cut to the displayed length."""
    text, left = "", SHOWN
    pieces = _COLOUR.split(line)
    for piece, colour in zip(pieces, [*_COLOUR.findall(line), ""], strict=True):
        shown = safe_line(piece)[:left]
        left -= len(shown)
        text += shown + colour
        if not left:
            break
    return text + RESET if "\x1b" in text else text


def facts(session: AgentSession, status: Status, seconds: float) -> dict[str, Any]:
    """Return the command's input: Claude Code's keys if agentcli knows their value, and our facts under `agentcli`."""
    history, model = session.history, session.core.model
    usage, last = history.usage, _last_usage(session)
    used = round(100 * status.used / model.window) if model.window else 0
    summary = getattr(getattr(session.journal, "info", None), "summary", None)
    folder, journal = str(session.cwd), session.journal
    return {
        "hook_event_name": "Status",
        "session_id": journal.id,
        "session_name": history.name or history.title,
        "transcript_path": str(journal.folder or ""),
        "cwd": folder,
        "version": __version__,
        "model": {"id": model.id, "display_name": model.id},
        "workspace": {"current_dir": folder, "project_dir": folder, "added_dirs": []},
        "output_style": {"name": "default"},
        "effort": {"level": session.core.builder.effort},
        "cost": {
            "total_cost_usd": history.cost or 0.0,
            "total_duration_ms": round(seconds * 1000),
            "total_lines_added": getattr(summary, "additions", 0),
            "total_lines_removed": getattr(summary, "deletions", 0),
        },
        "context_window": {
            "total_input_tokens": usage.prompt,
            "total_output_tokens": usage.output,
            "context_window_size": model.window,
            "used_percentage": used,
            "remaining_percentage": 100 - used,
            "current_usage": None if last is None else _current(last),
        },
        "exceeds_200k_tokens": last is not None and last.total > LARGE_PROMPT,
        "agentcli": {name: getattr(status, name) for name in status.__slots__ if name not in ("order", "extra")},
    }


def _current(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }


def _last_usage(session: AgentSession) -> Usage | None:
    newest = reversed(session.history.entries)
    return next((r.body.usage for r in newest if isinstance(r.body, Message) and r.body.usage is not None), None)
