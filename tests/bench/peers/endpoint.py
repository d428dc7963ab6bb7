"""The endpoint that a program talks to: it asks for one read after another, and answers everything else harmlessly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import Reply, say
from tests.bench.peers.programs import Peer, Place
from tests.loopback import Asked, Loopback

FILES = 40
LINES = 16


class Reads:
    """The plan of a run: `turns` reads, one a request, then the end. `at` is told the number of reads done at each request."""

    def __init__(self, turns: int, at: Callable[[int], None] | None = None) -> None:
        self.turns = turns
        self.requests: list[Asked] = []
        """The requests of the conversation; not those for titles, checks and the like, which bring no tools."""
        self._at = at
        self._call: Callable[[str], Any] = lambda name: None

    def play(self, peer: Peer, work: Path) -> None:
        """Ask by the calls of this program."""
        self._call = lambda name: peer.reads(work, name)

    def __call__(self, asked: Asked) -> Reply:
        """The next answer."""
        if not asked.json.get("tools"):
            return say("A title")
        self.requests.append(asked)
        done = results(asked)
        if self._at:
            self._at(done)
        return say(f"Step {done}.", self._call(f"f{done % FILES}.txt")) if done < self.turns else say("Done.")

    def fault(self) -> str:
        """The reason why these were not all reads; empty where each was made, and its result sent."""
        if not self.requests:
            return "it sent no request"
        last = self.requests[-1]
        if (done := results(last)) < self.turns:
            return f"it made {done} of {self.turns} calls"
        text = last.body.decode()
        missing = [n for n in range(min(FILES, self.turns)) if last_line(n) not in text]
        return f"{len(missing)} results lack the contents of their files" if missing else ""


class Endpoint(Loopback):
    """The loopback server, which takes any request, and answers the small ones that programs send besides."""

    def __init__(self, plan: Callable[[Asked], Reply], *, summaries: bool = True) -> None:
        super().__init__(plan, strict=False, summaries=summaries)

    def beside(self, method: str, path: str) -> bytes | None:
        if path.endswith(":generateContent"):
            # A check of the conversation by a small model, which finds nothing.
            part = {"role": "model", "parts": [{"text": "{}"}]}
            return json.dumps({"candidates": [{"content": part, "finishReason": "STOP", "index": 0}]}).encode()
        if method == "GET" and path.endswith("/models"):
            return b'{"object": "list", "data": [], "models": []}'
        return None


def results(asked: Asked) -> int:
    """The number of tool results in a request, on any wire."""
    return sum(map(_results, asked.turns))


def _results(turn: dict[str, Any]) -> int:
    if turn.get("role") == "tool" or str(turn.get("type")).endswith("call_output"):
        return 1
    content = turn.get("content") or turn.get("parts") or ()
    return sum(
        block.get("type") == "tool_result" or "functionResponse" in block
        for block in content
        if isinstance(block, dict)
    )


def write_files(place: Place) -> None:
    """The files that are read: lines of about the length of code."""
    place.work.mkdir(parents=True, exist_ok=True)
    for n in range(FILES):
        lines = "".join(f"    total_{n} += price_of(item, {line})\n" for line in range(LINES - 1))
        (place.work / f"f{n}.txt").write_text(f"{lines}{last_line(n)}\n")


def last_line(n: int) -> str:
    """The last line of a file, which stands in no other."""
    return f"    return total_{n}, {LINES}"
