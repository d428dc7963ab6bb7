"""New sessions started by the server: each in a separate process, which continues without the server."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

from agentcli.core.errors import AgentError, InputError
from agentcli.frontends.serve.machine import Machine
from agentcli.sessions.info import SessionInfo, new_id
from agentcli.system import probe
from agentcli.system.programs import OWN_PROGRAM

PATIENCE = 30.0
"""Seconds for a session to open."""
MODES = ("", "ask", "auto-edit", "plan", "auto")
"""Modes of a session started from elsewhere: the mode that never asks can be chosen only in a terminal."""
FOLDERS = 50
"""Folders that are offered."""


class Starter:
    """Starts sessions in folders with sessions, and in `here`, the server's own."""

    def __init__(self, machine: Machine, here: Path, env: Mapping[str, str], options: tuple[str, ...] = ()) -> None:
        self._machine, self._here, self._env, self._options = machine, here, env, options

    def folders(self, infos: Iterable[SessionInfo]) -> list[str]:
        """Return the folders in which a session may be started: those of these sessions, the last used first."""
        used = (info.directory for info in infos)
        known = [folder for folder in dict.fromkeys((str(self._here), *used)) if probe.is_dir(Path(folder))]
        return known[:FOLDERS]

    async def new(self, folder: str, model: str, mode: str) -> str:
        """Start a session in a folder and return its id. Raises AgentError."""
        if folder not in self.folders(self._machine.store.list()):
            raise InputError(
                "A session can start only in the server's folder, or in a folder that already has sessions."
            )
        if mode not in MODES:
            raise InputError(f"Use one of the modes {', '.join(MODES[1:])}.")
        session = new_id()
        chosen = [*(["-m", model] if model else []), *(["--mode", mode] if mode else [])]
        if any(value.startswith("-") for value in (model,)):
            raise InputError("This is not the name of a model.")
        await self._start(folder, session, ["--id", session, *chosen])
        return session

    async def resume(self, info: SessionInfo) -> None:
        """Open a stored session. Raises AgentError."""
        await self._start(info.directory, info.id, ["--resume", info.id])

    async def _start(self, folder: str, session: str, arguments: list[str]) -> None:
        """Start a process and wait until its session is shared."""
        with TemporaryFile() as said:
            process = spawned(["serve", "session", "-C", folder, *self._options, *arguments], folder, self._env, said)
            until = asyncio.get_running_loop().time() + PATIENCE
            while self._machine.shared(session) is None:
                if process.poll() is not None:
                    said.seek(0)
                    text = said.read(2_000).decode(errors="replace").strip()
                    raise AgentError(self._machine.clean(text) or "The session ended at once.")
                if asyncio.get_running_loop().time() > until:
                    process.kill()
                    raise AgentError("The session did not open.")
                await asyncio.sleep(0.05)
        Thread(target=process.wait, daemon=True).start()  # otherwise it would remain as a zombie after its end


def spawned(arguments: list[str], folder: str, env: Mapping[str, str], said: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start our program in a process that does not end with ours; `said` gets what it prints. Raises InputError."""
    nothing = subprocess.DEVNULL
    command = [*OWN_PROGRAM, *arguments]
    try:
        return subprocess.Popen(
            command, env=env, cwd=folder, stdin=nothing, stdout=nothing, stderr=said, start_new_session=True
        )
    except OSError as error:
        raise InputError(f"Can't start a session in {folder}: {error.strerror}.") from error
