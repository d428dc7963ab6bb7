"""Runs of Harbor, the harness of Terminal-Bench, through uvx; reports what is missing before fetching anything."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from agentcli import __version__
from agentcli.core.errors import AgentError, InputError, UsageError, in_words
from agentcli.core.sanitise import safe_line
from agentcli.extras.batch.intervals import wilson
from agentcli.program.command_line.output import aside, say
from agentcli.system import probe

_CHECKOUT = Path(__file__).parents[3]
"""Folder of the program's source, if it runs from a checkout."""
_DOCKER_SECONDS = 20.0


def run_harbor(dataset: str, model: str, tasks: int, workers: int, package: str, dry: bool = False) -> int:
    """Run a dataset and show its rate; return Harbor's exit code.

    Raise AgentError if the package, docker or uvx is missing; with `dry`, print the command and what is missing.
    """
    if not model:
        raise UsageError("Name the model: -m provider/model.")
    if package and not probe.is_file(Path(package)):
        raise InputError(
            f"{package} is not a file. `uv build --wheel` makes one in a checkout; without --package it is made for you."
        )
    jobs = Path(time.strftime("harbor-%Y%m%d-%H%M%S"))
    if dry:
        try:
            require_tools()
        except AgentError as missing:
            aside(str(missing), "agentcli")
        say(shlex.join(harbor_command(dataset, model, tasks, workers, package, jobs)))
        return 0
    require_tools()
    if not package and probe.is_file(_CHECKOUT / "pyproject.toml"):
        package = built_wheel(_CHECKOUT, jobs / "wheel")
    command = harbor_command(dataset, model, tasks, workers, package, jobs)
    code = subprocess.run(command).returncode
    passed, ended = rewards(jobs)
    if not ended:
        aside(
            "Harbor ended without a result. It needs the network: for its package (PyPI), its dataset (GitHub) and the images of its tasks.",
            "agentcli",
        )
        return code or 1
    rate = wilson(passed, ended)
    say(
        f"{model} on {dataset}: {passed}/{ended} passed, {rate.value:.1%} (95 % interval {rate.low:.1%} to {rate.high:.1%}). {jobs}"
    )
    return code


def harbor_command(dataset: str, model: str, tasks: int, workers: int, package: str, jobs: Path) -> Sequence[str]:
    """Return Harbor's command line; without a package, containers install this version."""
    wheel = str(Path(package).resolve()) if package else ""
    return [
        *("uvx", "--python", "3.12", "--with", wheel or f"agentcli=={__version__}", "harbor", "run"),
        *(
            "-d",
            dataset,
            "-a",
            "agentcli.extras.harnesses.harbor:AgentCli",
            "-m",
            model,
            "--n-concurrent",
            str(workers),
            "--jobs-dir",
            str(jobs),
        ),
        *(("--n-tasks", str(tasks)) if tasks else ()),
        *(("--ak", f"package={wheel}") if wheel else ()),
    ]


def built_wheel(checkout: Path, folder: Path) -> str:
    """Build a checkout's wheel, which containers install; return its path. Raise AgentError if that fails."""
    command = ["uv", "build", "--wheel", "--out-dir", str(folder), str(checkout)]
    try:
        built = subprocess.run(command, capture_output=True, text=True)
        why = (built.stderr.strip().splitlines() or ["no reason given"])[-1] if built.returncode else ""
    except OSError as error:
        why = in_words(error)
    found = sorted(folder.glob("*.whl"))
    if why or not found:
        raise AgentError(f"Can't build the wheel of this checkout: {safe_line(why)}. Name one with --package WHEEL.")
    return str(found[-1])


def require_tools() -> None:
    """Raise AgentError, with what to do, if uvx or docker is missing, or docker does not run."""
    if not shutil.which("uvx"):
        raise AgentError("uvx, which fetches and runs Harbor, is missing. Install uv: https://docs.astral.sh/uv.")
    if not shutil.which("docker"):
        raise AgentError("docker is missing: each task of Harbor runs in a container. Install docker.")
    try:
        asked = subprocess.run(["docker", "info"], capture_output=True, text=True, timeout=_DOCKER_SECONDS)
        why = "" if asked.returncode == 0 else (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
    except subprocess.TimeoutExpired:
        why = "it does not answer"
    if why:
        raise AgentError(
            f"docker does not run: {safe_line(why).rstrip(' .?!')}. Start it: each task of Harbor runs in a container."
        )


def rewards(jobs: Path) -> tuple[int, int]:
    """Return how many trials of a job passed (a reward of 1), and how many ended. A trial without a reward did not
    pass.
    """
    found = []
    for path in jobs.rglob("result.json"):
        try:
            trial = json.loads(path.read_text(encoding="utf-8"))
            if "verifier_result" in trial:  # the job's own result has none
                found.append(float(((trial["verifier_result"] or {}).get("rewards") or {}).get("reward") or 0))
        except (OSError, ValueError, TypeError, AttributeError):
            continue
    return sum(reward >= 1 for reward in found), len(found)
