"""Plain-text narration of events: for dumb terminals, screen readers and logs."""

from __future__ import annotations

from typing import assert_never

from agentcli.frontends.terminal.render import findings
from agentcli.frontends.terminal.render.calls import HEAD_SHARE, brief, changes
from agentcli.frontends.terminal.render.facts import Work
from agentcli.frontends.terminal.render.pieces import (
    Attached,
    Called,
    CalledTogether,
    Findings,
    Finished,
    Note,
    Piece,
    Printed,
    Reply,
    Thought,
    TodoList,
    UserMessage,
)
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.style import Look, duration
from agentcli.system.cells import clip

OUTPUT_LINES = 20
"""Lines printed of a command's output."""
LINE = 10_000
"""Cells of a line: the terminal wraps it."""
TITLE = 100
"""Maximum characters of a call's title; its approval printed all of it."""


def narrate(piece: Piece, look: Look) -> list[str]:
    """Return the lines for a finished piece; empty for the user's own input, which is on the screen already."""
    match piece:
        case Reply(block):
            return [*([""] if block.gap else []), *block.own.split("\n")]
        case UserMessage():
            return []
        case Findings(found):
            return findings.rows(found, LINE, look)
        case Attached(path, size):
            return [f"Attached: {look.near(path)}, {size}"]
        case Thought(text, seconds):
            return [f"Thought for {duration(seconds)}.", *(text.strip().split("\n") if look.thinking else [])]
        case Called():
            return _called(piece, look)
        case CalledTogether(calls):
            return [line for call in calls for line in _called(call, look)]
        case TodoList() | Finished():
            return []  # the list is printed when it changes, and the end of the turn by `ended`
        case Note(kind, text):
            return [{"act": "Note: ", "warn": "Warning: ", "error": "Error: "}[kind] + text]
        case Printed(lines):
            return list(lines)
        case _:
            assert_never(piece)


def began(before: State, after: State, look: Look) -> list[str]:
    """Return the lines for the activities that have just begun."""
    lines = ["Thinking."] if after.thought and not before.thought else []
    if after.writing and after.writing != before.writing:
        lines.append(f"Writing a call: {after.writing}.")
    known = {one.call_id for one in before.running}
    lines += [f"Running: {_title(one.title, look)}" for one in after.running if one.call_id not in known]
    if after.work and after.work.retry and (before.work is None or before.work.retry is not after.work.retry):
        lines.append(f"{after.work.retry.text()}. Ctrl-C stops it.")
    if before.work and after.work and after.work.doing != before.work.doing:
        lines.append(f"{after.work.doing}.")
    return lines


def ended(work: Work, now: float) -> str:
    """Return the duration and tokens of a turn."""
    about = "about " if work.estimated else ""
    tokens = f", {work.sent:,} tokens in, {about}{work.received:,} out" if work.sent or work.received else ""
    return f"Finished after {duration(now - work.since)}{tokens}."


def _called(piece: Called, look: Look) -> list[str]:
    result = piece.result
    status = "Done" if result.status == "success" else result.status.capitalize()
    short = brief(result, look, shown=piece.answered)
    lines = [f"{status}: {_title(piece.title, look)}" + (f", {short}" if short else "")]
    lines += [f"Changed: {file}" for file in changes(piece, look)]
    change = result.metadata.get("diff")
    if isinstance(change, str) and change:
        shown = [] if piece.displayed and not result.failed else change.rstrip("\n").split("\n")
        return [*lines, *shown, *piece.findings]
    if result.failed or result.name in look.for_people or "exit_code" in result.metadata or piece.answered:
        output = result.for_people.rstrip("\n").split("\n")
        first = OUTPUT_LINES if piece.answered else OUTPUT_LINES // HEAD_SHARE if result.failed else 0
        more = len(output) - OUTPUT_LINES
        cut = [f"({more} {'more' if first else 'earlier'} lines left out)"]
        end = output[len(output) - (OUTPUT_LINES - first) :]
        lines += [*output[:first], *cut, *end] if more > 0 else output
    return lines


def _title(title: str, look: Look) -> str:
    return clip(look.near(title), TITLE)
