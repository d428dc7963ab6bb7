"""Transcript of a session as lines: everything in force, unfolded."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Compaction, Failure, Prune, Record, Settings
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.subagent_result import calls_of
from agentcli.core.text.terminal import shown
from agentcli.core.text.words import labelled
from agentcli.frontends.terminal.render.attached import attached
from agentcli.frontends.terminal.render.calls import called
from agentcli.frontends.terminal.render.markdown_blocks import Blocks
from agentcli.frontends.terminal.render.pieces import Called, Note, Piece, Printed, Reply, Thought, UserMessage
from agentcli.frontends.terminal.render.scrollback import render
from agentcli.frontends.terminal.render.state import call_title, cleared
from agentcli.frontends.terminal.style import Look, Markdown
from agentcli.system.cells import expand, wrap

_SHOWN_INPUTS = ("command", "prompt")
"""Inputs of calls to show completely if they do not fit into the title, one line."""


class Transcript:
    """Messages of a session as sections of pieces, one section a record; `new` continues after the last one.

    `images` has the numbers of pasted images.
    """

    def __init__(self, journal: Journal, images: dict[str, int] | None = None) -> None:
        self._journal = journal
        self._images = {} if images is None else images
        self._calls: dict[str, ToolCall] = {}
        self._seen = 0

    def new(self) -> list[Sequence[Piece]]:
        """Return the sections of the records since the last call, oldest first; the first call covers all records in force."""
        if self._seen:
            newest = takewhile(lambda record: record.seq > self._seen, self._journal.records(newest_first=True))
            records = list(newest)[::-1]
        else:
            records = in_force(list(self._journal.records()))
        self._seen = max((record.seq for record in records), default=self._seen)
        return [section for record in records if (section := self._section(record))]

    def _section(self, record: Record) -> Sequence[Piece]:
        match record.body:
            case Message(role="user") as message:
                return list(_prompt(message, self._images))
            case Message() as message:
                self._calls |= {call.call_id: call for call in message.calls}
                return list(_reply(message))
            case ToolResult() as result:
                return self._result(result)
            case Compaction(status="compressed") as body:
                return _compaction(body)
            case Prune(cleared=calls, tokens=tokens) if calls:
                return [Note("act", cleared(len(calls), tokens, ""), gap=True)]
            case Settings(model=model, mode=mode) if model or mode:
                changed = " · ".join(filter(None, [model and f"Model: {model}", mode and f"Mode: {mode}"]))
                return [Note("act", safe_line(changed), gap=True)]
            case Failure(message=message):
                return [Note("error", safe(message), gap=True)]
            case _:
                return []

    def _result(self, result: ToolResult) -> Sequence[Piece]:
        call = self._calls.pop(result.call_id, None)
        if result.output_file:
            result = replace(result, output=shown(self._journal.output(result.output_file)) or result.output)
        title = safe_line(result.title) or (call_title(call) if call else result.name)
        given = [str(call.input[name]) for name in _SHOWN_INPUTS if name in call.input] if call else []
        hidden = [safe(text) for text in given if "\n" in text.strip() or text.strip() not in title]
        steps = [f"└ {safe_line(step)}" for step in calls_of(result)]
        printed = [*(_rows(text) for text in hidden), *([tuple(steps)] if steps else [])]
        return [Called(title, result, gap=True), *map(Printed, printed)]


def section_lines(section: Sequence[Piece], columns: int, look: Look, markdown: Markdown) -> list[str]:
    """Return the lines of one section, nothing folded; a call's inputs come between its title and its output."""
    look = replace(look, thinking=True, output_lines=sys.maxsize, diff_lines=sys.maxsize)
    first = section[0]
    if not isinstance(first, Called):
        return render(section, columns, look, markdown)
    gap, head, *output = called(first, columns, look, markdown, whole=True)
    given = [row for piece in section[1:] if isinstance(piece, Printed) for row in _wrapped(piece.lines, columns, look)]
    return [gap, head, *given, *output]


def _wrapped(lines: Sequence[str], columns: int, look: Look) -> list[str]:
    return [look.theme.paint("accent", "  │ ") + row for line in lines for row in wrap(line, max(columns - 5, 8))]


def _rows(text: str) -> tuple[str, ...]:
    return tuple(expand(text.strip("\n")).split("\n"))


def _prompt(message: Message, images: dict[str, int]) -> Iterator[Piece]:
    if message.text.strip():
        yield UserMessage(safe(labelled(message.typed, images)), whole=True)
        if message.typed != message.text:
            yield Printed(tuple(safe(message.text).split("\n")))
        yield from attached(message, images)
    for part in message.parts:
        match part:
            case Text(text=text, source="shell"):
                yield Note("act", safe(text.strip()), gap=True)
            case _:
                pass


def _reply(message: Message) -> Iterator[Piece]:
    for part in message.parts:
        match part:
            case Thinking(text=text) if text.strip():
                yield Thought(safe(text), 0.0)
            case Text(text=text, synthetic=False) if text.strip():
                unfinished, blocks = Blocks().feed(safe(text))
                yield from map(Reply, (*blocks, *unfinished.end()))
            case _:
                pass
    if message.stop == "interrupted":
        yield Note("warn", "Interrupted.", gap=True)


def _compaction(body: Compaction) -> Sequence[Piece]:
    sizes = f"{body.tokens_before:,} → {body.tokens_after:,} tokens"
    head = f"Compaction: {sizes} ({body.trigger}, {body.policy}). The summary:"
    return [Note("act", safe(f"{head}\n\n{body.snapshot.strip()}"), gap=True)]
