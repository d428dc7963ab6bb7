"""Live part of the screen: unfinished tail, running calls, dialog or input, status line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.core.event import seconds_left
from agentcli.core.sanitise import safe
from agentcli.ui.render.cells import clip, expand, width, wrap
from agentcli.ui.render.frame import Edit, Live, Size
from agentcli.ui.render.input_box import dialog_lines, input_lines
from agentcli.ui.render.scrollback import Called
from agentcli.ui.render.status_line import PROVIDER_FROM, status_line
from agentcli.ui.style import Look, Markdown, Theme, duration

if TYPE_CHECKING:
    from agentcli.core.event import Retrying
    from agentcli.core.record import TodoItem
    from agentcli.ui.render.state import State, Work

RUNNING_ROWS = 5
THOUGHT, THOUGHT_ROWS = 2000, 3
"""Characters of a running thought that are laid out, and rows of them on the screen."""
ROOMY = 20
"""Minimal rows of the terminal for a blank row above the progress line, or, while idle, above the status line."""
TODO_ROWS = 8
ONE_LINE = 1_000
"""Characters of a queued message that are looked at."""


def tail(state: State, size: Size, look: Look, markdown: Markdown) -> list[str]:
    """Rows of the unfinished block's end; the one costly part of a frame, renewed by the tick only."""
    block = state.reply.tail
    if block is not None:
        block = replace(block, source=_end(block.source, _HEADS.get(state.reply.kind, 0), look.tail_rows, size.columns))
        rows = markdown(block, size.columns, look)
        more = [look.theme.paint("dim", "⋮")] if len(rows) > look.tail_rows else []
        return [*more, *rows[-look.tail_rows + len(more) :]]
    if state.thought:
        rows = wrap(expand(recent(state.thought, THOUGHT).strip()), size.columns - 3)[-THOUGHT_ROWS:]
        return ["", *(look.theme.paint("thought", "  " + row) for row in rows)]
    return []


def recent(text: str, keep: int) -> str:
    """End of a growing text, at least `keep` characters; the cut moves rarely, so rows do not jitter."""
    return text[max(len(text) // keep - 1, 0) * keep :]


def draw(state: State, edit: Edit, size: Size, look: Look, unfinished: Sequence[str], now: float) -> Live:
    """The live part; `unfinished` are the last rows of `tail`."""
    room = max(size.rows - 1, 2)
    if state.dialog is not None:
        low, cursor = dialog_lines(state.dialog, edit, size, look.theme)
        low += [look.theme.paint("warn", clip(row, size.columns - 1)) for row in state.notice.split("\n") if row]
        low, cursor = _lowest(low, cursor, room)
    else:
        apart = state.printed is not None and state.work is None and size.rows >= ROOMY
        above = [*([""] if apart else []), *_around(state, size, look.theme)]
        low, (row, column) = input_lines(edit, size, look.theme)
        low, cursor = _lowest([*above, *low], (len(above) + row, column), room)
    high = [*unfinished, *_busy(state, size, look, now)][-max(room - len(low), 0) :] if room > len(low) else []
    return Live((*high, *low), (len(high) + cursor[0], cursor[1]))


_HEADS = {"table": 2, "list": 1}
"""Lines at the beginning of a block without which its end would look otherwise."""


def _end(source: str, head: int, rows: int, columns: int) -> str:
    """Head of a block and enough of its end to fill these rows: the cost must not grow with the block."""
    lines = source.split("\n")
    if len(lines) > 3 * rows:
        source = "\n".join((*lines[:head], *lines[-2 * rows :]))
    return recent(source, 4 * rows * columns)


def _around(state: State, size: Size, theme: Theme) -> list[str]:
    lines = [theme.paint("dim", clip(f"  steering: {_one_line(text)}", size.columns - 1)) for text in state.steering]
    for n, text in enumerate(state.queue, 1):
        hint = " (Up takes it back)" if n == len(state.queue) and size.columns >= PROVIDER_FROM else ""
        line = clip(f"  queued: {_one_line(text)}", size.columns - 1 - len(hint))
        lines.append(theme.paint("dim", line + hint))
    if state.notice:
        lines += [theme.paint("warn", clip(row, size.columns - 1)) for row in state.notice.split("\n")]
    return [*lines[-6:], status_line(state.status, size.columns, theme)]


def _busy(state: State, size: Size, look: Look, now: float) -> list[str]:
    theme = look.theme
    lines = _running(state, size, look, now)
    # While a question is open, it is the person who works.
    if state.work is not None and state.dialog is None:
        lines += _todo(state.todo, size, theme)
        doing = f"Writing {state.writing}" if state.writing else "Thinking" if state.thought else state.work.doing
        if state.running and not state.thought:
            doing = "Running"
        lines += [""] if size.rows >= ROOMY else []
        lines.append(_progress_line(doing, state.work, now, size.columns - 1, theme))
    return lines


def _progress_line(doing: str, work: Work, now: float, columns: int, theme: Theme) -> str:
    if work.retry is not None and now < work.retry_at:
        return theme.paint("warn", clip(_retry(work.retry, work.retry_at - now, columns), columns))
    return theme.paint("accent", clip(_progress(doing, work, now, columns), columns))


def _retry(retry: Retrying, wait: float, columns: int) -> str:
    """Countdown to a retry: cause, wait, attempt, the key that stops it, and how long it is tried; what does not fit is left out."""
    line = f"✻ {safe(retry.text(wait))} · esc to stop"
    for more in (" (all is kept)", f" · gives up in {seconds_left(retry.left)}" if retry.left else ""):
        line = f"{line}{more}" if width(line + more) <= columns else line
    return line


def _progress(doing: str, work: Work, now: float, columns: int) -> str:
    """Progress line: activity, duration, tokens, interrupt key; without the tokens if too long."""
    coming = work.received + work.characters // 4
    tokens = [f"↑ {_short(work.sent)}"] * bool(work.sent) + [f"↓ {_short(coming)} tokens"] * bool(coming)
    for facts in (tokens, []):
        line = f"✻ {doing}… ({' · '.join([duration(now - work.since), *facts, 'esc to interrupt'])})"
        if width(line) <= columns:
            break
    return line


def _running(state: State, size: Size, look: Look, now: float) -> list[str]:
    running, theme = state.running, look.theme
    lines = [""] if running and state.printed is not Called else []
    for one in running[:RUNNING_ROWS]:
        since = f" · {duration(now - one.since)}" if now - one.since >= 1 else ""
        title = clip(look.near(one.title), max(size.columns - 2 - len(since), 8))
        lines.append(clip(f"○ {title}" + theme.paint("dim", since), size.columns))
        if one.last.strip():
            last = [row for row in expand(one.last).split("\n") if row.strip()][-3:]
            lines += [theme.paint("dim", "  " + clip(row, size.columns - 3)) for row in last]
    if len(running) > RUNNING_ROWS:
        lines.append(theme.paint("dim", f"○ and {len(running) - RUNNING_ROWS} more"))
    return lines


def _todo(items: Sequence[TodoItem], size: Size, theme: Theme) -> list[str]:
    if not items or all(item.status == "completed" for item in items):
        return []
    return todo_lines(items, size.columns - 1, theme, TODO_ROWS)


def todo_lines(items: Sequence[TodoItem], columns: int, theme: Theme, limit: int = 1000) -> list[str]:
    """The todo list, one line per step; a long list starts at the last completed step."""
    done = sum(item.status == "completed" for item in items)
    start = max(0, min(done - 1, len(items) - limit)) if len(items) > limit else 0
    return [_step(item, columns, theme) for item in items[start : start + limit]]


def _step(item: TodoItem, columns: int, theme: Theme) -> str:
    text = safe(item.content).replace("\n", " ")
    match item.status:
        case "completed":
            return theme.paint("dim", clip(f"  ☒ {text}", columns))
        case "in_progress":
            return theme.paint("strong", clip(f"  ◐ {safe(item.active_form) or text}", columns))
        case "pending":
            return clip(f"  ☐ {text}", columns)


def _lowest(lines: list[str], cursor: tuple[int, int], limit: int) -> tuple[list[str], tuple[int, int]]:
    """At most `limit` lines around the cursor, the lower ones preferred."""
    cut = max(len(lines) - limit, 0)
    if cursor[0] < cut:
        return lines[cursor[0] : cursor[0] + limit], (0, cursor[1])
    return lines[cut:], (cursor[0] - cut, cursor[1])


def _one_line(text: str) -> str:
    # Of a paste of megabytes only the beginning can be seen.
    return safe(text[:ONE_LINE]).replace("\n", " ⏎ ")


def _short(count: int) -> str:
    return f"{count}" if count < 1000 else f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
