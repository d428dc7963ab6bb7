"""View of a session, as the model sees it.

It is a pure function of the history, made from the former view if only records were added.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence

from agentcli.context.cleared import cleared_input, cleared_result, cut_input, input_key, is_input_key, keeps_input
from agentcli.context.inject import injections_first, wrap
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History, added, evolve
from agentcli.core.message import File, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Compaction, Prune, Record

ACKNOWLEDGED = "Got it. Thanks for the additional context!"
GO_ON = (
    "The conversation up to here was summarised to make room. Go on with the task from where the summary leaves off: "
    "do not repeat what is done, and do not ask whether to continue."
)
GO_ON_SHORTENED = (
    "Large parts of the conversation up to here were shortened to make room. Go on with the task: "
    "do not repeat what is done, and do not ask whether to continue."
)
WHAT_WAS_DONE = "What did we do so far?"
HIDDEN = Thinking("")
"""Part in place of a thought that the provider leaves out."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the view with its origin and trust."""

    part: Part | ToolResult
    """Content sent to the model: a marker if cleared, a summary if replaced. Injections are not yet wrapped."""
    seq: int
    """The record that it comes from."""
    tier: int
    """Trust: 0 agentcli, 1 the user's own words, 2 the assistant, 3 anything from outside."""
    source: str
    """One of system, user, assistant, tool, reminder, file, compactor."""
    created_at: str
    """ISO 8601 in UTC."""
    tool_use_id: str = ""
    pinned: bool = False
    """Never summarised or cleared."""
    compactable: bool = True
    """May be summarised."""
    cleared: bool = False
    original: Part | ToolResult | None = None
    """The result, call or thought itself if `part` replaces it."""
    held: bool = False
    """True if the provider, not agentcli, decides how the model sees `part`: the original is sent."""

    @property
    def sent(self) -> Part | ToolResult:
        """Part that is sent."""
        return self.original if self.held and self.original is not None else self.part


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """All parts of one side before the other side's next message.

    `seq` is that of its first record, so a split before it keeps it whole. `turn` counts the user's prompts. In a
    user's message, tool results come first, in the order of their calls. Injections and the user's text follow, record
    by record. `usage` was reported with an assistant's message; its output is unreliable after a reply that was `cut`.
    """

    role: Role
    blocks: tuple[Block, ...]
    seq: int
    turn: int
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
    cut: bool = False

    @property
    def is_prompt(self) -> bool:
        """True if it has text or an image of the user, not only results and injections."""
        return "user" in [block.source for block in self.blocks]

    @property
    def has_results(self) -> bool:
        """True if it answers tool calls."""
        return True in [isinstance(block.part, ToolResult) for block in self.blocks]

    @property
    def answer(self) -> str:
        """The model's own text, without thoughts and calls; empty in a user message."""
        texts = [
            block.part.text for block in self.blocks if isinstance(block.part, Text) and block.source == "assistant"
        ]
        return "\n".join(text for text in texts if text.strip())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Tool calls in it, in order."""
        return tuple([block.part for block in self.blocks if isinstance(block.part, ToolCall)])


@dataclass(frozen=True, slots=True)
class View:
    """The messages in the order in which they are sent, and the compaction that they begin with.

    `prunes` were made since that compaction. `pins` are the seqs of pinned messages. `undone` are the ranges in which
    the model saw another view (see History).
    """

    messages: tuple[ViewMessage, ...]
    compaction: Record | None = None
    prunes: tuple[Record, ...] = ()
    pins: frozenset[int] = frozenset()
    undone: tuple[tuple[int, int], ...] = ()
    held_thinking: int = 0
    """Seq of the first record whose thoughts the provider shows to the model; 0: it shows all thoughts."""
    foreseen: Prune | None = None
    """Prune that the provider will make at the next request, not recorded yet."""

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks, oldest first."""
        return (block for message in self.messages for block in message.blocks)

    def is_bound(self, block: Block) -> bool:
        """Return True if a block is a thought from another view; a model may bind its thoughts to the view."""
        return isinstance(block.part, Thinking) and any(start < block.seq < end for start, end in self.undone)


def view(history: History) -> View:
    """Return the current view. New records only append to the view, except for compaction, prune and undo.

    After a compaction, its primers come first. The snapshot with the user's verbatim prompts and the pins follows. Then
    come a one-line acknowledgement, older steps that are needed, the kept messages, and all later ones. After a compaction in the middle of work, a
    message asks the model to continue.
    """
    return view_of(history, tuple(joined(Lens(history).messages())))


def view_of(history: History, messages: tuple[ViewMessage, ...]) -> View:
    """Return the view of a history with these messages."""
    return View(messages, history.compaction, history.prunes, history.pins, history.undone, history.held_thinking)


def after(history: History, body: Compaction | Prune) -> View:
    """Return the view after this edit."""
    return view(evolve(history, Record(history.last_seq + 1, "", "", "", body)))


def replaced_key(block: Block) -> str:
    """Return the key of a block in `Compaction.replaced`.

    It is the id of its call, `#seq` for a record's reminders, or an empty text.
    """
    return block.tool_use_id or (f"#{block.seq}" if block.source == "reminder" else "")


def is_answer(body: Compaction) -> bool:
    """Return True if its summary is shown as the assistant's answer to a question: opencode's form."""
    return body.policy == "opencode"


class Lens:
    """Builder of a view, record by record."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.record = history.compaction
        body = history.compaction.body if history.compaction else None
        self.compaction = body if isinstance(body, Compaction) else None
        prunes = [prune.body for prune in history.prunes if isinstance(prune.body, Prune)]
        edits = [self.compaction, *(prune for prune in prunes if not prune.by)]
        self.outcomes = {call: text for prune in prunes for call, text in prune.outcomes.items()}
        self.replaced = self.compaction.replaced if self.compaction else {}
        self.cuts_inputs = any(map(is_input_key, self.replaced))
        self.shows_all = not (self.replaced or history.cleared or history.held)
        self.thinking_from = max((getattr(edit, "drop_thinking_before", 0) for edit in edits), default=0)

    def messages(self) -> Iterator[ViewMessage]:
        entries = self.history.entries
        if self.compaction is None or self.record is None:
            yield from map(self.message, entries)
            return
        kept_from, now = self.compaction.kept_from, self.record.seq
        older = [self.message(entry) for entry in entries if entry.seq < kept_from]
        if older and older[0].role == "user":  # a request begins with the user
            yield from older
            older = []
        stayed = [*older, *(self.message(entry) for entry in entries if kept_from <= entry.seq < now)]
        stayed = [message for message in stayed if message.blocks]
        came = [self.message(entry) for entry in entries if entry.seq >= max(kept_from, now)]
        yield from self.head(self.record, self.compaction, (stayed or came)[:1])
        yield from stayed
        if self.compaction.continues and stayed and stayed[0].role == "user":
            yield self.go_on(self.record, self.compaction)
        yield from came

    def head(self, record: Record, body: Compaction, following: Sequence[ViewMessage]) -> Iterator[ViewMessage]:
        """Yield the provider's own summary if any, the snapshot and its acknowledgement.

        If the assistant would speak twice in a row, yield the message to continue.
        """
        asked = _asked(record, body)
        if not asked:
            return
        if (made := body.by_provider) is not None:
            question = _by_compactor(record, WHAT_WAS_DONE)
            yield ViewMessage("user", (question,), record.seq, body.carry.turn)
            answer = replace(question, part=made.part)
            yield ViewMessage("assistant", (answer,), record.seq, body.carry.turn, made.provider, made.model)
        yield ViewMessage("user", asked, record.seq, body.carry.turn)
        speaks_next = bool(following) and following[0].role == "assistant"
        if speaks_next and not body.continues and not is_answer(body):
            return
        yield ViewMessage("assistant", (_answered(record, body),), record.seq, body.carry.turn)
        if speaks_next or (body.continues and not following):
            yield self.go_on(record, body)

    def go_on(self, record: Record, body: Compaction) -> ViewMessage:
        text = GO_ON_SHORTENED if body.replaced and body.covers == (0, 0) else GO_ON
        block = Block(Text(text, True, "reminder"), record.seq, 0, "reminder", record.time, compactable=False)
        return ViewMessage("user", (block,), record.seq, body.carry.turn)

    def message(self, record: Record) -> ViewMessage:
        body = record.body
        if isinstance(body, ToolResult):
            return ViewMessage("user", (self.result(record, body),), record.seq, 0)
        if not isinstance(body, Message):
            return ViewMessage("user", (), record.seq, 0)
        if body.role != "user":
            return self.reply(record, body)
        blocks = tuple([self.part(part, record) for part in injections_first(body.parts)])
        return ViewMessage("user", self.summarised_reminders(blocks, record), record.seq, body.turn)

    def reply(self, record: Record, message: Message) -> ViewMessage:
        pinned = record.seq in self.history.pins
        parts = (message.without_thoughts() if record.seq < self.thinking_from else message).parts
        blocks = tuple([Block(part, record.seq, 2, "assistant", record.time, "", pinned) for part in parts])
        if self.replaced and (text := self.replaced.get(f"#{record.seq}")) is not None:
            blocks = _with_text(blocks, text)
        if self.history.cleared_inputs or self.cuts_inputs or record.seq < self.history.held_thinking:
            blocks = tuple(map(self.spoken, blocks))
        cut = message.stop in ("interrupted", "error", None)
        return ViewMessage(
            "assistant", blocks, record.seq, message.turn, message.provider, message.model, message.usage, cut
        )

    def spoken(self, block: Block) -> Block:
        """Return a part of a reply with its cleared input marked, and a hidden thought empty."""
        call = block.part
        if isinstance(call, Thinking) and block.seq < self.history.held_thinking:
            return replace(block, part=HIDDEN, cleared=True, held=True, original=call)
        if not isinstance(call, ToolCall):
            return block
        if self.cuts_inputs and (ends := self.replaced.get(input_key(call.call_id))) is not None:
            return replace(block, part=cut_input(call, ends), cleared=True, original=call)
        if call.call_id not in self.history.cleared_inputs:
            return block
        held = call.call_id in self.history.held
        if not held and keeps_input(call):
            return block
        return replace(block, part=cleared_input(call), cleared=True, held=held, original=call)

    def part(self, part: Part, record: Record) -> Block:
        tier, source = _origin(part)
        pinned = record.seq in self.history.pins
        return Block(part, record.seq, tier, source, record.time, pinned=pinned, compactable=source != "user")

    def summarised_reminders(self, blocks: tuple[Block, ...], record: Record) -> tuple[Block, ...]:
        """Return the parts of a prompt, with a summary in place of its reminders if they were summarised."""
        summary = self.replaced.get(f"#{record.seq}")
        if summary is None:
            return blocks
        block = Block(Text(summary, True, "reminder"), record.seq, 3, "reminder", record.time, compactable=False)
        return (block, *(block for block in blocks if block.source != "reminder"))

    def result(self, record: Record, result: ToolResult) -> Block:
        call, pinned = result.call_id, record.seq in self.history.pins
        if self.shows_all:
            return Block(result, record.seq, 3, "tool", record.time, call, pinned)
        name, status = result.name, result.status
        summary = self.replaced.get(call)
        part = result if summary is None else ToolResult(call, name, status, summary)
        held = call in self.history.held
        cleared = held or (summary is None and call in self.history.cleared)
        original = None if part is result else result
        if cleared:
            original = part if held else result
            part = cleared_result(call, name, status, "" if held else self.outcomes.get(call, ""))
        return Block(
            part,
            record.seq,
            3,
            "tool" if summary is None else "compactor",
            record.time,
            call,
            pinned,
            compactable=summary is None,
            cleared=cleared,
            original=original,
            held=held,
        )


def _with_text(blocks: Sequence[Block], text: str) -> tuple[Block, ...]:
    """Return a reply's blocks with this text in place of its own."""
    first = next((block for block in blocks if isinstance(block.part, Text)), None)
    kept = (block for block in blocks if block is first or not isinstance(block.part, Text))
    cut = Text(text)
    return tuple([replace(block, part=cut, original=block.part) if block is first else block for block in kept])


def joined(messages: Iterable[ViewMessage], reply: ViewMessage | None = None) -> Iterator[ViewMessage]:
    """Join neighbouring messages of the user, without empty ones; `reply` is the message before them."""
    group: list[ViewMessage] = []
    for message in messages:
        if not message.blocks:
            continue
        if message.role == "user":
            group.append(message)
            continue
        if group:
            yield _as_one(group, reply)
            group = []
        yield message
        reply = message
    if group:
        yield _as_one(group, reply)


def _as_one(group: Sequence[ViewMessage], reply: ViewMessage | None) -> ViewMessage:
    """Return the user's message after a reply: results in the order of its calls, then the rest in order."""
    turn = max([message.turn for message in group])
    if reply and reply.turn > turn:
        turn = reply.turn
    if len(group) == 1:
        only = group[0]
        return only if turn == only.turn else ViewMessage("user", only.blocks, only.seq, turn)
    blocks = [block for message in group for block in message.blocks]
    results = [block for block in blocks if isinstance(block.part, ToolResult)]
    if len(results) > 1 and reply:
        order = {call.call_id: n for n, call in enumerate(reply.calls)}
        results.sort(key=lambda block: order.get(block.tool_use_id, len(order)))
    others = [block for block in blocks if not isinstance(block.part, ToolResult)]
    return ViewMessage("user", (*results, *others), min(message.seq for message in group), turn)


def _asked(record: Record, body: Compaction) -> tuple[Block, ...]:
    """Return the user's side of a snapshot: summary, verbatim prompts, pins, skills, and the model's newest answer."""
    opening = WHAT_WAS_DONE if is_answer(body) and body.snapshot else body.snapshot
    blocks = [_by_compactor(record, opening)] if opening else []
    if any(body.stands_for) and not body.snapshot.startswith("<state_snapshot>"):  # that form names them itself
        blocks.append(_by_compactor(record, _coverage(*body.stands_for)))
    for tag, carried in (("user_message", body.user_words), ("pinned", body.pins)):
        for words in carried:
            block = _by_compactor(record, wrap(tag, words.text, turn=words.turn))
            blocks.append(replace(block, tier=1 if tag == "user_message" else 3, pinned=True))
    blocks += [replace(_by_compactor(record, skill.text), pinned=True) for skill in body.skills]
    if body.answer:
        block = _by_compactor(record, wrap("assistant_message", body.answer.text, turn=body.answer.turn))
        blocks.append(replace(block, tier=2, pinned=True))
    return tuple(blocks)


def _answered(record: Record, body: Compaction) -> Block:
    """Return the assistant's side of a snapshot: one line, or in opencode's form the summary itself."""
    return _by_compactor(record, body.snapshot if is_answer(body) and body.snapshot else ACKNOWLEDGED)


def _coverage(first: int, last: int) -> str:
    """Return the line that names the records covered by a snapshot, and the call that finds what it leaves out."""
    return f'[This stands for records {first} to {last}. recall(pattern="…", from={first}, to={last}) finds what it leaves out.]'


def _by_compactor(record: Record, text: str) -> Block:
    return Block(Text(text, True, "compactor"), record.seq, 3, "compactor", record.time, compactable=False)


def _origin(part: Part) -> tuple[int, str]:
    """Return the tier and source of a part of a user message."""
    match part:
        case Text(source="" | "reminder", synthetic=True):
            return 0, "reminder"
        case Text(source="shell" | "inline", synthetic=True):
            return 3, "tool"
        case Text(source="compactor", synthetic=True):
            return 3, "compactor"
        case Text(source="file", synthetic=True) | File():
            return 3, "file"
        case Text(synthetic=True):
            return 3, "reminder"
        case _:
            return 1, "user"


def grown(history: History, former: History, seen: View) -> View:
    """Return the current view. If only records were added to the history since the former view, it is extended."""
    new = added(history, former)
    lens = Lens(history)
    edits = _edits_since(lens, former) if new is not None and former.entries else None
    if new is None or edits is None:
        return view(history)
    if edits:
        seen = view_of(history, tuple(_edited(seen.messages, edits, lens)))
    if not new:
        return seen
    more = [message for message in map(lens.message, new) if message.blocks]
    settled, last = seen.messages, seen.messages[-1:]
    if last and more and last[0].role == more[0].role == "user":  # one message, joined again after the same reply
        settled, more = settled[:-1], [*last, *more]
    return view_of(history, (*settled, *joined(more, settled[-1] if settled else None)))


def _edits_since(lens: Lens, former: History) -> Sequence[Prune] | None:
    """Return the prunes since a former history, or None if anything else changed the beginning of its view."""
    history = lens.history
    known, prunes = len(former.prunes), history.prunes
    unchanged = (
        history.compaction is former.compaction
        and _is_settled(lens, former.entries[-1])
        and history.pins is former.pins
        and history.undone is former.undone
        and history.held_thinking == former.held_thinking
        and len(prunes) >= known
        and all(map(operator.is_, prunes, former.prunes))
    )
    new = [prune.body for prune in prunes[known:] if isinstance(prune.body, Prune)]
    return new if unchanged and not any(prune.drop_thinking_before for prune in new) else None


def _is_settled(lens: Lens, newest: Record) -> bool:
    """Return True unless a later record can change the view: the reply to a snapshot depends on it."""
    if lens.record is None or lens.compaction is None or newest.seq > lens.record.seq:
        return True
    return newest.seq >= lens.compaction.kept_from and bool(lens.message(newest).blocks)


def _edited(messages: Iterable[ViewMessage], prunes: Sequence[Prune], lens: Lens) -> Iterator[ViewMessage]:
    """Return the messages after these prunes; messages without a cleared or restored part are the same objects."""
    calls = {call for prune in prunes for call in (*prune.cleared, *prune.restored)}
    records, inputs = {record.seq: record for record in lens.history.entries}, lens.history.cleared_inputs

    def shown(block: Block) -> Block:
        whole = block.original or block.part
        if isinstance(whole, ToolCall):
            if whole.call_id not in calls or not (block.cleared or whole.call_id in inputs):
                return block
            return lens.spoken(replace(block, part=whole, cleared=False, held=False, original=None))
        if block.tool_use_id not in calls:
            return block
        body = records[block.seq].body
        return lens.result(records[block.seq], body) if isinstance(body, ToolResult) else block

    for message in messages:
        blocks = tuple([shown(block) for block in message.blocks])
        changed = False in map(operator.is_, blocks, message.blocks)
        yield replace(message, blocks=blocks) if changed else message
