"""The live part of the screen: the unfinished tail, what runs, the question or the input, and the status line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcli.core.sanitise import safe
from agentcli.ui.cells import clip, expand, width, wrap
from agentcli.ui.look import Look, Markdown, duration
from agentcli.ui.pieces import Called
from agentcli.ui.theme import Theme

if TYPE_CHECKING:
    from agentcli.core.record import TodoItem
    from agentcli.ui.dialogs import Dialog
    from agentcli.ui.view import State, Status, Work

MENU_ROWS = 8
RUNNING_ROWS = 5
THOUGHT, THOUGHT_ROWS = 2000, 3
"""Characters of a thought that are looked at while it goes on, and rows that are shown of them."""
ROOMY = 20
"""Rows from which on there is a blank one above the progress line, or above the status line while nothing goes on."""
TODO_ROWS = 8
MARKS_FROM = 100
"""Columns from which on the status line names the marks of the window in words, and not by a letter each."""
ONE_LINE = 1_000
"""Characters of a queued message that are looked at."""
PROVIDER_FROM = 60
"""Columns from which on it names the model's provider."""


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: what is inserted, and what it says."""

    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is being typed: the draft, or the line of a dialog. `chosen` is -1 while no menu item is."""

    text: str = ""
    cursor: int = 0
    menu: tuple[Item, ...] = ()
    chosen: int = -1
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """The terminal, in cells."""

    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Live:
    """The lines that can still change, fewer than the terminal has rows, and where the cursor stands in them."""

    lines: tuple[str, ...]
    cursor: tuple[int, int]


def tail(state: State, size: Size, look: Look, markdown: Markdown) -> list[str]:
    """The end of the block that is still being written; the one costly part of a frame, so it is renewed by the tick only."""
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
    """The end of a growing text, at least `keep` characters of it; where it is cut changes rarely, so that rows do not run."""
    return text[max(len(text) // keep - 1, 0) * keep :]


def draw(state: State, edit: Edit, size: Size, look: Look, unfinished: Sequence[str], now: float) -> Live:
    """The live part; `unfinished` is what `tail` last gave."""
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
    """Enough of a block's end to fill these rows, and its head: a long block must not cost more with each of its lines."""
    lines = source.split("\n")
    if len(lines) > 3 * rows:
        source = "\n".join((*lines[:head], *lines[-2 * rows :]))
    return recent(source, 4 * rows * columns)


def status_line(status: Status, columns: int, theme: Theme) -> str:
    """The facts that `status.shown` names, in that order; what does not fit is left out."""
    line = ""
    for fact in filter(None, (_fact(status, name, columns) for name in status.shown)):
        longer = f"{line} · {fact}" if line else fact
        if width(longer) < columns:
            line = longer
    return theme.paint("dim", line)


def _fact(status: Status, name: str, columns: int) -> str:
    match name:
        case "context" if status.usable:
            return f"ctx {100 * status.used / status.usable:.0f}%{_marks(status, columns)}"
        case "cost" if status.cost is not None:
            return f"${status.cost:.2f}"
        case "model" if columns < PROVIDER_FROM:
            return status.model.rpartition("/")[2]
        case "budget" if status.budget is not None:
            return f"budget {100 * status.budget:.0f}%"
        case "cache" if status.hit_rate is not None:
            return f"cache {100 * status.hit_rate:.0f}%"
        case "jobs" if status.jobs:
            return f"{status.jobs} job{'s' if status.jobs > 1 else ''}"
        case "model" | "mode" | "branch" | "session" | "extra" | "sandbox":
            return str(getattr(status, name))
        case _:
            return ""


def _marks(status: Status, columns: int) -> str:
    """Where pruning begins, and compaction: from where it pays up to where it is made in any case."""
    prunes, early, compacts = (
        f"{100 * size / status.usable:.0f}" if size else "" for size in (status.prunes, status.early, status.soft)
    )
    marks = {"prunes": prunes, "compacts": f"{early}-{compacts}" if early else compacts}
    if columns < PROVIDER_FROM:
        return ""
    if columns < MARKS_FROM:
        words = " ".join(what[0] + share for what, share in marks.items() if share)
    else:
        words = ", ".join(f"{what} {share}%" for what, share in marks.items() if share)
    return f" ({words})" if words else ""


def rows_of(text: str, columns: int, cursor: int) -> tuple[list[str], tuple[int, int]]:
    """An input as rows of at most `columns` cells, and the place of the character at `cursor`."""
    rows: list[str] = []
    row: list[str] = []
    used, place = 0, (0, 0)
    for n, char in enumerate(text):
        shown = "    " if char == "\t" else char if char.isprintable() or char == "\n" else "·"
        if char != "\n" and used + width(shown) > columns:
            rows.append("".join(row))
            row, used = [], 0
        if n == cursor:
            place = (len(rows), used)
        if char == "\n":
            rows.append("".join(row))
            row, used = [], 0
            continue
        row.append(shown)
        used += width(shown)
    if cursor >= len(text):
        place = (len(rows), used)
    return [*rows, "".join(row)], place


def _around(state: State, size: Size, theme: Theme) -> list[str]:
    lines = [theme.paint("dim", clip(f"  steering: {_one_line(words)}", size.columns - 1)) for words in state.steering]
    for n, words in enumerate(state.queue, 1):
        hint = " (Up takes it back)" if n == len(state.queue) and size.columns >= PROVIDER_FROM else ""
        shown = clip(f"  queued: {_one_line(words)}", size.columns - 1 - len(hint))
        lines.append(theme.paint("dim", shown + hint))
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
        lines.append(theme.paint("accent", clip(_progress(doing, state.work, now, size.columns - 1), size.columns - 1)))
    return lines


def _progress(doing: str, work: Work, now: float, columns: int) -> str:
    """What goes on, for how long, the tokens so far, and how to stop it; where that is too long, without the tokens."""
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
    """The list, one line a step; when it is too long, from the last step that is done."""
    done = sum(item.status == "completed" for item in items)
    start = max(0, min(done - 1, len(items) - limit)) if len(items) > limit else 0
    return [_step(item, columns, theme) for item in items[start : start + limit]]


def _step(item: TodoItem, columns: int, theme: Theme) -> str:
    words = safe(item.content).replace("\n", " ")
    match item.status:
        case "completed":
            return theme.paint("dim", clip(f"  ☒ {words}", columns))
        case "in_progress":
            return theme.paint("strong", clip(f"  ◐ {safe(item.active_form) or words}", columns))
        case "pending":
            return clip(f"  ☐ {words}", columns)


def input_lines(edit: Edit, size: Size, theme: Theme) -> tuple[list[str], tuple[int, int]]:
    """What is being typed and the menu under it, and the cursor's place there."""
    columns = max(size.columns - 3, 4)
    rows, (row, column) = rows_of(edit.text, columns, edit.cursor)
    limit = max((size.rows - 4) // 2, 1)
    first = min(max(0, row - limit + 1), max(0, len(rows) - limit)) if len(rows) > limit else 0
    mark = edit.mark or "> "
    lines = [(mark if n == 0 else "  ") + line for n, line in enumerate(rows)][first : first + limit]
    menu = _menu(edit, size, theme)
    return [*lines, *menu], (row - first, column + 2)


def _menu(edit: Edit, size: Size, theme: Theme) -> list[str]:
    room = min(MENU_ROWS, max(size.rows - 6, 1))
    first = max(0, min(edit.chosen - room // 2, len(edit.menu) - room))
    wide = min(max((width(item.label) for item in edit.menu), default=0), size.columns // 2)
    rows = [
        _option(item.label, item.detail, first + n == edit.chosen, wide, size.columns - 1, theme)
        for n, item in enumerate(edit.menu[first : first + room])
    ]
    below = len(edit.menu) - first - room
    return [*rows, *([theme.paint("dim", f"  … {below} more")] if below > 0 else [])]


def _option(label: str, detail: str, chosen: bool, wide: int, columns: int, theme: Theme) -> str:
    label = clip(label, wide)
    line = f"{'❯' if chosen else ' '} {label}" + " " * (wide - width(label))
    line = clip(line, columns)
    rest = columns - width(line) - 2
    shown = theme.paint("accent", line) if chosen else line
    return shown + "  " + theme.paint("dim", clip(detail, rest)) if detail and rest > 8 else shown


def _whole_option(label: str, chosen: bool, columns: int, theme: Theme) -> list[str]:
    """A choice on as many rows as it needs: what is chosen may be a rule, of which every letter counts."""
    rows = wrap(label, max(columns - 5, 8))
    shown = [f"{('❯ ' if chosen else '  ') if n == 0 else ' ' * 5}{row}" for n, row in enumerate(rows)]
    return [theme.paint("accent", row) for row in shown] if chosen else shown


def dialog_lines(dialog: Dialog, edit: Edit, size: Size, theme: Theme) -> tuple[list[str], tuple[int, int]]:
    """A dialog under its line, and where the cursor stands in it."""
    columns = size.columns - 1
    lines = [theme.paint("dim", "─" * columns), *(theme.paint("strong", row) for row in wrap(dialog.title, columns))]
    lines += [clip(row, columns) for row in dialog.body]
    cursor = (len(lines) - 1, 0)
    if dialog.entry is not None:
        rows, (row, column) = rows_of(edit.text, max(columns - width(dialog.entry) - 2, 8), edit.cursor)
        start = len(lines)
        lines += [(dialog.entry if n == 0 else " " * width(dialog.entry)) + line for n, line in enumerate(rows)]
        cursor = (start + row, width(dialog.entry) + column)
    room = max(min(size.rows - len(lines) - 3, 12), 3)
    first = max(0, min(dialog.chosen - room // 2, len(dialog.choices) - room))
    wide = min(max((width(choice.label) for choice in dialog.choices), default=0) + 3, columns * 3 // 4)
    for n, choice in list(enumerate(dialog.choices))[first : first + room]:
        tick = ("[x] " if n in dialog.marked else "[ ] ") if dialog.multiple else ""
        label = f"{n + 1}. {tick}{choice.label}" if dialog.numbered else choice.label
        if n == dialog.chosen and dialog.entry is None:
            cursor = (len(lines), 0)
        if choice.detail or not dialog.numbered:
            lines.append(_option(label, choice.detail, n == dialog.chosen, wide + len(tick), columns, theme))
        else:
            lines += _whole_option(label, n == dialog.chosen, columns, theme)
    if dialog.hint:
        lines += [theme.paint("dim", row) for row in wrap(dialog.hint, columns)]
    return lines, cursor


def _lowest(lines: list[str], cursor: tuple[int, int], room: int) -> tuple[list[str], tuple[int, int]]:
    """At most `room` lines around the cursor, the lower ones first to stay."""
    cut = max(len(lines) - room, 0)
    if cursor[0] < cut:
        return lines[cursor[0] : cursor[0] + room], (0, cursor[1])
    return lines[cut:], (cursor[0] - cut, cursor[1])


def _one_line(text: str) -> str:
    # Of a paste of megabytes only the beginning can be seen.
    return safe(text[:ONE_LINE]).replace("\n", " ⏎ ")


def _short(count: int) -> str:
    return f"{count}" if count < 1000 else f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
