"""What the context engine costs, as ratios to a yardstick of the same run: `python tests/bench/bench_context.py`.

The yardstick is the time to write the same session down as JSON once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from agentcli.context.assemble import assemble
from agentcli.context.invariants import check
from agentcli.context.policies import plan_prune
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.calibration import calibrate
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import window_of
from agentcli.core.history import evolve, fold
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Record
from agentcli.tools.registry import TRAITS

MODEL = ModelSpec("anthropic", "bench", window=2_000_000)


def session(messages: int, characters: int = 2_000) -> list[Record]:
    """A session of so many messages that alternate between calls and outputs of real code's size."""
    records = [Record(1, "r1", "2026-01-01T00:00:00Z", "", Message("user", (Text("Do it."),), 1))]
    for n in range(2, messages + 1):
        if n % 2 == 0:
            parts = (Text("Let me look."), ToolCall(f"c{n}", "read", {"file_path": f"src/file{n}.py"}))
            body: Message | ToolResult = Message(
                "assistant", parts, 1, "anthropic", "bench", Usage(n * 700, 40), None, "tool_use"
            )
        else:
            body = ToolResult(
                f"c{n - 1}", "read", "success", f"{n} def function(x): return x + {n}\n" * (characters // 34)
            )
        records.append(Record(n, f"r{n}", "2026-01-01T00:00:00Z", "", body))
    return records


def measure(action: Callable[[], object], repeat: int = 7) -> float:
    """Seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def figures(messages: int = 1_001) -> dict[str, float]:
    """Seconds of each operation on a session of so many messages."""
    records = session(messages)
    history = fold(records)
    seen = view(history)
    counter = TokenCounter(model="bench")
    window = window_of(seen, MODEL, counter, ContextSettings(), TRAITS)
    request = assemble(seen, ["system"], [], MODEL, counter=counter)
    texts = [block.part.output for block in seen.blocks if isinstance(block.part, ToolResult)]

    def step() -> object:
        grown = evolve(history, records[-1])
        now = view(grown)
        counter.learn(grown)
        counter.prompt(now)
        return assemble(now, ["system"], [], MODEL, counter=counter)

    return {
        "yardstick": measure(lambda: json.dumps(texts)),
        "count, nothing known": measure(lambda: TokenCounter().view(seen)),
        "count, all known": measure(lambda: counter.view(seen)),
        "view": measure(lambda: view(history)),
        "calibrate": measure(lambda: calibrate(history, counter._added)),
        "assemble": measure(lambda: assemble(seen, ["system"], [], MODEL, counter=counter)),
        "check": measure(lambda: check(request, seen)),
        "plan a prune": measure(lambda: plan_prune(window)),
        "all of a step": measure(step),
    }


def main() -> None:
    found = figures()
    for name, seconds in found.items():
        print(f"{name:22} {seconds * 1e3:8.2f} ms  {seconds / found['yardstick']:7.2f} ×")


if __name__ == "__main__":
    main()
