"""Slash command of checks, and the reports on checks and language servers."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.agent.session import AgentSession
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import none_of
from agentcli.features.checks.configured import Check, configured
from agentcli.features.checks.session import SessionChecks
from agentcli.features.checks.suggestions import Suggestion, suggestions
from agentcli.permissions.shell.programs.known_programs import OF_THE_SHELL, WRAPPERS
from agentcli.permissions.shell.syntax.parse import parse
from agentcli.program.commands import Context, Output, Said, command
from agentcli.program.config.general import General
from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.system.programs import find_program, located


@command("Extensions", at_once=True, former="checks")
async def checks(context: Context, argument: str) -> AsyncIterator[Output]:
    """List the checks after edits, and suggested ones: /extensions checks

    A check is a command by glob in [checks] of config.toml. The result of an edit includes its new findings. See /help
    checks.
    """
    if argument:
        raise UsageError(
            "/extensions checks takes no argument. Checks are set in [checks] of config.toml: /help checks."
        )
    yield Said(await asyncio.to_thread(lines, context.program, context.session))


def lines(program: Project, session: AgentSession) -> list[str]:
    """Describe a session's checks to people, and those that the project suggests."""
    here = session.core.ctx.service(SessionChecks)
    stopped = here.stopped if here is not None else {}
    known = [f"{_entry(one.glob, one.command)}    # {_state(program, one, stopped)}" for one in configured(program)]
    new = suggested(program)
    if not known and not new:
        return [none_of("checks", "checks")]
    more = (
        ["This project's own files suggest, for [checks] of your config.toml:", *map(_suggestion, new)] if new else []
    )
    return [*known, *more]


def rows(program: Project) -> Iterator[Row]:
    """Report checks that wait for approval, suggested checks, and language servers if they are on."""
    for one in configured(program):
        state = _state(program, one, {})
        missing = _missing(one.command, program.cwd, program.given_env.get("PATH", os.defpath))
        state = f"{missing} is not installed" if missing and state == "on" else state
        yield "check", state == "on", f"{_entry(one.glob, one.command)} ({state})"
    for new in suggested(program):
        yield "check suggested", True, _suggestion(new)
    if program.config[General].lsp:
        yield from _server_rows(program)


def _server_rows(program: Project) -> Iterator[Row]:
    """Report the language servers in use, those that wait for approval, and invalid entries."""
    from agentcli.features.checks.lsp.configured import in_force, project_servers

    found = in_force(program)
    for one in found.servers:
        command = " ".join([one.command, *one.args])
        path = program.given_env.get("PATH", os.defpath)
        file = (
            located(one.command, "", program.cwd)
            if "/" in one.command
            else find_program(one.command, [program.cwd], path)
        )
        state = "" if file else f": {one.command} is not installed"
        line = f"{command} for {' '.join(one.languages)} ({one.source}){state}"
        yield f"language server {one.name}", bool(file), safe_line(line)
    for one in project_servers(program).servers:
        if not program.approvals.allows(one.definition):
            yield f"language server {one.name}", False, f"waits for approval ({one.source}): /extensions hooks approve"
    for note in found.notes:
        yield "language servers", False, note
    if not found.servers:
        yield "language servers", False, "none was found on PATH or in .lsp.json: agentcli help checks"


def suggested(program: Project) -> Sequence[Suggestion]:
    """Return the checks that the project's files suggest for globs without a setting."""
    named = program.config[General].checks
    return [one for one in suggestions(program.cwd, program.given_env.get("PATH", os.defpath)) if one.glob not in named]


def _missing(command: str, folder: Path, path: str) -> str:
    """Return the first program of a command that its shell would not find; empty if it finds all."""
    named = (part.words[0].text for part in parse(command).parts if part.words)
    programs = (name for name in named if name and name not in OF_THE_SHELL | WRAPPERS)
    found = ((name, located(name, "" if "/" in name else path, folder)) for name in programs)
    return next((name for name, file in found if not file), "")


def _state(program: Project, one: Check, stopped: Mapping[Check, str]) -> str:
    if one.project and not program.approvals.allows(one.definition):
        return "waits for approval: /extensions hooks approve"
    return f"off: it {stopped[one]}" if one in stopped else "on"


def _entry(glob: str, command: str) -> str:
    return safe_line(f"{json.dumps(glob)} = {json.dumps(command, ensure_ascii=False)}")


def _suggestion(one: Suggestion) -> str:
    return f"{_entry(one.glob, one.command)}    # {', '.join(one.evidence)}"


COMMANDS = (checks,)
