"""What planning and applying a compaction costs: `python tests/bench/bench_policies.py [TOKENS]`, by default a view of a million.

The yardstick is the time to write the same session down as JSON once.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from agentcli.context.compaction.record import prepare
from agentcli.context.policies import plan
from agentcli.context.settings import POLICIES, ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import window_of
from agentcli.core.message import ToolResult
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import CHEAP, MAIN, Answers, compaction, long_story, session, shown, snapshot

SETTINGS = ContextSettings()


def measure(action: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def figures(tokens: int = 1_000_000) -> dict[str, float]:
    """Seconds of each operation on a session of about so many tokens."""
    steps = max(8, tokens // 700)
    journal = session(long_story(steps=steps, size=3_800, turns=max(1, steps // 50)))
    seen, counter = shown(journal), TokenCounter()
    size = int(counter.view(seen) * 1.2)
    window = window_of(seen, replace(MAIN, window=size), counter, SETTINGS, TRAITS)
    texts = [block.part.output for block in seen.blocks if isinstance(block.part, ToolResult)]
    found = {"tokens": float(counter.view(seen)), "yardstick": measure(lambda: json.dumps(texts))}
    for name in POLICIES:
        under = replace(window, settings=replace(SETTINGS, policy=name))
        found[f"plan {name}"] = measure(lambda under=under: plan(under, forced=True))
        found[f"plan {name}, nothing counted yet"] = measure(
            lambda under=under: plan(replace(under, counter=TokenCounter()), forced=True)
        )
    made = plan(window, forced=True)
    work = prepare(made, journal.history, window)
    found["fold the ledger"] = measure(lambda: prepare(made, journal.history, window))
    found["gather the evidence"] = measure(work.evidence)
    found["the whole compaction"] = measure(lambda: _compact(journal, size), 1)
    found["view afterwards"] = measure(lambda: view(journal.history))
    return found


def _compact(journal: object, window: int) -> None:
    reply = snapshot("Fix the parser.", "\n".join(f"- The part {'i' * n} is slow." for n in range(1, 60)))
    model = Answers(reply, spec=replace(CHEAP, window=window))

    async def drive() -> None:
        main = replace(MAIN, window=window)
        async for _ in compaction(journal, model, main=main):  # type: ignore[arg-type]
            pass

    asyncio.run(drive())


def main() -> None:
    found = figures(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    print(f"{found.pop('tokens'):,.0f} tokens")
    for name, seconds in found.items():
        print(f"{name:34} {seconds * 1e3:8.2f} ms  {seconds / found['yardstick']:7.2f} ×")


if __name__ == "__main__":
    main()
