"""What a session has cost and changed, as plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentcli.context.cache import Health
from agentcli.core.chart import bars
from agentcli.core.delegated import purpose, spent
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import Prices
from agentcli.core.record import Compaction, Failure, Prune, Record, Retry, Settings, Title
from agentcli.tools.jobs import Job


def cost_lines(records: Iterable[Record]) -> Sequence[str]:
    """Tokens and USD of a session per model and per day (UTC), and how much of the input came from the cache."""
    models: dict[str, _Sum] = {}
    days: dict[str, _Sum] = {}
    for record, model, usage, cost in _spent(records):
        for sums, name in ((models, model), (days, record.time[:10])):
            sums[name] = sums.get(name, _Sum()).plus(usage, cost)
    if not models:
        return ["Nothing has been spent yet."]
    total = sum((one.usage for one in models.values()), Usage())
    costs = [one.cost for one in models.values() if one.cost is not None]
    return [
        f"{total.total:,} tokens, {_money(sum(costs) if costs else None)}",
        "",
        "per model",
        *(line for name, one in models.items() for line in _lines(name, one)),
        "",
        "per day",
        *(
            f"  {day}  {bar}  {one.usage.total:>12,}  {_money(one.cost)}"
            for (day, one), bar in zip(days.items(), bars([one.usage.total for one in days.values()]), strict=True)
        ),
    ]


def cache_lines(health: Health, prices: Prices | None) -> Sequence[str]:
    """How well the provider's cache works: its hit rate, tokens and USD by kind, and what rewrote it."""
    if not health.requests:
        return ["Nothing has been asked yet, so nothing is cached."]
    tokens = {
        "fresh": health.fresh,
        "cache write": health.written,
        "cache read": health.read,
        "output": health.output,
    }
    costs = health.costs(prices) if prices is not None else {}
    return [
        f"{health.hit_rate:.1%} of all input came from the cache, in {health.requests} requests; {health.misses} missed it.",
        *(
            f"  {kind:11} {count:>12,} tokens  {f'${costs[kind]:,.4f}' if kind in costs else 'price unknown'}"
            for kind, count in tokens.items()
        ),
        f"{health.compactions} compactions, {health.prunes} prunes, {health.recalls} outputs recalled.",
        health.words() or "Nothing is wrong with it.",
    ]


def job_lines(jobs: Sequence[Job], now: float) -> Sequence[str]:
    """The background jobs of a session, oldest first; `now` is seconds since the epoch."""
    if not jobs:
        return ["There are no background jobs. Ctrl-B sends a running command to the background."]
    return [_job(job, now) for job in jobs]


def acts(records: Iterable[Record]) -> Iterator[str]:
    """What was done to a session unasked, as its records tell it: retries, waits, compactions, prunes and fallbacks, oldest first."""
    for record in records:
        match record.body:
            case Compaction(trigger=trigger, status="compressed") as body if trigger != "manual":
                yield f"{_when(record)} Compaction: {body.tokens_before:,} → {body.tokens_after:,} tokens ({trigger}, {body.policy})"
            case Compaction(trigger=trigger, status=status) if trigger != "manual":
                yield f"{_when(record)} Compaction: {status.replace('_', ' ')} ({trigger})"
            case Retry(0, delay, reason):
                yield f"{_when(record)} Waiting {delay:.0f} s: {reason}"
            case Settings(why=why) if why:
                yield f"{_when(record)} {why}"
            case Retry(attempt, delay, reason):
                yield f"{_when(record)} Trying again in {delay:.0f} s (attempt {attempt}): {reason}"
            case Prune(call_ids=(), reason=reason):
                yield f"{_when(record)} {reason}"
            case Prune(call_ids=calls, tokens=tokens, reason=reason):
                yield f"{_when(record)} Pruned {len(calls)} old outputs, {tokens:,} tokens. {reason}"
            case _:
                pass


def changes(records: Iterable[Record]) -> str:
    """Every edit of a session as one unified diff, in the order in which they were made."""
    diffs = [
        str(record.body.metadata["diff"]).rstrip("\n")
        for record in records
        if isinstance(record.body, ToolResult) and not record.body.failed and record.body.metadata.get("diff")
    ]
    return "\n".join(diffs)


def _job(job: Job, now: float) -> str:
    seconds = (now - job.started) if job.ended is None else job.ended.seconds
    minutes, rest = divmod(int(seconds), 60)
    took = f"{minutes} m {rest:02} s" if minutes else f"{rest} s"
    last = bytes(job.fresh).decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
    return f"{job.id}  {job.state}, {took}  $ {job.command}" + (f"\n       {last}" if last else "")


def _when(record: Record) -> str:
    return record.time[:16].replace("T", " ")


@dataclass(frozen=True, slots=True)
class _Sum:
    """Requests and what they used; `cost` in USD, None while no price is known."""

    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = None

    def plus(self, usage: Usage, cost: float | None) -> _Sum:
        money = self.cost if cost is None else (self.cost or 0.0) + cost
        return _Sum(self.requests + 1, self.usage + usage, money)


def _spent(records: Iterable[Record]) -> Iterator[tuple[Record, str, Usage, float | None]]:
    for record in records:
        match record.body:
            case Message(role="assistant", usage=Usage() as usage) as message:
                yield record, f"{message.provider}/{message.model}", usage, message.cost
            case Compaction(usage=usage, model=model, cost=cost) if usage.total:
                yield record, f"{model} (summaries)", usage, cost
            case Title(usage=usage, model=model, cost=cost) if usage.total:
                yield record, f"{model} (titles)", usage, cost
            case ToolResult() as result if spent(result)[1].total:
                model, usage, cost = spent(result)
                yield record, f"{model} ({purpose(result)})", usage, cost
            case Failure(usage=usage, where=model, cost=cost) if usage.total:
                yield record, model, usage, cost
            case _:
                pass


def _money(cost: float | None) -> str:
    return "price unknown" if cost is None else f"${cost:,.4f}"


def _lines(model: str, spent: _Sum) -> Iterator[str]:
    usage = spent.usage
    cached = 100 * usage.cache_read / usage.prompt if usage.prompt else 0.0
    yield f"  {model}: {spent.requests} request{'s' * (spent.requests != 1)}, {_money(spent.cost)}"
    yield (
        f"    in {usage.prompt:,} ({usage.input:,} fresh, {usage.cache_write:,} written to the cache, "
        f"{usage.cache_read:,} read from it: {cached:.1f} %), out {usage.output:,} ({usage.reasoning:,} thinking)"
    )
