"""Run recorded commands both ways, in the sandbox of mode auto and outside: `python -m tests.bench.bench_sandbox FOLDER CHECKOUT [--most N]`.

FOLDER has transcripts, CHECKOUT is a repository in which their commands make sense. A command counts if mode auto would run it unasked;
each way has its own throw-away copy of the checkout, and no network. A command that ends well outside and fails inside is a false failure;
one that ends well in both with another output is shown, since it may be one. `--time N` times N of the commands that end well, in rounds that
alternate between both ways.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from statistics import median

from agentcli.core.tool import Boxed
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import Rules
from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.box import startable
from agentcli.permissions.sandbox.private_tmp import PrivateTmp
from agentcli.permissions.sandbox.space import PrivateSpace
from agentcli.system.programs import GIT_CONFIG, QUIET, git_settings, hardened
from tests.bench.asked import decided, placed
from tests.bench.transcripts import Transcript, transcripts

SECONDS = 20
ROUNDS = 3
SANDBOX = detect()
OUTSIDE = (
    "--unshare-user",
    "--unshare-net",
    "--unshare-pid",
    "--die-with-parent",
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
)
"""Outside means without limits on files; but no recorded command reaches a network, a process or a temporary file of this machine."""


class Side:
    """A copy of the checkout with a home, in which the commands of a session run one way."""

    def __init__(self, top: Path, checkout: Path, boxed: bool) -> None:
        self.work, home = top / "work", top / "home"
        home.mkdir(parents=True)
        shutil.copytree(checkout, self.work, symlinks=True)
        cover = UndoCover(1_000_000, 20_000, frozenset({"node_modules", ".git", ".venv", "target", "dist"}))
        self.space = PrivateSpace(SANDBOX.program, PrivateTmp(top)) if boxed else None
        made = Workspace(self.work, (self.work,), home, sandboxed=True, records=True, undo=cover, env={})
        (top / "tmp").mkdir()
        tmp, port = (self.space.path, self.space.same_port) if self.space else (top / "tmp", None)
        self.workspace = replace(made, tmp=tmp, loopback=port or (lambda _: True))

    def run(self, command: str, workspace: Workspace) -> tuple[int, str]:
        """Run a command as mode auto would, or outside; return its exit code and the end of its output."""
        decision = decided(command, Rules(), "auto", workspace)
        argv = ["bash", "--noprofile", "--norc", "-c", command]
        if self.space is None:
            boxed = Boxed(
                [
                    SANDBOX.program,
                    *OUTSIDE,
                    "--bind",
                    str(workspace.tmp),
                    "/tmp",
                    "--chdir",
                    str(workspace.cwd),
                    "--",
                    *argv,
                ]
            )
        elif decision.rule == "read-only":
            boxed = SANDBOX.wrap_reader(argv, workspace, workspace.path)
        else:
            boxed = SANDBOX.wrap(argv, workspace, git=decision.records, space=self.space)
        who = {f"GIT_{role}_{part}": "A" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        env = {**os.environ, **who, "HOME": str(workspace.home)} | QUIET | git_settings(GIT_CONFIG)
        env = hardened(env, (self.work,)) if decision.records or decision.rule == "read-only" else env
        with startable(boxed) as (started, descriptors):
            try:
                done = subprocess.run(
                    started, env=env, cwd=workspace.cwd, pass_fds=descriptors, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return -1, "too late"
        text = done.stdout.decode(errors="replace")
        named = {str(self.work): "WORK", str(self.work.parent): "TOP", str(self.workspace.tmp): "/tmp"}
        for path, name in named.items():
            text = text.replace(path, name)
        return done.returncode, text[-20_000:]

    def close(self) -> None:
        """Let what the commands share go."""
        if self.space is not None:
            self.space.close()


_TIMES = re.compile(r"\d[\d.,:]*")


def _difference(output: str, expected: str) -> str:
    """Return the first lines in which two outputs differ."""
    pairs = zip_longest(output.splitlines(), expected.splitlines(), fillvalue="")
    differing = ((a, b) for a, b in pairs if _TIMES.sub("N", a) != _TIMES.sub("N", b))
    return "; ".join(f"{a[:150]!r}, not {b[:150]!r}" for a, b in islice(differing, 2))


Pair = tuple[str, Workspace, str, Workspace]


def _timed(inside: Side, outside: Side, pairs: Sequence[Pair]) -> None:
    """Time commands in rounds that alternate between both ways, and print the medians."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for command, here, mirrored, there in pairs:
            for side, text, place, seconds in (
                (inside, command, here, spent[0]),
                (outside, mirrored, there, spent[1]),
            ):
                began = time.perf_counter()
                side.run(text, place)
                seconds.append(time.perf_counter() - began)
    if pairs:
        more = median(a - b for a, b in zip(*spent, strict=True))
        print(
            f"{len(pairs)} commands, {ROUNDS} rounds: {median(spent[0]):.3f} s inside, {median(spent[1]):.3f} s outside, {more * 1000:.1f} ms more"
        )


def compared(
    session: Transcript, checkout: Path, count: Counter[str], most: int, others: list[str], timed: int = 0
) -> list[str]:
    """Run the commands of a session both ways; return the false failures, and add those with another output to `others`."""
    failures: list[str] = []
    times: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="both-", dir=Path.home()) as folder:
        top = Path(os.path.realpath(folder))
        inside, outside = Side(top / "in", checkout, True), Side(top / "out", checkout, False)
        for recorded in session.commands:
            if count.total() >= most:
                break
            command, here = placed(recorded, session, inside.workspace)
            if decided(command, Rules(), "auto", here).decision != "allow":
                continue
            mirrored, there = placed(recorded, session, outside.workspace)
            (code, output), (plain, expected) = inside.run(command, here), outside.run(mirrored, there)
            kind = "both well" if code == plain == 0 else "false failure" if plain == 0 else "fails outside too"
            kind = "too late" if -1 in (code, plain) else kind
            count[kind] += 1
            if kind == "false failure":
                failures.append(f"{recorded.command[:300]!r}\n    {code}: {output[-300:]!r}")
            elif code == plain and _TIMES.sub("N", output) != _TIMES.sub("N", expected):
                others.append(f"{recorded.command[:300]!r}\n    {_difference(output, expected)}")
            if kind == "both well":
                times.append((command, here, mirrored, there))
        if timed:
            _timed(inside, outside, times[:timed])
        inside.close()
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts, and each false failure; 1 if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--time", type=int, default=0)
    given = parser.parse_args(arguments)
    count: Counter[str] = Counter()
    failures: list[str] = []
    others: list[str] = []
    for session in transcripts(given.folder):
        failures += compared(session, given.checkout, count, given.most, others, given.time)
        if count.total() >= given.most:
            break
    print("\n".join(["", "== another output:", *others, "", "== false failures:", *failures]))
    print(f"{len(others)} with another output; {count.total()} commands run both ways: {dict(count)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
