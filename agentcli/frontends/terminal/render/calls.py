"""Tool calls as lines: mark, title, brief result, then the diff or the start of the output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from agentcli.core.dataclass import replace
from agentcli.core.message import ToolResult
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.subagent_result import calls_of, spent
from agentcli.core.text.words import plural
from agentcli.core.tool import DECLINED, NO_OUTPUT
from agentcli.frontends.terminal.render import diff
from agentcli.frontends.terminal.render.markdown_blocks import Block
from agentcli.frontends.terminal.render.pieces import FOLDED, Called
from agentcli.frontends.terminal.style import Look, Markdown, Role, Theme, count, duration
from agentcli.system.cells import clip, expand, wrap
from agentcli.system.cells import width as _width

_MARKS = {"success": "●", "error": "✗", "denied": "⊘", "interrupted": "⊘"}
"""Marks of a call's status; no meaning by colour alone."""


def called(piece: Called, width: int, look: Look, markdown: Markdown, whole: bool = False) -> list[str]:
    """Return the line of a call, then its diff or the start of its output; all of it if `whole`."""
    theme, result = look.theme, piece.result
    mark = theme.paint(
        "bad" if result.status == "error" else "warn" if result.failed else "good", _MARKS[result.status]
    )
    above_it = piece.displayed and not (whole or result.failed)
    short = brief(result, look, shown=piece.answered) + (", as shown above" if above_it and not piece.answered else "")
    named = piece.title.partition("(")[0] if above_it and piece.answered else piece.title
    title = clip(expand(look.near(named)), max(width // 2, width - _width(short) - 5))
    head = clip(f"{mark} {title}" + (theme.paint("dim", f" · {short}") if short else ""), width)
    above = [""] if piece.gap else []
    change = result.metadata.get("diff")
    if isinstance(change, str) and change:
        changed = diff.rows(change, width - 2, theme, named=piece.title) if whole or not piece.displayed else ()
        found = [theme.paint("warn", row) for line in piece.findings for row in wrap(line, width - 2)]
        few = _first(_indented(found), None if whole else look.output_lines, width, theme)
        return [*above, head, *_first(_indented(changed), None if whole else look.diff_lines, width, theme), *few]
    files = changes(piece, look) if whole else [*filter(None, [_in_a_row(piece, look, width - 2)])]
    above = [*above, head, *(theme.paint("dim", f"  {clip(row, width - 2)}") for row in files)]
    rows = _output(result, width, look, markdown, whole or piece.answered)
    if piece.answered or (result.name in look.for_people and not result.failed):
        most = look.output_lines if piece.answered else look.diff_lines
        return [*above, *_first(_indented(rows), None if whole else most, width, theme)]
    limit = len(rows) if whole else _limit(piece, look)
    first = limit // HEAD_SHARE if result.failed else 0
    wrapped = len(rows) > result.for_people.strip("\n").count("\n") + 1
    return [*above, *_fold([*_indented(rows)], limit, first, width, theme, "rows" if wrapped else "lines")]


def changes(piece: Called, look: Look) -> list[str]:
    """Return the files that a command changed, each with its changed lines: `src/a.py +3 −1`."""
    rows: list[str] = []
    for file in piece.changed:
        path = expand(look.near(safe_line(str(file.get("path", "")))))
        added, deleted = file.get("additions"), file.get("deletions")
        lines = (
            f"+{added} −{deleted}" if isinstance(added, int) and isinstance(deleted, int) and added + deleted else ""
        )
        how = "new" if file.get("created") else "deleted" if file.get("deleted") else ""
        rows.append(" ".join(filter(None, [path, how, lines])))
    return [*rows, *_more(piece.more_changed)]


def _in_a_row(piece: Called, look: Look, room: int) -> str:
    """Return the changed files that fit in a row, at least one, and the number of the others."""
    files, row = changes(piece, look)[: len(piece.changed)], ""
    for shown in range(len(files), 0, -1):
        row = " · ".join([*files[:shown], *_more(len(files) - shown + piece.more_changed)])
        if _width(row) <= room:
            break
    return row


def _more(count: int) -> list[str]:
    return [f"{count:,} more"] if count else []


def _limit(piece: Called, look: Look) -> int:
    """Return how many rows of a command's output to show.

    A failure gets twice as many. A command that only reads gets few.
    """
    if piece.result.failed:
        return 2 * look.output_lines
    return min(HARMLESS_LINES, look.output_lines) if piece.harmless else look.output_lines


HEAD_SHARE = 3
"""For a long failed output, one in so many shown rows is from its beginning, where the cause often is."""
HARMLESS_LINES = 2
"""Rows of output shown of a command that only reads."""


def together(calls: Sequence[Called], width: int, look: Look, markdown: Markdown) -> list[str]:
    """Return one line for calls that changed no file, then the failed ones whole."""
    failed = [replace(call, gap=False) for call in calls if call.result.failed]
    if len(calls) == 1 and failed:
        return called(calls[0], width, look, markdown)
    return [*in_one_line(calls, width, look), *(row for call in failed for row in called(call, width, look, markdown))]


def in_one_line(calls: Sequence[Called], width: int, look: Look) -> list[str]:
    """Return one line for calls: `Read a.py, b.py · List src`, or numbers; after an empty one where they begin."""
    head = _head(calls[0], width, look, len(calls)) or _named(calls, width, look) or _counted(calls, width, look.theme)
    return ["", head] if calls[0].gap else [head]


def _named(calls: Sequence[Called], width: int, look: Look) -> str:
    """Return a line with what calls read or list. Empty if others are among them, or if it is too long."""
    if any(call.body != "none" for call in calls):
        return ""
    groups: dict[str, list[str]] = {}
    for call in calls:
        verb, _, rest = expand(look.near(call.title)).partition(" ")
        groups.setdefault(verb, [])
        if rest not in groups[verb]:
            groups[verb].append(rest)
    named = " · ".join(f"{verb} {', '.join(names)}" for verb, names in groups.items())
    return f"{look.theme.paint('good', _MARKS['success'])} {named}" if _width(named) <= width - 2 else ""


def _head(call: Called, width: int, look: Look, count: int) -> str:
    """Return the line of a single call without its output; empty if there are several."""
    return called(replace(call, gap=False), width, look, lambda *_: [])[0] if count == 1 else ""


def _counted(calls: Sequence[Called], width: int, theme: Theme) -> str:
    """Return how many calls did what: `Read 4 files, ran 3 commands · 1 failed (Ctrl-O)`."""
    titles: dict[str, set[str]] = {}
    for number, call in enumerate(calls):
        name = call.result.name
        titles.setdefault(name, set()).add(call.title if name in FOLDED else str(number))
    did = [
        _DID.get(name, "made {}").format(plural(len(each), _THINGS.get(name, "call"))) for name, each in titles.items()
    ]
    text = ", ".join(dict.fromkeys(did))
    text = f"{_MARKS['success']} {text[:1].upper()}{text[1:]}"
    failed = sum(call.result.failed for call in calls)
    more = theme.paint("bad", f" · {failed} failed") if failed else ""
    key = theme.paint("dim", " (Ctrl-O)") if _width(text + more) + 9 <= width else ""
    return clip(theme.paint("good", text[:1]) + text[1:] + more + key, width)


_DID = {
    "read": "read {}", "list": "listed {}", "grep": "searched for {}", "glob": "searched for {}", "bash": "ran {}",
    "web_fetch": "fetched {}", "todo": "updated the todo list", "bash_output": "watched {}", "bash_stop": "stopped {}",
    "recall": "recalled {}", "skill": "loaded {}",
}  # fmt: skip
_THINGS = {
    "read": "file", "list": "folder", "grep": "pattern", "glob": "pattern", "bash": "command", "web_fetch": "page",
    "bash_output": "job", "bash_stop": "job", "recall": "passage", "skill": "skill",
}  # fmt: skip
"""What calls of a tool did, and to what."""


def _indented(rows: Iterable[str]) -> Iterator[str]:
    return (f"  {row}" if row else "" for row in rows)


def _first(rows: Iterator[str], limit: int | None, width: int, theme: Theme) -> list[str]:
    """Return the first rows, and a count of the rest, which are made one by one. Without a limit, return all."""
    found, last = [*islice(rows, limit)], [*islice(rows, 1)]
    rest = sum(1 for _ in rows)
    return [*found, *([_left(f"{rest + 1} more", width, theme)] if rest else last)]


def _fold(rows: list[str], limit: int, first: int, width: int, theme: Theme, unit: str) -> list[str]:
    """Return of a command's output the `first` rows, a count, and the last rows."""
    if len(rows) <= limit + 1:
        return rows
    left = _left(f"{len(rows) - limit} {'more' if first else 'earlier'}", width, theme, unit)
    return [*rows[:first], left, *rows[first - limit :]]


def _left(rest: str, width: int, theme: Theme, unit: str = "lines") -> str:
    """Return the line about rows that are left out; wrapped lines are counted as `rows`."""
    text = f"  … {rest} {unit}"
    return theme.paint("dim", clip(f"{text} (Ctrl-O)" if _width(text) + 9 <= width else text, width))


def brief(result: ToolResult, look: Look, shown: bool = False) -> str:
    """Return the brief result of a call; without its number of lines if its output is `shown`."""
    facts: list[str] = []
    data = result.metadata
    if result.status in ("denied", "interrupted"):
        facts.append(result.status)
    if "exit_code" in data and data["exit_code"] is not None:
        facts.append(f"exit {data['exit_code']}")
    if found := _found(result, shown or result.name in look.for_people):
        facts.append(found)
    if data.get("agent") and (tokens := spent(result)[1].total):
        facts.append(f"{count(tokens)} tokens")
    if result.seconds >= 2:
        facts.append(duration(result.seconds))
    return ", ".join(facts)


def _found(result: ToolResult, shown: bool) -> str:
    """Return what a call did or found; empty if there is nothing to report."""
    data = result.metadata
    if data.get("job") and "state" not in data:
        return f"in the background as {data['job']}"
    if data.get("additions") or data.get("deletions"):
        return f"+{data.get('additions', 0)} −{data.get('deletions', 0)}"
    if isinstance(data.get("of"), int):
        return f"{data.get('done', 0)} of {data['of']} done"
    if isinstance(data.get("plan"), str):
        return "approved" if data.get("approved", True) else ""
    if isinstance(data.get("matches"), int):
        return plural(data["matches"], "match")
    if isinstance(data.get("lines"), int):
        return plural(data["lines"], "line")
    if uses := calls_of(result):
        return plural(len(uses), "tool use")
    if shown or result.failed or data.get("diff") or result.output in ("", NO_OUTPUT):
        return ""
    return plural(len(result.output.splitlines()), "line")


def _output(result: ToolResult, width: int, look: Look, markdown: Markdown, whole: bool) -> list[str]:
    """Return the rows of output worth showing at once: of commands and failures."""
    if not (whole or result.failed or result.name in look.for_people or "exit_code" in result.metadata):
        return []
    if isinstance(plan := result.metadata.get("plan"), str):
        return markdown(Block(safe(plan.strip("\n")), gap=False), width - 2, look)
    if isinstance(result.metadata.get("of"), int) and not (whole or result.failed):
        return []  # the list is shown above the input, and printed at the end of the turn
    command = "exit_code" in result.metadata
    role: Role = "dim" if not result.failed or result.status != "error" else "bad"
    # The line above shows the exit code.
    output = result.for_people.rstrip("\n").removesuffix(f"[exit code {result.metadata.get('exit_code')}]").rstrip("\n")
    if result.status == "denied" and output.startswith(DECLINED):
        _, reason, words = output.partition(f"{DECLINED}: ")
        output = f"You said: {words}" if reason else ""
    text = expand(safe(output))
    rows = wrap(text, width - 2) if text else []
    plain = result.name in look.for_people and not result.failed
    return rows if plain or (command and result.failed) else [look.theme.paint(role, row) for row in rows]
