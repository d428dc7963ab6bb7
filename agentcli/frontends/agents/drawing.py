"""Drawing of `agentcli agents`: groups of sessions, the chosen one with its question or result, and the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.frontends.agents.view import View, choices
from agentcli.frontends.serve.machine import OVER, Running
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.style import Role, Theme, count, duration
from agentcli.system.cells import clip, expand, fit, width, wrap

GROUPS: Mapping[str, tuple[str, ...]] = {
    "needs you": ("waits",),
    "works": ("works",),
    "done": ("failed", "ended", "stopped", "done"),
    "idle": ("idle",),
}
"""The groups with their states, in the order of the list."""
NONE = ("No session runs.", "`agentcli --bg PROMPT` starts one in the background.")
PREVIEW, RESULT, NOTICE = 10, 6, 4
"""Lines of a question's preview, of a result, and of a notice, that are shown in the list."""
_MARKS: Mapping[str, tuple[Role, str]] = {
    "waits": ("warn", "?"),
    "works": ("accent", "•"),
    "done": ("good", "✓"),
    "failed": ("bad", "✗"),
    "ended": ("bad", "✗"),
    "stopped": ("warn", "■"),
    "idle": ("dim", "·"),
}


def draw(view: View, size: Size, theme: Theme) -> list[str]:
    """Return the rows of the whole screen."""
    columns = size.columns - 1
    body, first, last = _body(view, columns, theme)
    notice = _notice(view, columns, theme)
    room = max(size.rows - 2 - len(notice), 1)
    top = max(min(first - 1, len(body) - room), 0) if last >= room else 0
    shown = [clip(line, columns) for line in body[top : top + room]]
    blank = [""] * (room - len(shown))
    return [_head(view, columns, theme), *shown, *blank, *notice, _keys(view, columns, theme)]


def _head(view: View, columns: int, theme: Theme) -> str:
    counts = {name: sum(row.state in states for row in view.rows) for name, states in GROUPS.items()}
    needs = "needs you" if counts["needs you"] == 1 else "need you"
    texts = [f"{number} {needs if name == 'needs you' else name}" for name, number in counts.items() if number]
    return clip(f"{theme.paint('strong', 'agentcli agents')}  {theme.paint('dim', ' · '.join(texts))}", columns)


def _body(view: View, columns: int, theme: Theme) -> tuple[list[str], int, int]:
    """Return the lines of the list, and the places of the chosen session's first and last line."""
    lines: list[str] = []
    first = last = 0
    for name, states in GROUPS.items():
        rows = [row for row in view.rows if row.state in states]
        if rows:
            lines += ["", theme.paint("heading", name.upper())]
        for row in rows:
            chosen = row.session == view.chosen
            if chosen:
                first = len(lines)
            lines.append(_row(row, chosen, columns, theme))
            if chosen:
                lines += [f"    {line}" for line in _detail(view, row, columns - 4, theme)]
                last = len(lines)
    return lines or ["", *(theme.paint("dim", line) for line in NONE)], first, last


def _row(row: Running, chosen: bool, columns: int, theme: Theme) -> str:
    role, mark = _MARKS[row.state]
    guess = "" if row.shared or row.state in OVER else "?"
    named = 18 if columns < 100 else 30
    facts = _facts(row)
    text = columns - named - 6 - width(facts) - (2 if facts else 0)
    name = fit(safe_line(row.name or row.worktree or row.title or row.session), named)
    middle = fit(clip(safe_line(row.says), max(text, 1)), max(text, 1))
    end = f"  {theme.paint('dim', facts)}" if facts else ""
    marked = theme.paint(role, mark) + (guess or " ")
    return f"{'❯' if chosen else ' '} {marked}{theme.paint('strong', name) if chosen else name}  {middle}{end}"


def _facts(row: Running) -> str:
    cost = "" if row.cost is None else f"${row.cost:.2f}"
    seconds = "" if row.seconds is None else duration(row.seconds)
    tokens = count(row.tokens) if row.tokens else ""
    match row.state:
        case "waits":
            return seconds
        case "works":
            return " ".join(filter(None, (tokens, cost, seconds)))
        case _:
            return " ".join(filter(None, (row.changes, cost)))


def _detail(view: View, row: Running, columns: int, theme: Theme) -> list[str]:
    """Return the lines below the chosen session: its question, or where it works and what it said."""
    if row.questions:
        return question_lines(row.questions[0], len(view.answers), columns, theme, PREVIEW)
    where = [row.folder, row.model, f"branch agentcli/{row.worktree}" if row.worktree else "", row.session]
    text = row.words.strip() if row.state == "works" else ""
    said = wrap(expand(safe(text or row.last)), columns)
    said = said[-RESULT:] if row.state == "works" else said[:RESULT]
    error = [theme.paint("bad", line) for line in wrap(safe_line(row.error), columns)] if row.error else []
    return [*error, *said, theme.paint("dim", clip(safe_line(" · ".join(filter(None, where))), columns))]


def question_lines(
    question: Mapping[str, Any], answered: int, columns: int, theme: Theme, most: int | None = None
) -> list[str]:
    """Return a question as lines, with its choices by number; its preview is cut after `most` lines."""
    offered = [f"{n} {safe_line(label)}" for n, (_, label) in enumerate(choices(question, answered), 1)]
    if question["kind"] == "questions":
        asked = question["questions"][answered]
        number = f" ({answered + 1} of {len(question['questions'])})" if len(question["questions"]) > 1 else ""
        lines = wrap(safe(asked["question"]) + number, columns)
        about = [each["description"] for each in asked["choices"]]
        rows = [f"{one}  {theme.paint('dim', safe_line(why))}" for one, why in zip(offered, about, strict=True)]
        return [theme.paint("strong", line) for line in lines] + [clip(row, columns) for row in rows]
    notes = [question["description"], question["why"]]
    lines = [theme.paint("strong", safe_line(question["title"]))]
    lines += [theme.paint("dim", line) for note in notes if note for line in wrap(safe(note), columns)]
    preview = _preview(question, columns, theme)
    for other in question["others"]:
        preview += [
            "",
            f"Also in this reply: {safe_line(other['title'])}",
            *wrap(expand(safe(other["preview"])), columns),
        ]
    if most is not None and len(preview) > most:
        cut = theme.paint("warn", f"… {plural(len(preview) - most, 'more line')}: v shows the whole question")
        preview = [*preview[:most], cut]
    return [*lines, *preview, *(clip(row, columns) for row in offered)]


def _preview(question: Mapping[str, Any], columns: int, theme: Theme) -> list[str]:
    text = question["preview"].rstrip("\n")
    if question["kind"] == "diff" and text:
        from agentcli.frontends.terminal.render import diff

        return diff.lines(text, columns, theme)
    begins = "$ " if question["kind"] == "command" else ""
    return wrap(begins + expand(safe(text)), columns)


def _notice(view: View, columns: int, theme: Theme) -> list[str]:
    """Return the rows above the keys, at least one: the input, or else the notice."""
    if view.entry is not None:
        return [clip(f"{theme.paint('strong', safe_line(view.entry.title))}: {safe_line(view.entry.text)}▏", columns)]
    return [theme.paint("warn", line) for line in wrap(safe_line(view.notice), columns)[:NOTICE]] or [""]


def _keys(view: View, columns: int, theme: Theme) -> str:
    if view.entry is not None:
        keys: Sequence[str] = ("Enter sends it", "Esc goes back")
    else:
        keys = [*_row_keys(view), "↑↓", "q quit"]
    return theme.paint("dim", clip(" · ".join(keys), columns))


def _row_keys(view: View) -> Sequence[str]:
    row = view.row
    if row is None:
        return ()
    if row.questions:
        offered = len(choices(row.questions[0], len(view.answers)))
        typed = ["t types one"] if row.questions[0]["kind"] == "questions" else []
        return [f"1-{offered} answer" if offered > 1 else "1 answers", *typed, "v whole", "Enter opens", "s stops"]
    if row.state in OVER:
        over = ["Enter opens", "d diff"]
        again = [] if row.state == "done" else ["r resumes"]
        return [*again, *over, *(["m merges", "x discards"] if row.worktree else ["x removes it from the list"])]
    return ["Enter opens", "d diff", *(["s stops"] if row.shared and (row.background or row.state == "works") else [])]
