"""Slash command on the open session's status: version, model, endpoint, key, folder, mode, sandbox, instruction files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence

from agentcli import __version__
from agentcli.agent.session import AgentSession
from agentcli.core.model import ModelSpec
from agentcli.core.sanitise import safe_line
from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.terminal.style import Look
from agentcli.program.commands import Context, Output, command
from agentcli.program.program import Program
from agentcli.program.trust import what_it_would_load
from agentcli.providers import reachability
from agentcli.providers.capabilities import limits
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import BUILT_IN, base_url
from agentcli.system import probe
from agentcli.system.cells import wrap


@command("Cost and state", at_once=True, values=("",), tab="session")
async def status(context: Context, _: str) -> AsyncIterator[Output]:
    """Show version, model, endpoint, key, folder, mode and sandbox: /status [checks|why]

    `checks` checks keys, folders, helpers and sessions, as `agentcli doctor` does. `why` lists automatic actions.
    """
    facts = await asyncio.to_thread(lambda: [*_facts(context.program, context.session)])
    wide = max(len(name) for name, _ in facts) + 2

    def drawn(columns: int, look: Look) -> Sequence[str]:
        lines = []
        for name, value in facts:
            first, *more = wrap(safe_line(value), max(columns - 1 - wide, 12))
            lines += [look.theme.paint("dim", name.ljust(wide)) + first, *(" " * wide + row for row in more)]
        return lines

    yield Drawn([f"{name.ljust(wide)}{value}" for name, value in facts], draw=drawn)


def _facts(program: Program, session: AgentSession) -> Iterator[tuple[str, str]]:
    """Return names and values, in reading order."""
    model = session.core.model
    yield "version", f"agentcli {__version__} on Python {sys.version.split()[0]}"
    yield "session", _session(session)
    yield "model", f"{model.name}, window of {model.window:,} tokens{_source(model)}"
    settings = {**BUILT_IN, **program.models.providers}.get(model.provider)
    if settings is not None:
        from agentcli.program.doctor import endpoint_of, key_of

        if settings.kind in PROVIDERS and (endpoint := endpoint_of(program, settings)):
            yield "endpoint", endpoint
        yield "key", key_of(program, settings)[1]
        memory = program.models.memory
        if found := limits(model.name, memory.known(model.name, base_url(settings, program.env)), memory.days):
            yield "limits", found
    if account := session.history.account:
        yield "account", account
    yield "folder", f"{session.cwd}{_trust(program, session)}"
    yield from (("also", str(root)) for root in program.roots if root != session.cwd)
    yield "mode", session.core.approval.mode
    if receipt := session.receipt:
        yield "last answer", receipt
    yield "sandbox", program.workspace_policy.sandbox.report
    yield from _listed(
        "instructions", [f"{path} ({tokens:,} tokens)" for path, tokens in session.parts.instructions.now.files]
    )
    config = program.dirs.config_file
    yield "config", str(config) if probe.exists(config) else f"{config} (none: built-in settings)"
    yield from _listed("servers", _servers(program))


def _source(model: ModelSpec) -> str:
    """Return the origin of an unknown model's figures."""
    if model.known:
        return ""
    assumed = "" if model.window_stated or not model.assumed else f"; figures of {model.assumed} assumed"
    return f" (in no table{assumed})"


def _session(session: AgentSession) -> str:
    history, journal = session.history, session.journal
    stored = journal.id if journal.folder is not None else f"{journal.id} (not stored)"
    return " · ".join(filter(None, (stored, history.name or history.title)))


def _trust(program: Program, session: AgentSession) -> str:
    if not what_it_would_load(session.cwd):
        return ""
    return " (trusted)" if program.trusted else " (not trusted: its settings are not loaded)"


def _servers(program: Program) -> list[str]:
    """Return the configured model servers with their own address."""
    known = program.models.providers.values()
    return [f"{one.name}: {reachability.bare(url)}" for one in known if (url := base_url(one, program.env))]


def _listed(name: str, values: list[str]) -> Iterator[tuple[str, str]]:
    first, *more = values or ["none"]
    yield name, first
    yield from (("", value) for value in more)
