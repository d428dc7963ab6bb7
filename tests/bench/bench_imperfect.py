"""agentcli beside other coding agents, all driven by one imperfect model: tasks solved on disk, and characters sent.

    PEERS=FOLDER/node_modules/.bin python -m tests.bench.bench_imperfect [--tasks N] [--slips N] [PROGRAM ...]

`tests/bench/peers.md` says how to install the others. Each of the twenty tasks has three slips of `imperfect.SLIPS`. A task is solved if all
files are right at the end. Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.imperfect import (
    AGENTCLI,
    CLAUDE,
    CODEX,
    PI,
    SCRIPT_SLIPS,
    SCRIPTS,
    SLIPS,
    Dialect,
    Imperfect,
    Slip,
    Task,
    tasks,
    with_slips,
)
from tests.bench.peers.endpoint import Endpoint
from tests.bench.peers.programs import MODELS, PEERS, UNBOXED, Peer, Place
from tests.loopback.plan import Wire

SECONDS = 90
"""Seconds after which a run is given up."""


@dataclass(frozen=True)
class Side:
    """A program on a wire: its dialect, and the arguments of one prompt."""

    program: str
    wire: Wire
    dialect: Dialect
    once: Callable[[str], Sequence[str]]
    env: Mapping[str, str]

    @property
    def peer(self) -> Peer:
        """The program."""
        return next(peer for peer in PEERS if peer.name == self.program)


def _ours(wire: Wire, model: str) -> Side:
    return Side("agentcli", wire, AGENTCLI, lambda prompt: ("-p", prompt, "-m", model, "--mode", "yolo"), {})


SIDES = (
    _ours("anthropic", f"anthropic/{MODELS['anthropic']}"),
    _ours("openai", f"openai/{MODELS['openai']}"),
    _ours("chat", "local/some-model"),
    _ours("google", f"google/{MODELS['google']}"),
    Side("claude", "anthropic", CLAUDE, lambda prompt: ("-p", prompt, "--model", MODELS["anthropic"], "--dangerously-skip-permissions"), {"IS_SANDBOX": "1"}),
    Side("codex", "openai", CODEX, lambda prompt: ("exec", "--skip-git-repo-check", UNBOXED, "-m", MODELS["openai"], prompt), {}),
    Side("pi", "anthropic", PI, lambda prompt: ("-p", "--model", f"anthropic/{MODELS['anthropic']}", prompt), {}),
    Side("pi", "google", PI, lambda prompt: ("-p", "--model", f"google/{MODELS['google']}", prompt), {}),
)  # fmt: skip


def _with_scripts(side: Side, used: bool) -> Side:
    """Return agentcli with the tool script offered, and perhaps used."""
    return replace(
        side,
        dialect=SCRIPTS if used else AGENTCLI,
        once=lambda prompt: (*side.once(prompt), "--set", "tools.scripts=on"),
    )


@dataclass(frozen=True)
class Outcome:
    """One task by one program."""

    task: str
    slips: Sequence[str]
    solved: bool
    characters: int
    requests: int
    ended: str


def main(arguments: Sequence[str]) -> None:
    """Print the table, and the slips that were in the tasks that each program did not solve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--slips", type=int, default=3, help="slips in each task")
    parser.add_argument("--seed", type=int, default=0, help="another choice of slips")
    parser.add_argument("--only", default="", help="one slip, in each task")
    parser.add_argument(
        "--scripts",
        choices=("offered", "used"),
        help="agentcli with the tool script; used: it reads and runs in scripts",
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    asked = parser.parse_args(arguments)
    sides = [side for side in SIDES if side.peer.program and (not asked.programs or side.program in asked.programs)]
    if asked.scripts:
        sides = [_with_scripts(side, asked.scripts == "used") for side in sides if side.dialect is AGENTCLI]
    found = {
        (side.program, side.wire): [*_outcomes(side, asked.tasks, asked.slips, asked.seed, asked.only)]
        for side in sides
    }
    rows = {key: {each.task: each for each in outcomes} for key, outcomes in found.items()}
    common = [task for task in next(iter(rows.values()), {}) if all(row[task].solved for row in rows.values())]
    print(f"{len(SLIPS)} kinds of slips, {asked.slips} in each of {asked.tasks} tasks\n")
    print(
        f"| program | wire | solved | characters sent | in the {len(common)} tasks that all solved | requests |\n|---|---|---|---|---|---|"
    )
    for (program, wire), row in rows.items():
        solved, all_ = sum(each.solved for each in row.values()), row.values()
        shared = sum(row[task].characters for task in common)
        print(
            f"| {program} | {wire} | {solved} of {len(row)} | {sum(each.characters for each in all_):,} | {shared:,} | {sum(each.requests for each in all_)} |"
        )
    for (program, wire), row in rows.items():
        for each in row.values():
            if not each.solved:
                print(
                    f"\n{program}, {wire}: {each.task} with {', '.join(each.slips)}: {each.ended or 'ended by the program'}"
                )


def _outcomes(side: Side, number: int, each: int, first: int, only: str) -> list[Outcome]:
    found = []
    for seed, task in enumerate(tasks()[:number]):
        slips = (*SCRIPT_SLIPS, *SLIPS) if side.dialect.by_script else SLIPS
        steps = with_slips(task, seed + 101 * first, each, raw=side.wire != "google", slips=slips)
        if only:
            slip = next(one for one in SLIPS if one.name == only)
            at = next(
                (
                    at
                    for at, (action, _) in enumerate(steps)
                    if action.kind in slip.kinds.split() and (only != "not unique" or action.twice)
                ),
                0,
            )
            steps = [(action, slip if place == at else None) for place, (action, _) in enumerate(steps)]
        found.append(run(side, task, steps))
        print(".", end="", file=sys.stderr, flush=True)
    return found


def run(side: Side, task: Task, steps: Sequence[tuple[object, Slip | None]]) -> Outcome:
    """Run a program on one task."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place_of = Path(name)
        plan = Imperfect(side.dialect, place_of / "work", steps)  # type: ignore[arg-type]
        with Endpoint(plan) as server:
            place = Place(place_of, server)
            for file, text in task.before.items():
                path = place.work / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            env = {**side.peer.env(place), **side.env}
            if side.wire == "chat":
                settings = f'[providers.local]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "OPENAI_API_KEY"\n'
                place.write(".config/agentcli/config.toml", settings)
            ended = ""
            try:
                subprocess.run(
                    [*side.peer.program, *side.once(task.prompt)],
                    cwd=place.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                ended = f"not done within {SECONDS} s"
            slips = [slip.name for _, slip in steps if slip is not None]
            solved = task.is_solved(place.work)
            return Outcome(task.name, slips, solved, plan.characters, plan.requests, ended or plan.ended)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main(sys.argv[1:])
