"""What a session has cost and changed, as plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.record import Compaction, Failure, Record


def cost_lines(records: Iterable[Record]) -> Sequence[str]:
    """Tokens and USD of a session per model, and how much of the input came from the cache."""
    sums: dict[str, tuple[int, Usage, float | None]] = {}
    for model, usage, cost in _spent(records):
        requests, so_far, money = sums.get(model, (0, Usage(), None))
        sums[model] = (requests + 1, so_far + usage, money if cost is None else (money or 0.0) + cost)
    if not sums:
        return ["Nothing has been spent yet."]
    return [line for model, (requests, usage, cost) in sums.items() for line in _lines(model, requests, usage, cost)]


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
