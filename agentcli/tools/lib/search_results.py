"""Results of glob and grep: the result of a file search, in the form that a call requests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.text.truncate import clip
from agentcli.core.text.words import plural
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.system import probe
from agentcli.system.resolve import follow, searched
from agentcli.tools.lib.openat import DirHandle, beside, top
from agentcli.tools.lib.paths import ResolvedPath, locate
from agentcli.tools.lib.search import Line, Wanted, basic_readings, files, lines, ripgrep
from agentcli.tools.lib.truncate import truncated

Mode = Literal["content", "files_with_matches", "count"]
_ROWS = 20_000
"""Maximum lines of a result to keep; further ones are only counted."""
Search = Callable[[Wanted], Iterator[Line]]
"""A function that searches the files of a call for a query."""


@dataclass(frozen=True, slots=True)
class Form:
    """Form of a result."""

    mode: Mode
    numbers: bool
    """True if lines have numbers."""
    limit: int
    """Maximum number of matches."""
    prefix: str = ""
    """The prefix of each path."""


def glob_files(ctx: ToolContext, call_id: str, pattern: str, path: str) -> ToolOutput:
    """Return the files that match a pattern, newest first."""
    path, pattern = searched(path, pattern)
    with top(ctx, path) as (target, folder):
        names = files(target.path, pattern, ripgrep(ctx.roots))
        readable = [name for name in names if not ctx.scope.hidden or not _is_hidden(ctx, target.path / name)]
        times = {name: folder.changed(name) for name in readable}
    found = sorted(
        (name for name, time in times.items() if time is not None), key=lambda name: (-(times[name] or 0), name)
    )
    if not found:
        return _left_out(ToolOutput(f"No file matches {pattern}.", metadata={"matches": 0}), len(names) - len(readable))
    hidden = len(names) - len(readable)
    names = [_prefix(target) + name for name in found]
    part = names[: ctx.limits.matches]
    rest = len(names) - len(part)
    notice = f"{len(part)} of {len(names):,} files, newest first; {rest:,} more" if rest else ""
    return _left_out(truncated(ctx, call_id, part, names, notice, {"matches": len(names)}), hidden)


def grep_files(ctx: ToolContext, call_id: str, wanted: Wanted, path: str, glob: str, form: Form) -> ToolOutput:
    """Return the lines, files or counts that match a query."""
    with _candidates(ctx, path, glob) as (target, folder, candidates):
        names = [name for name in candidates if not ctx.scope.hidden or not _is_hidden(ctx, target.path / name)]
        hidden = len(candidates) - len(names)
        if not names:
            text = f"No file{f' matches {glob}' if glob else ''} in {path}; what .gitignore names is left out."
            return _left_out(_nothing(text), hidden)
        search = partial(lines, folder, names, rg=ripgrep(ctx.roots))
        reading, found = _first_reading(search, wanted)
        first = next(found, None)
        if first is None:
            return _left_out(_nothing(_no_matches(search, wanted, len(names), glob)), hidden)
        form = replace(form, prefix=_prefix(target))
        outcome = _output(ctx, call_id, chain([first], found), form, grouped=bool(wanted.before or wanted.after))
    outcome = _left_out(outcome, hidden)
    if reading.pattern == wanted.pattern:
        return outcome
    if reading.pattern == _as_text(wanted.pattern):
        note = f"[{wanted.pattern} is not a regular expression; these lines have it as text]"
    else:
        note = f"[nothing matches {wanted.pattern} as it is written; this matches {reading.pattern}: operators take no backslash here]"
    return replace(outcome, output=f"{note}\n{outcome.output}")


def _first_reading(search: Search, wanted: Wanted) -> tuple[Wanted, Iterator[Line]]:
    """Search for the pattern as written, or for the first other reading that has a match.

    A pattern without a match is read as a basic regular expression, an invalid one as text before that. Raises
    ToolError for a pattern that is invalid as written and has no match in another reading.
    """
    invalid: ToolError | None = None
    for pattern in (wanted.pattern, _as_text(wanted.pattern), *basic_readings(wanted.pattern)):
        if pattern == _as_text(wanted.pattern) != wanted.pattern and invalid is None:
            continue
        reading = replace(wanted, pattern=pattern)
        found = search(reading)
        try:
            first = next(found, None)
        except ToolError as error:
            invalid = error if pattern == wanted.pattern else invalid
            continue
        if first is not None:
            return reading, chain([first], found)
    if invalid is not None:
        raise ToolError(f"{invalid} Its text does not occur either.")
    return wanted, iter(())


def _as_text(pattern: str) -> str:
    return re.sub(r"[\\.^$*+?()\[\]{}|]", r"\\\g<0>", pattern)


def _no_matches(search: Search, wanted: Wanted, searched: int, glob: str) -> str:
    """Return the answer to a query without matches, with a change of the query that would find some."""
    text = f"No matches in {plural(searched, 'file')}{f' ({glob})' if glob else ''}."
    if r"\n" in wanted.pattern:
        text += r" Each line is searched by itself, so \n never matches."
    if wanted.ignore_case:
        return text
    found = [line for line in search(replace(wanted, ignore_case=True, before=0, after=0)) if line.matches]
    return f"{text} {plural(len(found), 'line')} would match with -i (case ignored)." if found else text


def _output(ctx: ToolContext, call_id: str, found: Iterator[Line], form: Form, *, grouped: bool) -> ToolOutput:
    if form.mode == "content":
        return _content(ctx, call_id, _rows(found, form, ctx.limits.line_characters, grouped), form.limit)
    counts = Counter(line.file for line in found if line.matches)
    total = sum(counts.values())
    only_names = form.mode == "files_with_matches"
    rows = [form.prefix + (name if only_names else f"{name}:{n}") for name, n in counts.items()]
    part = rows[: form.limit]
    rest = len(rows) - len(part)
    notice = f"{rest:,} more of {plural(len(rows), 'file')}; {plural(total, 'matching line')} in all" if rest else ""
    return truncated(ctx, call_id, part, rows, notice, {"matches": total, "files": len(rows)})


@contextmanager
def _candidates(ctx: ToolContext, path: str, glob: str) -> Iterator[tuple[ResolvedPath, DirHandle, list[str]]]:
    """Open the folder to search; yield it with the names of its files."""
    target = locate(ctx, path)
    if probe.is_dir(target.path):
        with top(ctx, path) as (target, folder):
            yield target, folder, files(folder.path, glob, ripgrep(ctx.roots))
        return
    if not probe.is_file(target.path):
        raise ToolError(
            f"{path} is not a regular file or folder." if probe.exists(target.path) else f"{path} does not exist."
        )
    with beside(ctx, path) as (target, folder, name):
        yield target, folder, [name]


def _content(ctx: ToolContext, call_id: str, found: Iterable[tuple[bool, str]], limit: int) -> ToolOutput:
    rows: list[str] = []
    fitting, total = 0, 0
    for matches, row in found:
        total += matches
        if len(rows) < _ROWS:
            rows.append(row)
        if total <= limit:
            fitting = len(rows)
    rest = max(0, total - limit)
    notice = f"{rest:,} more of {plural(total, 'matching line')}" if rest else ""
    return truncated(ctx, call_id, rows[:fitting], rows, notice, {"matches": total})


def _rows(found: Iterable[Line], form: Form, characters: int, grouped: bool) -> Iterator[tuple[bool, str]]:
    """Yield lines under the name of their file, each with True for a match.

    With context, `--` precedes a line that does not follow the one before it.
    """
    last: Line | None = None
    for line in found:
        above = ""
        if last is None or last.file != line.file:
            above = f"{'' if last is None else chr(10)}{form.prefix}{line.file}\n"
        elif grouped and last.number + 1 != line.number:
            above = "--\n"
        number = f"{line.number}{':' if line.matches else '-'}" if form.numbers else ""
        yield line.matches, f"{above}{number}{clip(line.text, characters)}"
        last = line


def _nothing(text: str) -> ToolOutput:
    return ToolOutput(text, metadata={"matches": 0})


def _prefix(target: ResolvedPath) -> str:
    """Return the prefix that makes a found path valid for other tools."""
    return "" if target.display == "." else f"{target.display.rstrip('/')}/"


def _is_hidden(ctx: ToolContext, path: Path) -> bool:
    """Return True if a rule denies reading a path's target."""
    real = follow(str(path))
    return any(real.is_relative_to(hidden) for hidden in ctx.scope.hidden)


def _left_out(output: ToolOutput, count: int) -> ToolOutput:
    """Add a note on the number of files that deny rules keep from being read."""
    if not count:
        return output
    return replace(
        output, output=f"{output.output}\n[left out: {plural(count, 'file')} that deny rules keep from being read]"
    )
