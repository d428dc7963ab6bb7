"""agentcli beside other coding agents after three compactions: what a hundred probes find in the next request.

    PEERS=FOLDER/node_modules/.bin python -m tests.bench.bench_compaction [--seed N] [--keep FOLDER] [PROGRAM ...]

`tests/bench/peers.md` says how to install the others. All get the same session (`long_session.py`), the same window, and one imperfect
summariser, which leaves out four of ten facts and gets one of twenty wrong. Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.imperfect import AGENTCLI, CLAUDE, CODEX, PI, Dialect
from tests.bench.long_session import KINDS, LongSession, Probed, facts, probed, write_files
from tests.bench.peers.endpoint import Endpoint
from tests.bench.peers.programs import MODELS, PEERS, UNBOXED, Peer, Place, search_path

WINDOW = 200_000
OUTPUT = 32_000
SECONDS = 180
"""Seconds after which a prompt is given up."""
OPENCODE = Dialect(
    ("read", "filePath"), ("edit", "filePath", "oldString", "newString"), ("write", "filePath", "content"), ("bash", "command")
)  # fmt: skip
NAMES = {"last": "last request", "rule": "rules", "value": "values", "done": "done", "open": "not done"}


@dataclass(frozen=True)
class Side:
    """A program: its dialect, the arguments of a prompt that begins the session or continues it, and its settings."""

    program: str
    dialect: Dialect
    once: Callable[[str, bool], Sequence[str]]
    settle: Callable[[Place], None]

    @property
    def peer(self) -> Peer:
        """The program."""
        return next(peer for peer in PEERS if peer.name == self.program)


def _ours(prompt: str, goes_on: bool) -> Sequence[str]:
    model = f"anthropic/{MODELS['anthropic']}"
    return ("-p", prompt, "-m", model, "--mode", "yolo", *(("--continue",) if goes_on else ()))


def _claude(prompt: str, goes_on: bool) -> Sequence[str]:
    size = ("--autocompact", str(WINDOW), "--dangerously-skip-permissions")
    return ("-p", prompt, "--model", MODELS["anthropic"], *size, *(("--continue",) if goes_on else ()))


def _codex(prompt: str, goes_on: bool) -> Sequence[str]:
    how = ("--skip-git-repo-check", UNBOXED, "-m", MODELS["openai"])
    return ("exec", "resume", "--last", *how, prompt) if goes_on else ("exec", *how, prompt)


def _opencode(prompt: str, goes_on: bool) -> Sequence[str]:
    return ("run", "-m", f"anthropic/{MODELS['anthropic']}", *(("--continue",) if goes_on else ()), prompt)


def _pi(prompt: str, goes_on: bool) -> Sequence[str]:
    return ("-p", "--model", f"anthropic/{MODELS['anthropic']}", *(("--continue",) if goes_on else ()), prompt)


def _our_window(place: Place) -> None:
    model = f'[models."anthropic/{MODELS["anthropic"]}"]\nwindow = {WINDOW}\nmax_output = {OUTPUT}\n'
    place.write(".config/agentcli/config.toml", model)


def _codex_window(place: Place) -> None:
    path = place.home / ".codex/config.toml"
    path.write_text(f"model_context_window = {WINDOW}\n{path.read_text()}")


def _opencode_window(place: Place) -> None:
    limit = {MODELS["anthropic"]: {"limit": {"context": WINDOW, "output": OUTPUT}}}
    options = {"baseURL": f"{place.server.url}/v1"}
    provider = {"anthropic": {"options": options, "models": limit}}
    place.write(".config/opencode/opencode.json", {"autoupdate": False, "share": "disabled", "provider": provider, "permission": "allow"})  # fmt: skip


def _pi_window(place: Place) -> None:
    override = {MODELS["anthropic"]: {"contextWindow": WINDOW, "maxTokens": OUTPUT}}
    provider = {"anthropic": {"baseUrl": place.server.url, "modelOverrides": override}}
    place.write(".pi/agent/models.json", {"providers": provider})


SIDES = (
    Side("agentcli", AGENTCLI, _ours, _our_window),
    Side("claude", CLAUDE, _claude, lambda _: None),
    Side("codex", CODEX, _codex, _codex_window),
    Side("opencode", OPENCODE, _opencode, _opencode_window),
    Side("pi", PI, _pi, _pi_window),
)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="", help="folder for the request that the probes ask")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    asked = parser.parse_args(arguments)
    print(f"| program | {' | '.join(NAMES.values())} | of 100 | finished work repeated | size of the request |")
    print(f"|{'---|' * (len(NAMES) + 4)}")
    for side in SIDES:
        if not side.peer.program or (asked.programs and side.program not in asked.programs):
            continue
        session, trouble = run(side, asked.seed)
        if asked.keep:
            Path(asked.keep, f"{side.program}.txt").write_text(session.final)
        found = probed(session)
        version = _version(side.peer)
        print(f"| {side.program} {version} | {_row(found)} |" if found else f"| {side.program} {version} | {trouble} |", flush=True)  # fmt: skip


def _row(found: Probed) -> str:
    cells = [f"{found.right[kind][0]} of {found.right[kind][1]}" for kind in KINDS]
    total = sum(shown for shown, _ in found.right.values())
    return " | ".join([*cells, f"**{total}**", str(found.repeated), f"{found.characters // 4_000}k tokens"])


def _version(peer: Peer) -> str:
    env = {**os.environ, "PATH": search_path()}
    done = subprocess.run([*peer.program, "--version"], env=env, capture_output=True, text=True, check=False)
    return next((word for word in (done.stdout + done.stderr).split() if word[0].isdigit()), "")


def run(side: Side, seed: int = 1) -> tuple[LongSession, str]:
    """Lead a program through the session; why it did not come to its end, if it did not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        session = LongSession(side.dialect, Path(name) / "work", facts(seed))
        with Endpoint(session, summaries=False) as server:
            place = Place(Path(name), server)
            place.work.mkdir()
            write_files(place.work, session.planted)
            env = {**side.peer.env(place), "IS_SANDBOX": "1"}
            side.settle(place)
            trouble = _led(side, session, place, env)
    return session, trouble


def _led(side: Side, session: LongSession, place: Place, env: dict[str, str]) -> str:
    while prompt := session.prompt():
        words = [*side.peer.program, *side.once(prompt, session.prompts > 1)]
        try:
            done = subprocess.run(
                words, cwd=place.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"not done within {SECONDS} s, after {session.compactions} compactions"
        said = (done.stderr or done.stdout).decode(errors="replace")[-300:]
        print(
            f"{side.program}: prompt {session.prompts}, {session.asked} requests, {session.compactions} compactions, "
            f"exit {done.returncode}{': ' + said if done.returncode else ''}", *session.unknown, file=sys.stderr, flush=True,
        )  # fmt: skip
        session.unknown.clear()
    return "" if session.final else f"{session.compactions} compactions after {session.prompts} prompts"


if __name__ == "__main__":
    main(sys.argv[1:])
