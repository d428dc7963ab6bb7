"""Live part of the screen: unfinished tail, running calls, dialog or input, status line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.core.event import seconds_left
from agentcli.core.sanitise import safe
from agentcli.core.text.words import labelled, plural
from agentcli.frontends.terminal.render.calls import called, in_one_line
from agentcli.frontends.terminal.render.frame import Edit, Live, Panel, Size
from agentcli.frontends.terminal.render.input_box import dialog_lines, input_lines, lowest
from agentcli.frontends.terminal.render.pieces import Called
from agentcli.frontends.terminal.render.scrollback import as_it_is, todo_lines
from agentcli.frontends.terminal.render.status_line import BAR_FROM, status_line
from agentcli.frontends.terminal.style import Look, Markdown, Theme, count, duration
from agentcli.system.cells import clip, expand, width, wrap

if TYPE_CHECKING:
    from agentcli.core.event import Retrying
    from agentcli.core.record import TodoItem
    from agentcli.frontends.terminal.render.facts import Running, Work
    from agentcli.frontends.terminal.render.state import State

RUNNING_ROWS, RUNNING_OUTPUT = 5, 3
"""Maximum running calls shown, and lines of output of each."""
THOUGHT, THOUGHT_ROWS = 2000, 3
"""Characters of a running thought to lay out, and its rows on the screen."""
ROOMY = 20
"""Minimum rows of the terminal for a blank row above the progress line, or, while idle, above the status line."""
TODO_ROWS, TODO_LEAST = 8, 3
"""Rows of the todo list above the progress line: a third of the terminal's, within these limits."""
ONE_LINE = 1_000
"""Characters of a queued message that are looked at."""


def tail(state: State, size: Size, look: Look, markdown: Markdown) -> list[str]:
    """Return the rows of the unfinished block's end; the one costly part of a frame, renewed only by the tick."""
    block = state.reply.tail
    if block is not None:
        block = replace(block, source=_end(block.source, _HEADS.get(state.reply.kind, 0), look.tail_rows, size.columns))
        rows = markdown(block, size.columns, look)
        limit = _tail_limit(rows, size, look)
        more = [look.theme.paint("dim", "⋮")] if len(rows) > limit else []
        return [*more, *rows[max(len(rows) - limit, 0) + len(more) :]]
    if state.thought:
        rows = wrap(expand(recent(state.thought, THOUGHT).strip()), size.columns - 3)[-THOUGHT_ROWS:]
        return ["", *(look.theme.paint("thought", "  " + row) for row in rows)]
    return []


def _tail_limit(rows: Sequence[str], size: Size, look: Look) -> int:
    """Return how many rows of the tail to show.

    So few rows fit that a smaller window does not push them into the scrollback permanently.
    """
    limit = min(look.tail_rows, max(size.rows // 3, TAIL_LEAST))
    cells = fitting = 0
    for row in reversed(rows):
        cells += max(width(row), TAIL_NARROWEST)
        if fitting >= limit or cells > limit * TAIL_WIDTH:
            break
        fitting += 1
    return max(fitting, min(TAIL_LEAST, limit))


TAIL_LEAST = 3
TAIL_WIDTH, TAIL_NARROWEST = 80, 40
"""Maximum mean cells of the tail's rows, and cells that each row counts at least.

A narrow window makes several rows of a wide row.
"""


def recent(text: str, keep: int) -> str:
    """Return the end of a growing text, at least `keep` characters; the cut moves rarely, so rows do not jitter."""
    return text[max(len(text) // keep - 1, 0) * keep :]


def draw(state: State, edit: Edit, size: Size, look: Look, unfinished: Sequence[str], now: float) -> Live:
    """Return the live part; `unfinished` are the last rows of `tail`."""
    room = max(size.rows - 1, 2)
    if state.dialog is not None:
        notice = [look.theme.paint("warn", clip(row, size.columns - 1)) for row in state.notice.split("\n") if row]
        low, cursor = dialog_lines(state.dialog, edit, size, look.theme, notice)
    else:
        apart = state.printed is not None and state.work is None and size.rows >= ROOMY
        panel = [] if state.panel is None else _panel(state.panel, size, look.theme)
        above = [*([""] if apart else []), *panel, *_around(state, size, look.theme)]
        status = status_line(state.status, size.columns, look.theme)
        low, (row, column) = input_lines(edit, size, look.theme, status)
        low, cursor = lowest([*above, *low], (len(above) + row, column), room)
    calls = _waiting(state.reads, size.columns, look)
    busy = _busy(state, size, look, now, bool(calls or unfinished))
    high = [*calls, *unfinished, *busy][-max(room - len(low), 0) :] if room > len(low) else []
    return Live((*high, *low), (len(high) + cursor[0], cursor[1]))


_HEADS = {"table": 2, "list": 1}
"""Lines at the beginning of a block without which its end would look different."""


def _end(source: str, head: int, rows: int, columns: int) -> str:
    """Return the head of a block, and enough of its end to fill these rows.

    The cost does not grow with the block.
    """
    lines = source.split("\n")
    if len(lines) > 3 * rows:
        source = "\n".join((*lines[:head], *lines[-2 * rows :]))
    return recent(source, 4 * rows * columns)


def _panel(panel: Panel, size: Size, theme: Theme) -> list[str]:
    """Return the tabs, the rows of the open one, and the keys."""
    names = [
        theme.paint("chosen", f"[{label}]") if n == panel.at else theme.paint("dim", f" {label} ")
        for n, label in enumerate(panel.labels)
    ]
    rows = panel.rows[panel.top : panel.top + size.panel]
    keys = f"←→ or Tab switch{' · ↑↓ scroll' if len(panel.rows) > size.panel else ''} · Esc close"
    return [
        clip(f"{theme.paint('accent', f'╭ {panel.title}')}  {''.join(names)}", size.columns - 1),
        *(f"{theme.paint('accent', '│')} {row}".rstrip() for row in rows),
        theme.paint("accent", "╰ ") + theme.paint("dim", clip(keys, size.columns - 3)),
    ]


def _around(state: State, size: Size, theme: Theme) -> list[str]:
    lines: list[str] = []
    waiting = [
        *(("After this step", text) for text in state.steering),
        *(("After this turn", text) for text in state.queue),
    ]
    for n, (when, text) in enumerate(waiting, 1):
        hint = " · ↑ edit" if n == len(waiting) and size.columns >= BAR_FROM else ""
        line = clip(f"  {when}: {_one_line(labelled(text, state.images))}", size.columns - 1 - len(hint))
        lines.append(theme.paint("dim", line + hint))
    if state.notice:
        lines += [theme.paint("warn", clip(row, size.columns - 1)) for row in state.notice.split("\n")]
    return lines[-6:]


def _busy(state: State, size: Size, look: Look, now: float, below_text: bool) -> list[str]:
    theme = look.theme
    lines = _running(state, size, look, now)
    # While a question is open, the program waits for the person.
    if state.work is not None and state.dialog is None:
        todo = _todo(state.todo, size, theme)
        lines += [""] if todo and (lines or below_text) and size.rows >= ROOMY else []
        lines += todo
        lines += [""] if size.rows >= ROOMY else []
        lines.append(_progress_line(_activity(state, state.work), state.work, now, size.columns - 1, theme))
    return lines


def _activity(state: State, work: Work) -> str:
    if state.running and not state.thought:
        return "Running"
    if state.writing:
        from agentcli.core.aliases import like_tool  # imported late: the first paint does not need it

        return f"Preparing {_PREPARED.get(like_tool(state.writing), 'a call')}"
    return "Thinking" if state.thought else work.doing


_PREPARED = {
    "bash": "a command", "edit": "an edit", "write": "a file", "ask_user": "a question",
    "todo": "the todo list", "task": "a task", "exit_plan": "the plan",
}  # fmt: skip
"""Nouns for a call that is being written, by the tool's name."""


def _progress_line(doing: str, work: Work, now: float, columns: int, theme: Theme) -> str:
    if work.retry is not None and now < work.retry_at:
        return theme.paint("warn", clip(_retry(work.retry, work.retry_at - now, columns), columns))
    return theme.paint("accent", clip(_progress(doing, work, now, columns), columns))


LEAST_CAUSE = 12
"""Minimal cells for the cause of a retry before its countdown."""


def _retry(retry: Retrying, wait: float, columns: int) -> str:
    """Return the countdown to a retry: cause, wait, attempt, the key that stops it, and the time limit.

    If it is too long, omit the time limit first, then shorten the cause.
    """
    line = f"✻ {safe(retry.text(wait))} · Esc to stop"
    if width(line) > columns:
        left = f"{replace(retry, reason='').text(wait).removeprefix('. ')} · Esc to stop"
        room = columns - width(left) - 3
        return f"✻ {clip(safe(retry.reason), room)} {left}" if room >= LEAST_CAUSE else f"✻ {left}"
    for more in (f" · gives up in {seconds_left(retry.left)}" if retry.left else "",):
        line = f"{line}{more}" if width(line + more) <= columns else line
    return line


def _progress(doing: str, work: Work, now: float, columns: int) -> str:
    """Return the progress line: activity, duration, tokens, interrupt key; without the tokens if too long."""
    coming = work.received + work.coming
    tokens = [f"↑ {count(work.sent)}"] * bool(work.sent) + [f"↓ {count(coming)} tokens"] * bool(coming)
    for facts in (tokens, []):
        line = f"✻ {doing}… ({' · '.join([duration(now - work.since), *facts, 'Esc to interrupt'])})"
        if width(line) <= columns:
            break
    return line


def _running(state: State, size: Size, look: Look, now: float) -> list[str]:
    running, theme = state.running, look.theme
    lines = [""] if running and not state.reads and (state.printed is not Called or state.bodied) else []
    for one in running[:RUNNING_ROWS]:
        lines += running_lines(one, size.columns, look, now, RUNNING_OUTPUT)
    if len(running) > RUNNING_ROWS:
        lines.append(theme.paint("dim", f"○ and {len(running) - RUNNING_ROWS} more"))
    return lines


def _waiting(calls: Sequence[Called], columns: int, look: Look) -> list[str]:
    """Return the lines of calls that are not printed yet: the newest with its output, the others in one line."""
    if not calls or all(call.body == "none" for call in calls):
        return in_one_line(calls, columns, look) if calls else []
    *others, newest = calls
    before = in_one_line(others, columns, look) if others else []
    return [*before, *called(replace(newest, gap=newest.gap and not others), columns, look, as_it_is)]


def running_lines(one: Running, columns: int, look: Look, now: float, last: int) -> list[str]:
    """Return the line of a running call with the last lines of its output.

    A subagent or a script has its calls as a tree instead.
    """
    facts = [plural(one.calls, "tool use")] if one.calls else []
    facts += [f"{count(one.tokens)} tokens"] if one.tokens else []
    facts += [duration(now - one.since)] if now - one.since >= 1 else []
    about = "".join(f" · {fact}" for fact in facts)
    title = clip(look.near(one.title), max(columns - 2 - width(about), 8))
    rows = [row for row in expand(one.last).split("\n") if row.strip()][-last:]
    marks = [*["├ "] * (len(rows) - 1), "└ "] if one.calls else [""] * len(rows)
    below = [
        look.theme.paint("dim", clip(f"  {mark}{row}", columns - 1)) for mark, row in zip(marks, rows, strict=False)
    ]
    return [clip(f"○ {title}" + look.theme.paint("dim", about), columns), *below]


def _todo(items: Sequence[TodoItem], size: Size, theme: Theme) -> list[str]:
    if not items or all(item.status == "completed" for item in items):
        return []
    return todo_lines(items, size.columns - 1, theme, min(TODO_ROWS, max(size.rows // 3, TODO_LEAST)))


def _one_line(text: str) -> str:
    # Of a huge paste, lay out only the visible beginning.
    return safe(text[:ONE_LINE]).replace("\n", " ⏎ ")
