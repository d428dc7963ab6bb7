"""State of the screen as one immutable value, and its update by events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import assert_never

from agentcli.core import event as happened
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Message, Pieces, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Prune, Record, Todo, TodoItem
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.frontends.run.findings import findings, is_review
from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render.attached import attached, user_message
from agentcli.frontends.terminal.render.facts import Running, Status, Work
from agentcli.frontends.terminal.render.failures import can_be_sent_again, told
from agentcli.frontends.terminal.render.frame import Panel
from agentcli.frontends.terminal.render.markdown_blocks import Blocks
from agentcli.frontends.terminal.render.pieces import (
    SLICE,
    Backlog,
    Called,
    CalledTogether,
    Findings,
    Finished,
    Note,
    Piece,
    Reply,
    Span,
    Thought,
    TodoList,
    Waiting,
)
from agentcli.frontends.terminal.style import count

MAX_ACTS = 200
MAX_TOGETHER = 50
"""Calls in one line of the scrollback."""
MAX_BLOCKS = 100
"""Waiting pieces from which the text of a reply waits as it is."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything on the screen except the input. `finished` waits to be printed once; the rest is live.

    Calls are listed only until they have a result.
    """

    finished: tuple[Waiting, ...] = ()
    reply: Blocks = field(default_factory=Blocks)
    spoke: bool = False
    thought: str = ""
    thinking_since: float = 0.0
    asked_at: float = 0.0
    """Time of the last request, in monotonic seconds."""
    writing: str = ""
    calls: Mapping[str, ToolCall] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    running: tuple[Running, ...] = ()
    work: Work | None = None
    queue: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    todo: tuple[TodoItem, ...] = ()
    todo_changed: bool = False
    dialog: Dialog | None = None
    panel: Panel | None = None
    notice: str = ""
    acts: tuple[str, ...] = ()
    reads: tuple[Called, ...] = ()
    """Results without a body, which wait to be printed together."""
    harmless: frozenset[str] = frozenset()
    """The calls that only read."""
    bodied: bool = False
    displayed: frozenset[str] = frozenset()
    """Calls that were printed completely for their approval."""
    printed: type[Waiting] | None = None
    """Kind of the last printed piece."""
    considered: Thought | None = None
    """The last thought that ended."""
    review: str | None = None
    """The answer so far, if the prompt requests a review."""
    failed: bool = False
    """True after a turn that can be sent again."""
    status: Status = field(default_factory=Status)
    images: dict[str, int] = field(default_factory=dict, compare=False)
    """Numbers of pasted images by name, shared with the input box."""

    def again(self, pieces: Sequence[Piece]) -> State:
        """Return the state with pieces to print again, before all others."""
        return replace(self, finished=(*pieces, *self.finished))

    def add(self, *pieces: Waiting) -> State:
        """Add pieces to print; a note is set apart from the model's text and from output.

        Waiting results are printed first.
        """
        if not pieces:
            return self
        if isinstance(pieces[0], Note) and (self.printed is Reply or self.bodied):
            pieces = (replace(pieces[0], gap=True), *pieces[1:])
        finished = (*self.settle().finished, *pieces)
        return replace(self, finished=finished, printed=type(pieces[-1]), reads=(), bodied=False)

    def hear(self, text: str, whole: Pieces | None = None) -> State:
        """Add text of the reply; if much waits to be printed, or much comes at once, without its finished blocks.

        `whole` is the reply's text so far, if there is one.
        """
        if len(self.finished) < MAX_BLOCKS and len(text) <= SLICE:
            reply, blocks = self.reply.feed(text)
            return replace(self.add(*map(Reply, blocks)), reply=reply)
        reply, found = self.reply, False
        for start in range(0, len(text), 10 * SLICE):
            reply, blocks = reply.feed(text[start : start + 10 * SLICE])
            found = found or bool(blocks)
        last = self.finished[-1] if self.finished else None
        if isinstance(last, Backlog) and last.end is self.reply and not self.reads:
            longer = last.longer(Span.of(text, whole), reply)
            return replace(self, finished=(*self.finished[:-1], longer), reply=reply)
        if not found:
            return replace(self, reply=reply)
        waiting = self.add(Backlog((Span.of(text, whole),), self.reply, reply))
        return replace(waiting, reply=reply, printed=Reply)

    def settle(self) -> State:
        """Print the results that wait for others of their kind."""
        if not self.reads:
            return self
        bodied = any(call.result.failed for call in self.reads)
        return replace(self, finished=(*self.finished, CalledTogether(self.reads)), reads=(), bodied=bodied)

    def begin(self, doing: str, now: float) -> State:
        """Start of work."""
        return replace(self, work=Work(doing, now), notice="", failed=False)

    def end(self) -> State:
        """End work: unfinished parts are printed as they are.

        Steering messages that came too late go with the next prompt.
        """
        return replace(_end_reply(self, 0.0).settle(), work=None, running=(), writing="")

    def act(self, text: str) -> State:
        """Add an automatic action: printed once, listed by `/why`."""
        text = safe(text)
        return replace(self.add(Note("act", text)), acts=(*self.acts, text)[-MAX_ACTS:])


def update(state: State, event: Event, now: float) -> State:
    """Return the state after an event at `now` (monotonic seconds)."""
    match event:
        case happened.TextDelta(text, whole):
            return _hear(_end_thought(state, now), text, whole)
        case happened.ThinkingDelta(text):
            # A provider may send the summary of a long thought at its end: it began with the request.
            since = state.thinking_since if state.thought else min(now, state.asked_at or now)
            return _count(replace(state, thought=state.thought + safe(text), thinking_since=since), len(text))
        case happened.CallDelta(_, name, text):
            return _count(replace(_end_thought(state, now), writing=safe(name)), len(text))
        case happened.ReplyRestarted():
            return _restarted(state)
        case happened.ToolStarted(call, title):
            running = Running(call.call_id, safe_line(title) or call_title(call), now)
            titles = {**state.titles, call.call_id: running.title}
            return replace(state, running=(*state.running, running), titles=titles, writing="")
        case happened.ToolProgress():
            return replace(state, running=tuple(_progress(one, event) for one in state.running))
        case happened.PermissionDecided(call_id, _, "allow", "read-only"):
            return replace(state, harmless=state.harmless | {call_id})
        case happened.PermissionDecided():
            return state
        case happened.Recorded(record):
            return _recorded(state, record, now)
        case happened.UsageReported():
            return _used(state, event)
        case happened.Retrying():
            return _retrying(state, event, now)
        case _:
            return _automatic(state, event, now)


def _restarted(state: State) -> State:
    cut = replace(state, reply=Blocks(), spoke=False, thought="", writing="")
    if not state.spoke:
        return cut
    told = cut.act("The reply was cut off; it starts again below.")
    # Text that was only in the tail disappears from the screen, so it needs no note.
    return told if state.printed is Reply else replace(cut, acts=told.acts)


def call_title(call: ToolCall) -> str:
    """Return the title of a call whose tool gave none: its command, or its name and first text input."""
    if isinstance(command := call.input.get("command"), str):
        return _one_line(f"$ {command}")[:200]
    text = next((value for value in call.input.values() if isinstance(value, str)), "")
    return _one_line(f"{call.name} {text}")[:200]


def _automatic(
    state: State,
    event: happened.CompactionStarted
    | happened.CompactionEnded
    | happened.Pruned
    | happened.Waiting
    | happened.Warned
    | happened.Noticed
    | happened.TurnEnded,
    now: float,
) -> State:
    match event:
        case happened.CompactionStarted():
            return _doing(state, "Compressing")
        case happened.CompactionEnded(trigger, status, _, before, after, why):
            if (trigger, status) == ("overflow", "noop"):  # the error that follows says what to do
                return _doing(state, "Working")
            text = compacted(before, after, why) if status == "compressed" else why if status == "noop" else ""
            text = text or f"Compaction: {status.replace('_', ' ')}. {why}"
            # A manual compaction is reported, too, but is no automatic action.
            state = state.add(Note("act", safe(text))) if trigger == "manual" else state.act(text)
            return _doing(state, "Working")
        case happened.Pruned(calls, tokens, why):
            return state.act(cleared(len(calls), tokens, why))
        case happened.Waiting(delay, reason):
            return state.act(f"Waiting {delay:.0f} s: {reason}")
        case happened.Warned(message):
            return state.add(Note("warn", safe(message)))
        case happened.Noticed(message):
            return state.act(message)
        case happened.TurnEnded():
            return _ended(state, event, now)
        case _:
            assert_never(event)


def _retrying(state: State, event: happened.Retrying, now: float) -> State:
    """Show a retry in the progress line during its delay; afterwards only `/why` lists it."""
    acts = (*state.acts, safe(event.text()))[-MAX_ACTS:]
    work = state.work and replace(state.work, retry=event, retry_at=now + event.delay)
    return replace(state, work=work, acts=acts)


def cleared(calls: int, tokens: int, why: str) -> str:
    """Return the line about cleared outputs, without a number if the window needs room."""
    reason = " to make room" if why.startswith("the window demands") else f" · {why}" if why else ""
    return f"Cleared {plural(calls, 'old tool output')} ({tokens:,} tokens){reason}"


def compacted(before: int, after: int, why: str) -> str:
    """Return the line about a compaction and how to undo it."""
    reason = f" · {why.removesuffix('.')}" if why else ""
    return f"Compacted {count(before)} → {count(after)} tokens{reason} · /uncompress"


def _ended(state: State, event: happened.TurnEnded, now: float) -> State:
    """Add the end of a turn: why it ended, the todo list if it changed, then duration, tokens and cost."""
    work, state = state.work, _with_reason(state.end(), event)
    if event.ending == "done" and state.review and (found := findings(state.review)):
        state = state.add(Findings(found))
    if state.todo_changed and state.todo:
        state = state.add(TodoList(state.todo))
    if work is not None and work.sent:
        state = state.add(Finished(max(now - work.since, 0.0), work.sent, work.received, work.cost, work.estimated))
    return replace(state, todo_changed=False, review=None)


def _with_reason(state: State, event: happened.TurnEnded) -> State:
    match event.ending:
        case "done":
            return state
        case "interrupted":
            following = "Sending your message…" if state.queue or state.steering else "Tell it what to do instead."
            return state.add(Note("warn", f"Interrupted. {following}", gap=True))
        case "failed" | "limit" | "refused" | "incomplete" | "blocked":
            again = can_be_sent_again(event)
            message = told(event.error, again) if event.error else f"The turn ended: {event.ending}."
            return replace(state, failed=again).add(Note("error", safe(message), gap=True))


def _recorded(state: State, record: Record, now: float) -> State:
    body = record.body
    match body:
        case Message(role="user"):
            typed = body.typed
            steering = tuple(text for text in state.steering if text.strip() != typed.strip())
            review = "" if is_review(body) else state.review
            state = replace(state, steering=steering, asked_at=now, review=review)
            return (
                state.add(*user_message(typed, state.images), *attached(body, state.images)) if typed.strip() else state
            )
        case Message():
            if body.text and not state.spoke:
                state = _hear(_end_thought(state, now), body.text)
            calls = {**state.calls, **{call.call_id: call for call in body.calls}}
            review = None if state.review is None else body.text
            state = _cut(state) if body.stop in ("interrupted", "error") else state
            return replace(_end_reply(state, now), calls=calls, writing="", review=review)
        case ToolResult():
            return replace(_answered(state, body), asked_at=now)
        case Todo(items):
            return replace(state, todo=items, todo_changed=True)
        case Failure(usage=usage) if usage != Usage():
            return _cut(state)
        case Prune(cleared=(), reason=reason):  # no event reports a prune that clears nothing
            return state.act(reason)
        case _:
            return state


def _answered(state: State, result: ToolResult) -> State:
    call = state.calls.get(result.call_id)
    title = result.title or state.titles.get(result.call_id) or (call_title(call) if call else result.name)
    called = Called(
        safe_line(title),
        result,
        displayed=result.call_id in state.displayed,
        harmless=result.call_id in state.harmless,
    )
    if not called.folds or len(state.reads) >= MAX_TOGETHER:
        state = state.settle()
    called = replace(called, gap=state.printed is not Called or state.bodied)
    if called.folds:
        state = replace(state, reads=(*state.reads, called), printed=Called, bodied=False)
    else:
        state = replace(state.add(called), bodied=called.body == "whole")
    return replace(
        state,
        running=tuple(one for one in state.running if one.call_id != result.call_id),
        calls={name: one for name, one in state.calls.items() if name != result.call_id},
        titles={name: one for name, one in state.titles.items() if name != result.call_id},
        harmless=state.harmless - {result.call_id},
        displayed=state.displayed - {result.call_id},
    )


def _hear(state: State, text: str, whole: Pieces | None = None) -> State:
    return _count(replace(state.hear(safe(text), whole), spoke=True, writing=""), len(text))


def _end_thought(state: State, now: float) -> State:
    if not state.thought:
        return state
    thought = Thought(state.thought, max(now - state.thinking_since, 0.0))
    return replace(state.add(thought), thought="", considered=thought)


def _end_reply(state: State, now: float) -> State:
    state = _end_thought(state, now)
    return replace(state.add(*map(Reply, state.reply.end())), reply=Blocks(), spoke=False)


def _count(state: State, characters: int) -> State:
    if state.work is None:
        return state
    return replace(state, work=replace(state.work, characters=state.work.characters + characters))


def _doing(state: State, doing: str) -> State:
    return state if state.work is None else replace(state, work=replace(state.work, doing=doing))


def _cut(state: State) -> State:
    """Mark the reply as cut off: its reported tokens may be the count from its start."""
    return state if state.work is None else replace(state, work=replace(state.work, cut=True))


def _used(state: State, event: happened.UsageReported) -> State:
    status = replace(state.status, used=event.context or state.status.used)
    if state.work is None:
        return replace(state, status=status)
    estimate = state.work.coming if state.work.cut else 0
    work = replace(
        state.work,
        sent=state.work.sent + event.usage.prompt,
        received=state.work.received + max(event.usage.output, estimate),
        characters=0,
        cut=False,
        estimated=state.work.estimated or estimate > event.usage.output,
        cost=state.work.cost if event.cost is None else (state.work.cost or 0.0) + event.cost,
    )
    return replace(state, status=status, work=work)


def _progress(one: Running, event: happened.ToolProgress) -> Running:
    if one.call_id != event.call_id:
        return one
    calls, tokens = max(one.calls, event.calls), max(one.tokens, event.tokens)
    return replace(one, last=(one.last + safe(event.text))[-2000:], calls=calls, tokens=tokens)


def _one_line(text: str) -> str:
    return safe(" ".join(text.split()))
