"""Convert a foreign file into records that obey our rules: turns counted, calls answered, compactions by seq."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import count

from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError
from agentcli.core.history import History, evolve_all
from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, Record, Settings, Title, Todo, VerbatimText
from agentcli.extras.importers.sessions.jsonl import REASON
from agentcli.extras.importers.sessions.tools import change, todo_list
from agentcli.sessions.imported import Foreign, Imported, Item, Summary, Timed
from agentcli.sessions.info import first_title

UNANSWERED = "The call was interrupted before it was answered."
MOST_NOTES = 20
"""Maximum number of notes of a session."""
BEGINNING = 40
"""Number of characters that identify a prompt shortened by a compaction."""


def settle(foreign: Foreign) -> Imported:
    """Return the session, ready to be stored. Only results without a call are lost, with a note.

    Raises InputError if there is no message at all.
    """
    if not any(isinstance(item.content, Message | Summary) for item in foreign.items):
        raise InputError("; ".join(("it contains no prompt and no reply", *foreign.notes[:MOST_NOTES])))
    items, orphans = _paired(_told_apart(foreign.items))
    title = foreign.title or _title_from(items)
    first = foreign.time or next((item.time for item in items if item.time), "")
    if title or foreign.name:
        items = [Item(first, Title(title, foreign.name)), *items]
    ledger = _Numbering()
    for item in _with_models(_joined(items)):
        ledger.add(item, first)
    notes = (*foreign.notes, *orphans)
    if len(notes) > MOST_NOTES:
        notes = (*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES} more notes like these")
    model = ledger.state.model
    return Imported(
        foreign.format,
        title,
        foreign.cwd,
        model,
        first,
        tuple(ledger.bodies),
        ledger.state.name or foreign.name,
        notes,
        outputs=foreign.outputs,
    )


def _told_apart(items: Sequence[Item]) -> Sequence[Item]:
    """Give each call a unique id if a program, or a repetitive model, reused one; its result follows it."""
    calls = [call.call_id for item in items if isinstance(item.content, Message) for call in item.content.calls]
    taken = set(calls)
    if len(taken) == len(calls):
        return items
    used: set[str] = set()
    waiting: dict[str, list[str]] = {}
    apart: list[Item] = []
    for item in items:
        content = item.content
        if isinstance(content, Message) and content.calls:
            names: dict[str, list[str]] = {}
            parts = [*content.parts]
            for at, part in enumerate(parts):
                if isinstance(part, ToolCall):
                    name = part.call_id if part.call_id not in used else _unused(part.call_id, taken)
                    used.add(name)
                    taken.add(name)
                    names.setdefault(part.call_id, []).append(name)
                    parts[at] = replace(part, call_id=name)
            waiting |= names
            item = replace(item, content=content.with_parts(tuple(parts)))
        elif isinstance(content, ToolResult) and (of := waiting.get(content.call_id)):
            # The last name stays: a file may report the same result twice.
            item = replace(item, content=replace(content, call_id=of.pop(0) if len(of) > 1 else of[0]))
        apart.append(item)
    return apart


def _unused(call_id: str, taken: Set[str]) -> str:
    return next(name for number in count(2) if (name := f"{call_id}-{number}") not in taken)


def _paired(items: Sequence[Item]) -> tuple[list[Item], list[str]]:
    """Put each result right after the message with its call, in the order of calls. Add one for each unanswered call."""
    results: dict[str, Item] = {}
    notes: list[str] = []
    asked = {call.call_id for item in items if isinstance(item.content, Message) for call in item.content.calls}
    for item in items:
        if isinstance(item.content, ToolResult):
            if item.content.call_id not in asked:
                notes.append(f"a result of {(item.content.name or 'a tool')[:REASON]} answers no call and was left out")
            else:
                results.setdefault(item.content.call_id, item)
    paired: list[Item] = []
    for item in items:
        if isinstance(item.content, ToolResult):
            continue
        paired.append(item)
        if isinstance(item.content, Message):
            paired.extend(_answers(item, item.content, results))
    return paired, notes


def _answers(item: Item, message: Message, results: dict[str, Item]) -> Iterable[Item]:
    for call in message.calls:
        answer = results.get(call.call_id)
        if answer is None:
            yield Item(item.time, ToolResult(call.call_id, call.name, "interrupted", UNANSWERED))
        elif isinstance(answer.content, ToolResult):
            if call.name == "todo" and not answer.content.failed and (items := todo_list(call.input)):
                yield Item(answer.time, Todo(items))
            metadata = (
                {**change(call), **answer.content.metadata} if not answer.content.failed else answer.content.metadata
            )
            yield replace(answer, content=replace(answer.content, name=call.name, metadata=metadata))


def _joined(items: Sequence[Item]) -> Iterable[Item]:
    """Add text that is not the user's own (shell output, reminders) to the user's next message, like an injection."""
    waiting: list[Item] = []
    for item in items:
        content = item.content
        if isinstance(content, Message) and content.role == "user" and not content.is_prompt:
            waiting.append(item)
        elif isinstance(content, Message) and content.role == "user" and waiting:
            parts = tuple(part for former in waiting for part in _parts(former))
            key = waiting[0].key or item.key
            waiting = []
            yield replace(item, content=content.with_parts((*parts, *content.parts)), key=key)
        elif isinstance(content, Settings | Title):
            yield item
        else:
            yield from waiting
            waiting = []
            yield item
    yield from waiting


def _with_models(items: Iterable[Item]) -> Iterable[Item]:
    """Record a change of model before each model's first reply, if the file states models only with replies."""
    current = ""
    for item in items:
        content = item.content
        if isinstance(content, Settings):
            current = content.model or current
        elif isinstance(content, Message) and content.model and content.provider:
            name = f"{content.provider}/{content.model}"
            if name != current:
                current = name
                yield Item(item.time, Settings(model=name))
        yield item


def _parts(item: Item) -> tuple[Text, ...]:
    return (
        tuple(part for part in item.content.parts if isinstance(part, Text))
        if isinstance(item.content, Message)
        else ()
    )


def _unsigned(message: Message) -> Message:
    """Remove the signatures of thoughts: they are valid only for the other program's requests."""
    if not any(isinstance(part, Thinking) for part in message.parts):
        return message
    parts = (Thinking(part.text) if isinstance(part, Thinking) else part for part in message.parts)
    return message.with_parts(tuple(part for part in parts if part != Thinking("")))


class _Numbering:
    """Numbering of items, which tracks the session's state for the `carry` of compactions."""

    def __init__(self) -> None:
        self.bodies: list[Timed] = []
        self.turn = 0
        self._state = History()
        self._since: list[Record] = []
        self.places: dict[str, int] = {}
        self.prompts: list[VerbatimText] = []
        self.start = 0

    def add(self, item: Item, first: str) -> None:
        seq = len(self.bodies) + 1
        if item.key:
            self.places.setdefault(item.key, seq)
        body = self._body(item, seq)
        if not self.start and isinstance(body, Message):
            self.start = seq
        # Results follow the order of their calls, whichever came first.
        time = max(item.time, self.bodies[-1][0] if self.bodies else first)
        self.bodies.append((time, body))
        self._since.append(Record(seq, "", time, "", body))

    @property
    def state(self) -> History:
        """State so far, without its entries, which are not needed here and would make this quadratic."""
        if self._since:
            self._state = replace(evolve_all(self._state, self._since), entries=())
            self._since.clear()
        return self._state

    def _body(self, item: Item, seq: int) -> Body:
        content = item.content
        if isinstance(content, Summary):
            return self._compaction(content, seq)
        if isinstance(content, Message):
            content = _unsigned(content)
            begins = content.is_prompt
            self.turn += begins
            content = replace(content, turn=self.turn)
            if begins:
                self.prompts.append(VerbatimText(seq, content.turn, content.text))
            return content
        return content

    def _compaction(self, summary: Summary, seq: int) -> Compaction:
        first = max(self.places.get(summary.kept_from, seq), self.start)
        covers = (self.start, first - 1)
        self.start = first
        return Compaction(
            trigger=summary.trigger,
            status="compressed",
            policy="imported",
            covers=covers,
            kept_from=first,
            snapshot=summary.text,
            user_words=tuple(self._kept_prompts(summary.prompts, first)),
            tokens_before=summary.tokens_before,
            model=summary.model,
            usage=summary.usage,
            cost=summary.cost,
            carry=self.state.carry,
        )

    def _kept_prompts(self, texts: Sequence[str], before: int) -> Iterable[VerbatimText]:
        """Yield the kept prompts among the covered ones; a shortened one is identified by its beginning."""
        left = [prompt for prompt in self.prompts if prompt.seq < before]
        for text in texts:
            index = next((n for n, prompt in enumerate(left) if prompt.text[:BEGINNING] == text[:BEGINNING]), None)
            if index is not None:
                yield replace(left[index], text=text)
                left = left[index + 1 :]


def _title_from(items: Iterable[Item]) -> str:
    """Return the first line of the first prompt."""
    prompts = (item.content for item in items if isinstance(item.content, Message) and item.content.role == "user")
    return next((title for prompt in prompts if (title := first_title(prompt))), "")
