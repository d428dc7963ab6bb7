"""What a sandboxed command costs more than outside, by the size of its repository and its rules: `python -m tests.bench.bench_boxes [ROUNDS]`.

Each round runs `true` outside, then in the sandbox, with the search for the files that the rules deny. Printed are the fewest milliseconds more, the
processor time of this process (median), and that of the first search. `N files, M rules` are deny rules that match at any depth.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from agentcli.permissions.denied.files import existing
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.box import startable
from agentcli.permissions.sandbox.private_tmp import PrivateTmp
from agentcli.permissions.sandbox.space import PrivateSpace

ROUNDS = 15
ENV = ("read(.env)",)
MANY = tuple(f"read({each})" for n in range(25) for each in (f"**/secret{n}/**", f"*.key{n}"))
KINDS: Sequence[tuple[int, Sequence[str]]] = (
    (100, ()),
    (100, ENV),
    (100, MANY),
    (20_000, ()),
    (20_000, ENV),
    (20_000, MANY),
)
ARGV = ("true",)


def main(rounds: int) -> None:
    """Print a line for each kind."""
    sandbox = detect()
    for files, texts in KINDS:
        with tempfile.TemporaryDirectory(prefix="boxes-", dir=Path.home()) as name:
            top = Path(os.path.realpath(name))
            rules = parse_rules(deny=texts).deny
            space = PrivateSpace(sandbox.program, PrivateTmp(top))
            workspace = replace(_made(top, files), tmp=space.path, loopback=space.same_port)
            first = _seconds(lambda: existing(rules, workspace))  # noqa: B023 - it is called at once

            def inside() -> None:
                hidden = existing(rules, workspace)  # noqa: B023
                boxed = sandbox.wrap(ARGV, workspace, git=True, hidden=hidden, space=space)  # noqa: B023
                with startable(boxed) as (argv, descriptors):
                    subprocess.run(argv, cwd=workspace.cwd, pass_fds=descriptors, stdin=subprocess.DEVNULL, check=True)  # noqa: B023

            more, used = [], []
            for _ in range(rounds):
                began = time.perf_counter()
                subprocess.run(ARGV, cwd=workspace.cwd, stdin=subprocess.DEVNULL, check=True)
                outside = time.perf_counter() - began
                began = time.perf_counter()
                used.append(_seconds(inside))
                more.append(time.perf_counter() - began - outside)
            space.close()
        figures = f"{min(more) * 1000:7.1f} ms more, {median(used) * 1000:6.1f} ms of this process, first search {first * 1000:7.1f} ms"
        print(f"{files:6,} files, {len(rules):2} rules: {figures}", flush=True)


def _made(top: Path, files: int) -> Workspace:
    """Make a repository with so many files, 20 in a folder, and three of secrets."""
    work, home = top / "work", top / "home"
    home.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    for n in range(files):
        (work / f"d{n // 20}").mkdir(exist_ok=True)
        (work / f"d{n // 20}/f{n}.py").touch()
    for n in range(3):
        (work / f"d{n}/.env").write_text("TOKEN=1\n")
    return Workspace(work, (work,), home, sandboxed=True, records=True, env=dict(os.environ))


def _seconds(work: Callable[[], object]) -> float:
    """Seconds of this process's processor time."""
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
