"""A provider's prompt cache by its published rules, on the text of requests as they arrive. It shares nothing with the program's own emulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentcli.core.message import Usage
from agentcli.providers.scripted.model import Reply
from tests.loopback import Asked

LOOKBACK = 20


@dataclass
class WireCache:
    """`lifetime` in seconds, `minimum` in tokens of four characters; `now` tells the time. `spent` sums up what it reported."""

    minimum: int
    lifetime: float
    now: Callable[[], float]
    kept: dict[str, float] = field(default_factory=dict)
    reported: list[tuple[int, int, int, int]] = field(default_factory=list)

    def answer(self, asked: Asked, reply: Reply, output: int) -> Reply:
        """The reply with the usage of this request."""
        pieces, marks = _anthropic(asked.json) if asked.wire == "anthropic" else (_google(asked.json), None)
        fresh, written, read = self._use(pieces, marks)
        self.reported.append((fresh, written, read, output))
        return Reply(reply.parts, reply.stop, Usage(fresh, output, 0, read, written))

    def cost(self, fresh: float, written: float, read: float, output: float) -> float:
        """USD of all that was reported, at these prices for a million tokens."""
        rates = (fresh, written, read, output)
        return sum(rate * count / 1e6 for each in self.reported for rate, count in zip(rates, each, strict=True))

    def _use(self, pieces: list[str], marks: list[int] | None) -> tuple[int, int, int]:
        prefixes = ["".join(pieces[: end + 1]) for end in range(len(pieces))]
        now = self.now()
        alive = {text for text, used in self.kept.items() if now - used <= self.lifetime}
        ends = range(len(pieces)) if marks is None else marks
        near = {place for end in ends for place in range(end, max(-1, end - LOOKBACK), -1)}
        hit = max((len(prefixes[place]) for place in near if prefixes[place] in alive), default=0)
        for end in ends:
            if len(prefixes[end]) >= 4 * self.minimum:
                self.kept[prefixes[end]] = now
        for text in [*self.kept]:
            if text in alive and len(text) <= hit and prefixes[-1].startswith(text):
                self.kept[text] = now
        last = max((len(prefixes[end]) for end in ends if len(prefixes[end]) >= 4 * self.minimum), default=hit)
        whole, read = len(prefixes[-1]) // 4, hit // 4
        written = 0 if marks is None else max(0, last // 4 - read)
        return whole - read - written, written, read


def _anthropic(body: dict[str, Any]) -> tuple[list[str], list[int]]:
    system = body.get("system") or []
    blocks: list[Any] = [*(body.get("tools") or []), *([{"text": system}] if isinstance(system, str) else system)]
    for message in body["messages"]:
        content = message["content"]
        blocks += [{"text": content}] if isinstance(content, str) else content
    marks = [number for number, block in enumerate(blocks) if block.get("cache_control")]
    return [json.dumps({**block, "cache_control": None}) for block in blocks], marks


def _google(body: dict[str, Any]) -> list[str]:
    head = [json.dumps(body.get("tools")), json.dumps(body.get("systemInstruction"))]
    return head + [json.dumps(part) for turn in body["contents"] for part in turn["parts"]]
