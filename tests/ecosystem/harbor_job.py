"""A Harbor job of one task with agentcli, in a bubblewrap sandbox instead of a container.

Runs in Harbor's Python: `python harbor_job.py FOLDER MODEL` prints the results of the trials as JSON. FOLDER/task holds the task.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult  # type: ignore[import-not-found]
from harbor.environments.capabilities import EnvironmentCapabilities  # type: ignore[import-not-found]
from harbor.job import Job  # type: ignore[import-not-found]
from harbor.models.job.config import JobConfig  # type: ignore[import-not-found]

SEEN = ("bin", "etc", "lib", "lib64", "opt", "root", "sbin", "sys", "tmp", "usr", "var", "home", "work", "srv", "run")


class Bubblewrap(BaseEnvironment):  # type: ignore[misc]
    """The files of this machine, not to be written; /app, /logs, /tests and /installed-agent of its own."""

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(mounted=True)

    def _validate_definition(self) -> None:
        """Nothing is built."""

    @property
    def _root(self) -> Path:
        return Path(self.trial_paths.trial_dir).resolve() / "root"

    async def start(self, force_build: bool) -> None:
        for name in ("app", "tests", "installed-agent", "home"):
            (self._root / name).mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.environment_dir, self._root / "app", dirs_exist_ok=True)

    async def stop(self, delete: bool) -> None:
        """Nothing runs on."""

    def _host(self, path: str) -> Path:
        return self._root / str(path).lstrip("/")

    async def upload_file(self, source_path: Any, target_path: str) -> None:
        shutil.copy(source_path, self._host(target_path))

    async def upload_dir(self, source_dir: Any, target_dir: str) -> None:
        shutil.copytree(source_dir, self._host(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Any) -> None:
        shutil.copy(self._host(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Any) -> None:
        shutil.copytree(self._host(source_dir), target_dir, dirs_exist_ok=True)

    def _box(self) -> list[str]:
        box = ["bwrap", "--die-with-parent", "--dev", "/dev", "--proc", "/proc"]
        for name in SEEN:
            path = Path("/", name)
            if path.is_symlink():
                box += ["--symlink", os.readlink(path), str(path)]
            elif path.is_dir():
                box += ["--ro-bind", str(path), str(path)]
        for name in ("app", "tests", "installed-agent"):
            box += ["--bind", str(self._root / name), f"/{name}"]
        home = self._root / "home"
        box += ["--bind", str(home), str(home)]
        for mount in self._mounts:
            box += ["--bind", mount["source"], mount["target"]]
        return box

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        home = str(self._root / "home")
        variables = {"PATH": path, "HOME": home, "TMPDIR": home, **(self._merge_env(env) or {})}
        argv = [*self._box(), "--chdir", cwd or "/app", "bash", "-c", command]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, env=variables, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)


async def main(folder: Path, model: str) -> None:
    """Run the job and print the results."""
    config = {
        "job_name": "job",
        "jobs_dir": str(folder / "jobs"),
        "quiet": True,
        "n_attempts": int(os.environ.get("ATTEMPTS", "1")),
        "environment": {"import_path": "harbor_job:Bubblewrap", "kwargs": {"auto_mounting": True}},
        "agents": [
            {
                "import_path": "agentcli.extras.harnesses.harbor:AgentCli",
                "model_name": model,
                "kwargs": {"max_turns": 9},
            }
        ],
        "tasks": [{"path": str(folder / "task")}],
    }
    job = await Job.create(JobConfig.model_validate(config))
    await job.run()
    results = sorted((folder / "jobs" / "job").glob("*/result.json"))
    print(json.dumps([json.loads(path.read_text()) for path in results]))


if __name__ == "__main__":
    sys.modules["harbor_job"] = sys.modules["__main__"]
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
