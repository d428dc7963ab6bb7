"""Replay of a session's requests with another model's prices and cache rules: the same tokens, another cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from agentcli.context.assemble import Assembler
from agentcli.context.cache_model import PrefixCache, rules_of
from agentcli.context.context_editing import as_shown
from agentcli.context.settings import CacheSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated
from agentcli.context.view import View, grown, view
from agentcli.core.costs import plus
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History, evolve, fold
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import REPLY_TOKENS, ModelSpec, Request, ToolSchema
from agentcli.core.record import Compaction, Failure, FeatureState, Record, Title, Undo
from agentcli.core.subagent_result import spent
from agentcli.extras.lab.emulate import Block, blocks_of, marks, seconds_of
from agentcli.sessions.info import full_name

Price = Callable[[ModelSpec, Usage, Record], float | None]
"""Returns the cost of a model's usage in USD; None if its price is unknown."""
Choice = Callable[[str], ModelSpec]
"""Returns the model that replaces the recorded one with this name."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hypothetical charges of a session: `usage` and `cost` of the replies, `beside` for summaries, titles, subagents
    and the like.

    Costs are in USD, None if no price is known. `charged` is the recorded cost of the same replies, `charged_beside` of
    the rest.
    """

    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    beside: float | None = None
    charged: float | None = None
    charged_beside: float | None = None

    @property
    def total(self) -> float | None:
        """USD for the whole session."""
        return plus(self.cost, self.beside)

    @property
    def total_charged(self) -> float | None:
        """USD that the session was charged."""
        return plus(self.charged, self.charged_beside)


def what_if(records: Iterable[Record], choose: Choice, price: Price) -> Estimate:
    """Replay a session with other models.

    Sends nothing and changes none of the session's settings: its compactions happen as recorded.
    """
    player = _Player(choose, price)
    for record in records:
        player.add(record)
    return player.found


@dataclass(slots=True)
class _Player:
    choose: Choice
    price: Price
    found: Estimate = field(default_factory=Estimate)
    records: list[Record] = field(default_factory=list)
    history: History = field(default_factory=History)
    counter: TokenCounter = field(default_factory=lambda: TokenCounter(Calibrated()))
    cache: PrefixCache = field(default_factory=PrefixCache)
    assembler: Assembler = field(default_factory=Assembler)
    blocks: Sequence[Block] = ()
    """The blocks of the newest request, with their sizes."""
    model: ModelSpec | None = None
    recorded: str = ""
    """The recorded name of the model in use."""
    seen: tuple[History, View] | None = None

    def add(self, record: Record) -> None:
        """Charge what a record spent, and add it to the session."""
        match record.body:
            case Message("assistant", usage=usage) as message:
                name = full_name(message)
                self.recorded, self.model = name, self.choose(name)
                if usage is not None and usage.total:
                    self.ask(record, usage, message.cost)
                # The other model's own thoughts would be sent again, too.
                body = replace(message, provider=self.model.provider, model=self.model.id)
                record = replace(record, body=body)
            case Failure(where=where, usage=usage, cost=cost) if usage.total:
                self.recorded, self.model = where, self.choose(where)
                self.ask(record, usage, cost)
            case Compaction(usage=usage, cost=cost) | Title(usage=usage, cost=cost) if usage.total:
                self.summarise(record, usage, cost)
            case FeatureState(model=model, usage=usage, cost=cost) if usage.total:
                self.delegate(record, model, usage, cost)
            case ToolResult() as result if (told := spent(result))[1].total:
                self.delegate(record, *told)
            case _:
                pass
        self.keep(record)

    def keep(self, record: Record) -> None:
        self.records.append(record)
        self.history = fold(self.records) if isinstance(record.body, Undo) else evolve(self.history, record)

    def ask(self, record: Record, recorded: Usage, cost: float | None) -> None:
        """Charge one request of the conversation: its prompt has the recorded size."""
        model = self.model
        assert model is not None
        request = self.request(model)
        self.blocks = fitted(blocks_of(request, self.counter), self.blocks, recorded.prompt)
        now = seconds_of(self.records[-1].time if self.records else record.time)
        read, written = self.cache.use(self.blocks, marks(request), rules_of(model), now)
        fresh = max(0, recorded.prompt - read - written)
        if charges_writes(model) and recorded.prompt >= model.cache_minimum:
            fresh, written = 0, fresh
        usage = Usage(fresh, recorded.output, recorded.reasoning, read, written)
        self.found = replace(
            self.found,
            requests=self.found.requests + 1,
            usage=self.found.usage + usage,
            cost=plus(self.found.cost, self.price(model, usage, record)),
            charged=plus(self.found.charged, cost),
        )

    def request(self, model: ModelSpec) -> Request:
        """Return the request that a model is sent now."""
        history, tools = self.history, tuple(map(ToolSchema.recorded, self.history.tools))
        shown = grown(history, *self.seen) if self.seen is not None else view(history)
        self.seen = history, shown
        self.counter.use_model(model.id, history.system, tools)
        self.counter.learn(history)
        return self.assembler.assemble(
            as_shown(shown),
            history.system,
            tools,
            model,
            options={},
            max_output=REPLY_TOKENS,
            counter=self.counter,
            milestone=CacheSettings().milestone,
        )

    def summarise(self, record: Record, usage: Usage, cost: float | None) -> None:
        """Charge a request of the model that writes summaries and titles."""
        model = self.model
        if model is None or model.name == self.recorded:
            self.beside(cost, cost)
            return
        prices = model.summary_prices or model.prices
        self.beside(None if prices is None else prices.cost(usage), cost)

    def delegate(self, record: Record, name: str, usage: Usage, cost: float | None) -> None:
        """Charge other requests: at the other model's price if they used the session's own model."""
        model = self.model
        same = model is None or name != self.recorded or model.name == name
        self.beside(cost if same or model is None else self.price(model, usage, record), cost)

    def beside(self, cost: float | None, charged: float | None) -> None:
        self.found = replace(
            self.found,
            beside=plus(self.found.beside, cost),
            charged_beside=plus(self.found.charged_beside, charged),
        )


def charges_writes(model: ModelSpec) -> bool:
    """Return True for a model that caches without marks and charges more for cache writes."""
    return not model.cache_explicit and model.prices is not None and model.prices.cache_write > model.prices.input


def fitted(blocks: Sequence[Block], former: Sequence[Block], prompt: int) -> list[Block]:
    """Return the blocks with sizes that add up to the prompt's recorded size.

    Leading blocks that the previous request had keep their sizes, so that the new ones get what was really added.
    """
    same = 0
    while same < min(len(blocks), len(former)) and blocks[same][0] == former[same][0]:
        same += 1
    known = [tokens for _, tokens in former[:same]]
    new = [tokens for _, tokens in blocks[same:]]
    if prompt - sum(known) < 0 or not sum(new):
        known, new = [], [*known, *new]
    sizes = [*known, *_scaled(new, prompt - sum(known))]
    return [(key, tokens) for (key, _), tokens in zip(blocks, sizes, strict=True)]


def _scaled(sizes: Sequence[int], total: int) -> list[int]:
    """Return the sizes in proportion, as whole numbers that add up to a total."""
    whole, passed, given = sum(sizes), 0, 0
    scaled: list[int] = []
    for size in sizes:
        passed += size
        upto = total * passed // whole if whole else 0
        scaled.append(upto - given)
        given = upto
    return scaled
