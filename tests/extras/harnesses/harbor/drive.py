"""Drives the adapter with a stand-in for Harbor: `python drive.py FOLDER MODEL` prints what came of it as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentcli.extras.harnesses.harbor import AgentCli


class Local:
    """An environment whose commands run here, in a folder; `commands` are all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.commands: list[str] = []

    async def exec(self, command: str, env: dict[str, str] | None = None) -> Any:
        """Run a command, unless it would install something."""
        self.commands.append(command)
        if "uv tool install" in command:
            return SimpleNamespace(return_code=0, stdout="", stderr="")
        own = {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **(env or {})}
        argv = ["bash", "-c", command]
        ran = await asyncio.to_thread(subprocess.run, argv, cwd=self._folder, env=own, capture_output=True, text=True)
        return SimpleNamespace(return_code=ran.returncode, stdout=ran.stdout, stderr=ran.stderr)


async def main(folder: Path, model: str) -> None:
    """Install, run two steps, the second in the session of the first, and fail once without a key."""
    logs = folder / "logs"
    logs.mkdir()
    environment, context = Local(folder), SimpleNamespace()
    agent = AgentCli(logs_dir=logs, model_name=model, max_turns=9, max_time=600.5, append_system_prompt="Be brief.")
    await agent.install(environment)
    await agent.run("/etc is not a command: fix it", environment, context)
    agent._resume = True
    await agent.run("And now the rest", environment, context)
    agent.populate_context_post_run(context)
    fresh = AgentCli(logs_dir=logs, model_name="openai/gpt-5", package="agentcli==9.9.9")
    await fresh.install(environment)
    try:
        await AgentCli(logs_dir=logs, model_name="claude/sonnet").run("Hi", environment, context)
    except RuntimeError as error:
        failed = type(error).__name__
    print(json.dumps({"context": vars(context), "commands": environment.commands, "failed": failed}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
