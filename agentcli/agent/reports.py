"""What a session has cost and changed, as plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentcli.agent.ports import Window
from agentcli.context.tokens import Counts
from agentcli.context.view import View
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Compaction, Failure, Record
from agentcli.core.sanitise import safe_line


def cost_lines(records: Iterable[Record]) -> Sequence[str]:
    """Tokens and USD of a session per model, and how much of the input came from the cache."""
    sums: dict[str, tuple[int, Usage, float | None]] = {}
    for model, usage, cost in _spent(records):
        requests, so_far, money = sums.get(model, (0, Usage(), None))
        sums[model] = (requests + 1, so_far + usage, money if cost is None else (money or 0.0) + cost)
    if not sums:
        return ["Nothing has been spent yet."]
    return [line for model, (requests, usage, cost) in sums.items() for line in _lines(model, requests, usage, cost)]


def window_lines(view: View, counts: Counts, window: Window) -> Sequence[str]:
    """What fills the window, drawn, and the messages with their tokens, trust and fate."""
    percent = 100 * window.used / window.usable
    lines = [
        f"{window.used:,} of {window.usable:,} usable tokens ({percent:.1f} %), window {window.window:,}, "
        f"counted by {window.estimator}",
        f"prunes and compacts from {window.soft:,}, at the latest at {window.hard:,}; {window.cached:,} in the cache",
        _bar(window),
    ]
    lines += [f"  {kind:10} {tokens:>9,}" for kind, tokens in window.shares.items() if tokens]
    lines += ["", "   seq  role         tokens  what"]
    for message in view.messages:
        for block in message.blocks:
            fate = "pinned" if block.pinned else "cleared" if block.cleared else ""
            what = f"{block.source} (tier {block.tier}) {fate} {_gist(block.part)}"
            lines.append(f"{block.seq:6}  {message.role:9} {counts.block(block):>9,}  {' '.join(what.split())}")
    return lines


def changes(records: Iterable[Record]) -> str:
    """Every edit of a session as one unified diff, in the order in which they were made."""
    diffs = [
        str(record.body.metadata["diff"]).rstrip("\n")
        for record in records
        if isinstance(record.body, ToolResult) and not record.body.failed and record.body.metadata.get("diff")
    ]
    return "\n".join(diffs)


def _spent(records: Iterable[Record]) -> Iterator[tuple[str, Usage, float | None]]:
    for record in records:
        match record.body:
            case Message(role="assistant", usage=Usage() as usage) as message:
                yield f"{message.provider}/{message.model}", usage, message.cost
            case Compaction(usage=usage, model=model, cost=cost) if usage.total:
                yield f"{model} (summaries)", usage, cost
            case Failure(usage=usage, where=model, cost=cost) if usage.total:
                yield model, usage, cost
            case _:
                pass


def _lines(model: str, requests: int, usage: Usage, cost: float | None) -> Iterator[str]:
    money = "price unknown" if cost is None else f"${cost:,.4f}"
    cached = 100 * usage.cache_read / usage.prompt if usage.prompt else 0.0
    yield f"{model}: {requests} requests, {money}"
    yield (
        f"  in {usage.prompt:,} ({usage.input:,} fresh, {usage.cache_write:,} written to the cache, "
        f"{usage.cache_read:,} read from it: {cached:.1f} %), out {usage.output:,} ({usage.reasoning:,} thinking)"
    )


BAR = 60
"""Characters of the drawn window."""
_LETTERS = {"system": "S", "tools": "T", "compactor": "C", "user": "U", "assistant": "A", "tool": "o", "pinned": "P"}


def _bar(window: Window) -> str:
    drawn = "".join(
        _LETTERS.get(kind, "+") * round(BAR * tokens / window.usable) for kind, tokens in window.shares.items()
    )
    marks = {round(BAR * window.soft / window.usable): "|", round(BAR * window.hard / window.usable): "‖"}
    cells = list(drawn[:BAR].ljust(BAR, "·"))
    for place, mark in marks.items():
        if place < BAR and cells[place] == "·":
            cells[place] = mark
    return f"[{''.join(cells)}]"


def _gist(part: Part | ToolResult) -> str:
    match part:
        case ToolResult():
            text = f"{part.name}: {part.output}"
        case ToolCall(_, name, given):
            text = f"{name}({', '.join(given)})"
        case Image(path=path):
            text = f"image {path}"
        case File(path=path):
            text = f"file {path}"
        case Text(text) | Thinking(text):
            pass
    return safe_line(text[:GIST])


GIST = 70
"""Characters of a message that the list shows."""
