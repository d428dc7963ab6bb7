"""Replay of a recorded session, request by request, under another policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any, cast

from agentcli.context.assemble import assemble
from agentcli.context.compaction.record import Summary, SummaryTask, clipped_parts, prepare, shrinkage, to_record
from agentcli.context.context_editing import as_shown
from agentcli.context.invariants import check
from agentcli.context.ledger.command_results import outcome
from agentcli.context.policies import policy_named
from agentcli.context.policies.plans import Plan
from agentcli.context.policies.regions import heading, text_of
from agentcli.context.pruning.blocks import Supersession, ViewBlocks
from agentcli.context.room import compactions, due_prune, last_prune, prunes_of_turn
from agentcli.context.settings import ContextSettings, PolicyName
from agentcli.context.snapshot.form import render, trimmed
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated
from agentcli.context.view import View, after, grown, replaced_key, view
from agentcli.context.window import Window, limits_of, window_of
from agentcli.core.dataclass import dataclass
from agentcli.core.history import History, evolve, in_force
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices, Request, ToolSchema
from agentcli.core.record import Body, Compaction, Prune, Record, Settings, Todo
from agentcli.core.tool import Traits
from agentcli.extras.lab.demand import Demand, Needs
from agentcli.extras.lab.emulate import EmulatedCache, seconds_of
from agentcli.extras.lab.facts import Fact, Retention, count_retained

LONGEST = 60_000
"""Characters of the longest snapshot."""


def summary_of(task: SummaryTask) -> Summary:
    """Write the summary of a task; repeatable and free of charge."""
    clipped = clipped_parts(task)
    if task.policy.form == "regions":
        return Summary(replaced=clipped | _regions(task))
    if not task.plan.summarised:
        return Summary(replaced=clipped)
    summary = from_ledger(task.ledger, task.former_snapshot, task.goal, task.form)
    shorter = trimmed(task.priced(replace(summary, covers=task.covers)), LONGEST)
    return Summary(render(shorter, shells=not task.policy.priced), replaced=clipped)


def _regions(task: SummaryTask) -> dict[str, str]:
    """Return for each region its heading and its calls' outcomes; later results only refer to the first."""
    texts, turns = _texts(task), _turns(task)
    summary: dict[str, str] = {}
    for region in task.plan.regions:
        title = heading(min(turns[key] for key in region), max(turns[key] for key in region))
        lines = [f"- {key}: {outcome(texts[key], False)[:200]}" for key in region]
        summary |= dict.fromkeys(region, f"{title}\nsee the result of {region[0]}")
        summary[region[0]] = "\n".join((title, *lines))
    return summary


def _texts(task: SummaryTask) -> dict[str, str]:
    return {replaced_key(block): text_of(block) for block in task.view.blocks}


def _turns(task: SummaryTask) -> dict[str, int]:
    return {replaced_key(block): message.turn for message in task.view.messages for block in message.blocks}


Summarise = Callable[[SummaryTask], Summary]
"""Function that writes a compaction's summary; by default from the ledger, without a model."""
Watch = Callable[[Request, Message], object]
"""Function that receives each request, and its recorded reply with the usage and cost of this request."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Conditions of a replay.

    `head` are the tokens of system and tools if the session records none. `scratchpad` are the assumed tokens of
    reasoning for a summary. `recall_call` are the tokens of a call of `recall`, `recalled` those of its result.
    """

    model: ModelSpec
    traits: Mapping[str, Traits]
    """Traits of the tools that the sessions called, by name."""
    settings: ContextSettings = field(default_factory=ContextSettings)
    head: int = 4_500
    rate: float = 0.34
    scratchpad: int = 500
    recall_call: int = 80
    recalled: int = 1_000
    summarise: Summarise = summary_of


@dataclass(frozen=True, slots=True)
class Played:
    """Result of a session under a policy. `sizes` are the tokens of each prompt; `cost` in USD, including summaries.

    `overflows` counts prompts that grew beyond the usable size, each answered by forced compactions. `refused` counts
    prompts that did not fit even then. `needs` is what the replies needed in view, `recalls` the price of one recall
    for each reply that missed something. `planted` is the fate of the caller's facts. `broken` lists violated invariants. Without
    `priced` no amount is known.
    """

    policy: str
    sizes: tuple[int, ...] = ()
    usage: Usage = Usage()
    cost: float = 0.0
    summary_cost: float = 0.0
    compactions: int = 0
    prunes: int = 0
    overflows: int = 0
    refused: int = 0
    needs: Needs = Needs()
    recalls: float = 0.0
    planted: Retention = field(default_factory=Retention)
    broken: tuple[str, ...] = ()
    priced: bool = True

    @property
    def charged(self) -> float:
        """Cost in USD with a recall for each reply that missed something."""
        return self.cost + self.recalls

    @property
    def requests(self) -> int:
        """Number of prompts sent."""
        return len(self.sizes)

    @property
    def peak(self) -> int:
        """Tokens of the largest prompt."""
        return max(self.sizes, default=0)


def replay(
    records: Sequence[Record],
    policy: str,
    setup: Setup,
    planted: Iterable[Fact] = (),
    watch: Watch | None = None,
) -> Played:
    """Replay the session under this policy, and report the fate of `planted` facts at its end. `watch` receives its
    requests.

    Edits by the session's own policy are omitted; everything else happens as recorded.
    """
    player = Player(policy, setup, watch)
    for record in events_of(records):
        player.add(record)
        player.demand.bring_up(record.body)
    return player.result(planted)


def events_of(records: Iterable[Record]) -> list[Record]:
    """Return the events: messages, results and todo lists, except those undone by the user."""
    bodies = (Message, ToolResult, Todo, Settings)
    return [record for record in in_force(list(records)) if isinstance(record.body, bodies)]


class Player:
    """Replays a session, record by record."""

    def __init__(self, policy: str, setup: Setup, watch: Watch | None) -> None:
        self.rules, self.setup, self.model, self.watch = policy_named(policy), setup, setup.model, watch
        self.settings = replace(setup.settings, policy=cast(PolicyName, policy))
        self.limits = limits_of(setup.model, self.settings)
        # The emulated provider and the policies count by the same rule: actions are compared, not estimates.
        self.counter = TokenCounter(Calibrated(rate=setup.rate), model=setup.model.id)
        self.cache = EmulatedCache(setup.model, self.counter)
        self.history, self.records = History(), list[Record]()
        self.use_head(("s" * round(setup.head / setup.rate),), ())
        self.played = Played(policy, priced=setup.model.prices is not None)
        self.demand = Demand()
        self.sizes: list[int] = []
        self.broken: set[str] = set()
        self.now = 0.0
        self.futile = 0
        self._seen: tuple[History, Window, View] | None = None
        self._known = Supersession(), ViewBlocks()
        self.edited = True

    @property
    def window(self) -> Window:
        """Window with the view of the current history, cached."""
        if self._seen is None or self._seen[0] is not self.history:
            shown = view(self.history) if self._seen is None else grown(self.history, self._seen[0], self._seen[2])
            window = window_of(shown, self.model, self.counter, self.settings, self.setup.traits, *self._known)
            self._seen = self.history, window, shown
        return self._seen[1]

    def add(self, record: Record) -> None:
        """Apply the next event; before a reply, make its request."""
        match record.body:
            case Message("assistant") as message:
                self.ask(record, message)
            case Message("user") if self.rules.prunes == "prompt":
                self.prune(self.due_prune())
                self.keep(record.body, record.time)
            case Settings(system=system, tools=tools):
                if system or tools:
                    self.use_head(system, tuple(_schema(raw) for raw in tools))
            case other:
                self.keep(other, record.time)

    def use_head(self, system: tuple[str, ...], tools: tuple[ToolSchema, ...]) -> None:
        """Set the system text and tools of the following requests."""
        self.system, self.tools = system, tools
        self.counter.head = self.counter.overhead(system, tools)

    def ask(self, record: Record, message: Message) -> None:
        self.now = seconds_of(self.records[-1].time if self.records else record.time)
        self.make_room()
        request, size = self.request()
        self.played = replace(self.played, refused=self.played.refused + (size > self.limits.usable))
        output = (message.usage.output if message.usage else 0) or sum(map(self.counter.part, message.parts))
        usage = self.cache.usage(request, self.now, output)
        cost = self.model.cost(usage) or 0.0
        self.played = replace(self.played, usage=self.played.usage + usage, cost=self.played.cost + cost)
        self.sizes.append(usage.prompt)
        self.judge(message, request, usage.prompt)
        reported = replace(message, usage=usage, cost=cost, provider=self.model.provider, model=self.model.id)
        if self.watch is not None:
            self.watch(request, reported)
        self.keep(reported, record.time)

    def judge(self, message: Message, request: Request, size: int) -> None:
        """Record what a reply needed and missed, and charge one recall if it missed something."""
        needs = self.demand.needs(message, request, self.played.needs)
        cost = self.model.cost(Usage(0, self.setup.recall_call, 0, size, self.setup.recalled)) or 0.0
        cost = cost if needs.missed[-1] else 0.0
        self.played = replace(self.played, needs=needs, recalls=self.played.recalls + cost)

    def make_room(self) -> None:
        """Make room as the agent does before each request: prune if that pays, compact at the policy's marks."""
        self.prune(self.window.view.foreseen)
        if self.rules.prunes == "request":
            self.prune(self.due_prune())
        over = self.window.tokens > self.limits.usable
        self.played = replace(self.played, overflows=self.played.overflows + over)
        boundary = bool(self.records) and isinstance(self.records[-1].body, Message)
        for planned in compactions(lambda: self.window, boundary=boundary, futile=lambda: self.futile):
            self.compact(planned)
        if self.rules.prunes == "request" and self.window.tokens > self.limits.usable:
            self.prune(last_prune(self.window)[0])

    def due_prune(self) -> Prune | None:
        made = prunes_of_turn(self.history, self.window)
        return due_prune(self.window, datetime.fromtimestamp(self.now, UTC), made)[0]

    def prune(self, to_record: Prune | None) -> None:
        if to_record is not None:
            self.keep(to_record, self.records[-1].time)
            self.edited = True
            self.played = replace(self.played, prunes=self.played.prunes + 1)

    def compact(self, planned: Plan) -> None:
        """Carry out a plan, unless the result would not be small enough."""
        window = self.window
        if planned.trigger is None or not planned.does_something:
            return
        work = prepare(planned, self.history, window)
        record = to_record(work, self.setup.summarise(work), "auto")
        self.pay_for(work, record)
        self.edited = True
        shrunk = shrinkage(window, window.estimate(after(self.history, record))) or 0.0
        self.futile = 0 if shrunk >= self.settings.min_shrink else window.tokens
        if shrunk < (self.settings.min_shrink if work.policy.stricter else 0.0):
            return
        later = max(0, round(planned.tokens_before * (1 - shrunk)))
        self.keep(replace(record, tokens_before=planned.tokens_before, tokens_after=later), self.records[-1].time)
        self.played = replace(self.played, compactions=self.played.compactions + 1)

    def pay_for(self, work: SummaryTask, record: Compaction) -> None:
        """Charge for the summary: a model reads the summarised part, and writes."""
        if not work.plan.summarised:
            return
        read = sum(map(self.counter.message, work.gone))
        written = self.counter.text(record.snapshot) + sum(map(self.counter.text, record.replaced.values()))
        prices = self.model.summary_prices or self.model.prices or Prices()
        cost = prices.cost(Usage(input=read, output=written + self.setup.scratchpad))
        self.played = replace(self.played, cost=self.played.cost + cost, summary_cost=self.played.summary_cost + cost)

    def request(self) -> tuple[Request, int]:
        # The model sees, and the user pays for, the prompt after the provider's context editing.
        milestone, seen = self.settings.cache.milestone, as_shown(self.window.view)
        request = assemble(seen, self.system, self.tools, self.model, counter=self.counter, milestone=milestone)
        if self.edited:
            self.broken |= {violation.invariant for violation in check(request, seen)}
            self.edited = False
        return request, self.window.tokens

    def keep(self, to_record: Body, time: str) -> None:
        record = Record(len(self.records) + 1, "", time, "", to_record)
        self.records.append(record)
        self.history = evolve(self.history, record)

    def result(self, planted: Iterable[Fact]) -> Played:
        asked = count_retained(planted, self.window.view, self.records)
        return replace(self.played, sizes=tuple(self.sizes), planted=asked, broken=tuple(sorted(self.broken)))


def _schema(raw: Mapping[str, Any]) -> ToolSchema:
    return ToolSchema(str(raw["name"]), str(raw.get("description") or ""), raw.get("parameters") or {})
