"""Status command: the person's program for the status line.

It reads the session as JSON in Claude Code's form, and prints a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from agentcli.extension import Context, Status, Usage, on, settings

SECONDS = 2.0
"""Time limit of one run."""
LARGE_PROMPT = 200_000
_LINE_ONLY = ("id", "title", "transcript", "window", "seconds", "additions", "deletions", "usage", "last")
"""Facts that have other keys in Claude Code's form."""
_told: set[str] = set()


@settings
@dataclass
class StatusCommand:
    """`command` is the setting `ui.status_command`."""

    command: str = ""


@on("status", every=5)
async def line(status: Status, ctx: Context) -> str:
    """Return the first line that the command prints. Each kind of failure is reported once."""
    given = json.dumps(facts(status, str(ctx.cwd)))
    done = await ctx.execute(ctx.settings.command, stdin=given, timeout=SECONDS)
    if done.ok:
        return done.output.split("\n")[0].rstrip("\r")
    why = done.output if done.exit_code is None else f"It failed with exit code {done.exit_code}."
    if why not in _told:
        _told.add(why)
        ctx.ui.warn(f"ui.status_command: {why} The status line omits it.")
    return ""


def facts(status: Status, folder: str) -> dict[str, Any]:
    """Return the command's input: Claude Code's keys if agentcli knows their value, and our facts under `agentcli`."""
    used = round(100 * status.used / status.window) if status.window else 0
    model = status.model.partition("/")[2]
    return {
        "hook_event_name": "Status",
        "session_id": status.id,
        "session_name": status.title,
        "transcript_path": status.transcript,
        "cwd": folder,
        "version": version("agentcli"),
        "model": {"id": model, "display_name": model},
        "workspace": {"current_dir": folder, "project_dir": folder, "added_dirs": []},
        "output_style": {"name": "default"},
        "effort": {"level": status.effort},
        "cost": {
            "total_cost_usd": status.cost or 0.0,
            "total_duration_ms": round(status.seconds * 1000),
            "total_lines_added": status.additions,
            "total_lines_removed": status.deletions,
        },
        "context_window": {
            "total_input_tokens": status.usage.prompt,
            "total_output_tokens": status.usage.output,
            "context_window_size": status.window,
            "used_percentage": used,
            "remaining_percentage": 100 - used,
            "current_usage": None if status.last is None else _current(status.last),
        },
        "exceeds_200k_tokens": status.last is not None and status.last.total > LARGE_PROMPT,
        "agentcli": {name: getattr(status, name) for name in status.__slots__ if name not in _LINE_ONLY},
    }


def _current(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }
