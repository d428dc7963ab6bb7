"""What the keys of `agentcli agents` do with a session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from functools import partial

from agentcli.core.errors import AgentError, InputError
from agentcli.frontends.agents.starting import resume
from agentcli.frontends.agents.view import Act
from agentcli.frontends.serve.background import Background
from agentcli.frontends.serve.listing import Listing
from agentcli.frontends.serve.machine import OVER, Running
from agentcli.frontends.serve.work import Work
from agentcli.program.project import Project
from agentcli.system import probe
from agentcli.system.programs import OWN_PROGRAM


class Doing:
    """Answers, opens, merges, discards, stops and resumes sessions."""

    def __init__(self, project: Project, listing: Listing) -> None:
        self._project, self._machine, self._kept = project, listing.machine, listing.kept
        self._work = Work(listing)

    async def do(self, act: Act, row: Running) -> str:
        """Do what a key asked for, and return a line about it, or the diff. Raises AgentError."""
        match act.kind:
            case "answer":
                return self._told(await self._machine.request(row.session, do="answer", **(act.given or {})))
            case "stop" if row.state == "idle":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(row.pid, signal.SIGTERM)
                return "It ends, with its background commands."
            case "stop":
                return self._told(await self._machine.request(row.session, do="stop"))
            case "diff":
                return await asyncio.to_thread(self._work.diff, row)
            case "merge":
                return await asyncio.to_thread(self._work.merge, row)
            case "discard":
                return await asyncio.to_thread(self._work.discard, row)
            case "resume":
                await asyncio.to_thread(partial(resume, self._project, self._background(row)))
                return "It continues."
            case _:
                return ""

    def opening(self, row: Running) -> Sequence[str]:
        """Return the command that opens a session in this terminal. Raises InputError."""
        if row.shared:
            return [*OWN_PROGRAM, "attach", row.session]
        if row.state not in OVER:
            raise InputError("It is open in another terminal and not shared: /remote on there shares it.")
        background = self._kept.get(row.session)
        folders = [row.folder, background.worktree["root"] if background and background.worktree else ""]
        there = next((each for each in folders if each and probe.is_dir(each)), str(self._project.cwd))
        return [*OWN_PROGRAM, "resume", row.session, "-C", there]

    def _told(self, answer: object) -> str:
        if isinstance(answer, dict) and not answer.get("ok"):
            raise AgentError(str(answer.get("error")))
        return ""

    def _background(self, row: Running) -> Background:
        found = self._kept.get(row.session)
        if found is None:
            raise InputError("It is no longer listed.")
        return found
