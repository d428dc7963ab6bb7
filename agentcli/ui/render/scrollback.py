"""Finished pieces, and their rendering as lines for the scrollback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from agentcli.core.message import ToolResult
from agentcli.core.sanitise import safe
from agentcli.ui.render import diff
from agentcli.ui.render.cells import clip, expand, wrap
from agentcli.ui.render.cells import width as _width
from agentcli.ui.render.markdown_blocks import Block
from agentcli.ui.style import Look, Markdown, Role, Theme, duration


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A prompt of the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished block of the model's answer."""

    block: Block


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning that is over; it took `seconds`."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call that has its result. `gap`: preceded by a blank line; `displayed`: the approval printed all of it."""

    title: str
    result: ToolResult
    gap: bool = False
    displayed: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A line from the program: an automatic act, a warning, an error. `gap`: preceded by a blank line."""

    kind: Literal["act", "warn", "error"]
    text: str
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """Styled lines of a command's output; text from outside is sanitised."""

    lines: tuple[str, ...]


Piece = UserMessage | Reply | Thought | Called | Note | Printed


MESSAGE_LINES, MESSAGE_CHARACTERS = 40, 8_000
"""A prompt with more of either is displayed to a quarter of it."""


_MARKS = {"success": "●", "error": "✗", "denied": "⊘", "interrupted": "⊘"}
"""Marks of a call's status; no meaning by colour alone."""


def render(pieces: Sequence[Piece], width: int, look: Look, markdown: Markdown) -> list[str]:
    """Lines of at most `width` cells for all pieces, in order."""
    return [line for piece in pieces for line in _piece(piece, width, look, markdown)]


def _piece(piece: Piece, width: int, look: Look, markdown: Markdown) -> list[str]:
    match piece:
        case Reply(block):
            return markdown(block, width, look)
        case UserMessage(text):
            return ["", *_prompt(text, width, look.theme)]
        case Thought():
            return _thought(piece, width, look)
        case Called():
            return called(piece, width, look, markdown)
        case Note():
            return _note(piece, width, look.theme)
        case Printed(lines):
            return [clip(expand(line), width) for line in lines]
        case _:
            assert_never(piece)


def as_it_is(block: Block, width: int, look: Look) -> list[str]:
    """Markdown source, wrapped: for copying."""
    return [*([""] if block.gap else []), *wrap(expand(block.own), width)]


def called(piece: Called, width: int, look: Look, markdown: Markdown, whole: bool = False) -> list[str]:
    """Line of a call, then its diff or the start of its output; all of it if `whole`."""
    theme, result = look.theme, piece.result
    mark = theme.paint(
        "bad" if result.status == "error" else "warn" if result.failed else "good", _MARKS[result.status]
    )
    short = brief(result, look) + (", as shown above" if piece.displayed and not (whole or result.failed) else "")
    title = clip(expand(look.near(piece.title)), max(width // 2, width - _width(short) - 5))
    head = clip(f"{mark} {title}" + (theme.paint("dim", f" · {short}") if short else ""), width)
    above = [""] if piece.gap else []
    change = result.metadata.get("diff")
    if isinstance(change, str) and change:
        rows = diff.lines(change, width - 2, theme, named=piece.title) if whole or not piece.displayed else []
        limit = len(rows) if whole else look.diff_lines
        return [*above, head, *_fold(_indented(rows), limit, theme)]
    rows = _output(result, width, look, markdown, whole)
    if result.name in look.for_people and not result.failed:
        return [*above, head, *_fold(_indented(rows), len(rows) if whole else look.diff_lines, theme)]
    limit = len(rows) if whole else look.output_lines
    return [*above, head, *_fold(_indented(rows), limit, theme, end=True)]


def _indented(rows: Sequence[str]) -> list[str]:
    return [f"  {row}" if row else "" for row in rows]


def _fold(rows: list[str], limit: int, theme: Theme, end: bool = False) -> list[str]:
    """The first rows and a count of the rest; with `end`, for output of commands, the last rows."""
    if len(rows) <= limit + 1:
        return rows
    if end:
        return [theme.paint("dim", f"  … {len(rows) - limit} earlier lines (Ctrl-O)"), *rows[-limit:]]
    return [*rows[:limit], theme.paint("dim", f"  … {len(rows) - limit} more lines (Ctrl-O)")]


def brief(result: ToolResult, look: Look) -> str:
    """Brief result of a call."""
    facts: list[str] = []
    data = result.metadata
    if result.status in ("denied", "interrupted"):
        facts.append(result.status)
    if "exit_code" in data and data["exit_code"] is not None:
        facts.append(f"exit {data['exit_code']}")
    if data.get("job") and "state" not in data:
        facts.append(f"in the background as {data['job']}")
    elif data.get("additions") or data.get("deletions"):
        facts.append(f"+{data.get('additions', 0)} −{data.get('deletions', 0)}")
    elif isinstance(data.get("of"), int):
        facts.append(f"{data.get('done', 0)} of {data['of']} done")
    elif isinstance(data.get("plan"), str):
        facts.append("approved")
    elif isinstance(data.get("matches"), int):
        facts.append(_many(data["matches"], "match", "matches"))
    elif isinstance(data.get("lines"), int):
        facts.append(_many(data["lines"], "line", "lines"))
    elif result.output and result.name not in look.for_people and not result.failed and not data.get("diff"):
        facts.append(_many(len(result.output.splitlines()), "line", "lines"))
    spent = result.ended - result.started
    if spent >= 2:
        facts.append(duration(spent))
    return ", ".join(facts)


def _output(result: ToolResult, width: int, look: Look, markdown: Markdown, whole: bool) -> list[str]:
    """Rows of output worth showing at once: of commands and failures."""
    if not (whole or result.failed or result.name in look.for_people or "exit_code" in result.metadata):
        return []
    if isinstance(plan := result.metadata.get("plan"), str):
        return markdown(Block(safe(plan.strip("\n")), gap=False), width - 2, look)
    role: Role = "bad" if result.status == "error" and "exit_code" not in result.metadata else "dim"
    # The line above tells the exit code.
    output = result.output.rstrip("\n").removesuffix(f"[exit code {result.metadata.get('exit_code')}]").rstrip("\n")
    text = expand(safe(output))
    rows = wrap(text, width - 2) if text else []
    plain = result.name in look.for_people and not result.failed
    return rows if plain else [look.theme.paint(role, row) for row in rows]


def _prompt(text: str, width: int, theme: Theme) -> list[str]:
    text, left = _beginning(text.rstrip("\n"))
    rows = wrap(expand(text), width - 3)
    lines = [theme.paint("user", ("> " if n == 0 else "  ") + row) for n, row in enumerate(rows)]
    return [*lines, *([theme.paint("dim", clip(f"  … {left}", width))] if left else [])]


def _beginning(text: str) -> tuple[str, str]:
    """The displayed part of a prompt, and the size of the rest in words: a paste may be megabytes."""
    lines = text[:MESSAGE_CHARACTERS].split("\n")
    if len(text) <= MESSAGE_CHARACTERS and len(lines) <= MESSAGE_LINES:
        return text, ""
    beginning = "\n".join(lines[: MESSAGE_LINES // 4])[: MESSAGE_CHARACTERS // 4]
    rest = text.count("\n") - beginning.count("\n")
    more = f"{rest:,} more lines, " if rest else ""
    return beginning, f"{more}{len(text) - len(beginning):,} more characters"


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


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
