"""Rendering of finished pieces as lines for the scrollback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from agentcli.core.costs import dollars
from agentcli.core.record import TodoItem
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.frontends.terminal.render import findings
from agentcli.frontends.terminal.render.calls import called, together
from agentcli.frontends.terminal.render.markdown_blocks import Block
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
    Waiting,
    each,
)
from agentcli.frontends.terminal.render.spans import Run, written
from agentcli.frontends.terminal.style import Look, Markdown, Theme, count, duration
from agentcli.system.cells import clip, expand, wrap
from agentcli.system.cells import width as _width

MESSAGE_LINES, MESSAGE_CHARACTERS = 40, 8_000
"""A prompt longer than either maximum is cut to a quarter of it."""


def render(pieces: Sequence[Waiting], width: int, look: Look, markdown: Markdown) -> list[str]:
    """Return the lines of at most `width` cells for all pieces, in order."""
    return [line for piece in each(pieces) for line in _piece(piece, width, look, markdown)]


def _piece(piece: Piece, width: int, look: Look, markdown: Markdown) -> list[str]:
    match piece:
        case Reply(block):
            return markdown(block, width, look)
        case UserMessage():
            return ["", *_prompt(piece, width, look.theme)]
        case Thought():
            return _thought(piece, width, look)
        case Attached(path, size):
            return [look.theme.paint("dim", clip(f"  {safe_line(look.near(path))} · {size}", width))]
        case Called():
            return called(piece, width, look, markdown)
        case CalledTogether(calls):
            return together(calls, width, look, markdown)
        case TodoList(items):
            return ["", *todo_lines(items, width, look.theme)]
        case Findings(found):
            return findings.rows(found, width, look)
        case Finished():
            return ["", look.theme.paint("dim", clip(_finished(piece), width))]
        case Note():
            return _note(piece, width, look.theme)
        case Printed(lines):
            return [clip(expand(line), width) for line in lines]
        case _:
            assert_never(piece)


def as_it_is(block: Block, width: int, look: Look) -> list[str]:
    """Return the Markdown source, wrapped: for copying."""
    return [*([""] if block.gap else []), *wrap(expand(block.own), width)]


def todo_lines(items: Sequence[TodoItem], columns: int, theme: Theme, limit: int = 1000) -> list[str]:
    """Return the todo list, one line per step; a long list starts at the last completed step."""
    done = sum(item.status == "completed" for item in items)
    start = max(0, min(done - 1, len(items) - limit)) if len(items) > limit else 0
    return [_step(item, columns, theme) for item in items[start : start + limit]]


def _step(item: TodoItem, columns: int, theme: Theme) -> str:
    text = safe(item.content).replace("\n", " ")
    match item.status:
        case "completed":
            return theme.paint("dim", clip(f"  ✔ {text}", columns))
        case "in_progress":
            return theme.paint("strong", clip(f"  ◐ {safe(item.active_form) or text}", columns))
        case "pending":
            return clip(f"  ☐ {text}", columns)


def _finished(piece: Finished) -> str:
    about, least = ("about ", "at least ") if piece.estimated else ("", "")
    cost = f" · {least}{dollars(piece.cost)}" if piece.cost else ""
    return f"{duration(piece.seconds)} · {count(piece.sent)} in, {about}{count(piece.received)} out{cost}"


def _prompt(message: UserMessage, width: int, theme: Theme) -> list[str]:
    text, left, end = message.text.rstrip("\n"), "", ""
    if message.lines:
        shown = text.split("\n")[: MESSAGE_LINES // 4]
        rest = message.lines - len(shown)
        text, left = "\n".join(shown), plural(rest, "more line") if rest > 0 else ""
    elif not message.whole:
        text, left, end = _ends(text)
    return [
        *_said(text, Run("> ", theme.sgr("accent")), width, theme),
        *([theme.paint("dim", clip(f"  … {left}", width))] if left else []),
        *(_said(end, Run("  "), width, theme) if end else []),
    ]


def _said(text: str, glyph: Run, width: int, theme: Theme) -> list[str]:
    rows = wrap(expand(text), width - 3)
    if theme.bands:
        rows = [row + " " * (width - 2 - _width(row)) for row in rows]
    return [
        written(run.also(theme.sgr("user")) for run in (glyph if n == 0 else Run("  "), Run(row)))
        for n, row in enumerate(rows)
    ]


def _ends(text: str) -> tuple[str, str, str]:
    """Return the beginning of a prompt, a text about the omitted part, and the last line.

    A paste may be megabytes, and the question often follows it.
    """
    lines = text[:MESSAGE_CHARACTERS].split("\n")
    if len(text) <= MESSAGE_CHARACTERS and len(lines) <= MESSAGE_LINES:
        return text, "", ""
    beginning = "\n".join(lines[: MESSAGE_LINES // 4])[: MESSAGE_CHARACTERS // 4]
    end = text[len(beginning) :].rpartition("\n")[2][-MESSAGE_LINES * 10 :]
    rest = text.count("\n") - beginning.count("\n") - (len(end) < len(text) - len(beginning))
    more = f"{rest:,} more lines, " if rest > 0 else ""
    return beginning, f"{more}{len(text) - len(beginning) - len(end):,} more characters", end


def _thought(piece: Thought, width: int, look: Look) -> list[str]:
    took = f" for {duration(piece.seconds)}" if piece.seconds >= 1 else ""
    head = look.theme.paint("thought", f"∴ Thought{took}")
    if not look.thinking:
        return ["", head + look.theme.paint("dim", " (Ctrl-T)")]
    rows = wrap(expand(piece.text.strip()), width - 3)
    return ["", head, *(look.theme.paint("thought", "  " + row) for row in rows)]


def _note(piece: Note, width: int, theme: Theme) -> list[str]:
    role, mark = {"act": ("dim", "·"), "warn": ("warn", "!"), "error": ("bad", "✗")}[piece.kind]
    rows = wrap(expand(piece.text), width - 3)
    lines = [theme.paint(role, f"{mark if n == 0 else ' '} {row}") for n, row in enumerate(rows)]  # type: ignore[arg-type]
    return ["", *lines] if piece.gap else lines
