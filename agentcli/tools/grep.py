"""The grep tool: lines, files or counts that match a regular expression."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.schema import WireName
from agentcli.core.text.plural import plural
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.system import probe
from agentcli.tools.entry import Entry
from agentcli.tools.glob import inside, is_hidden, left_out, prefix

if TYPE_CHECKING:
    from agentcli.tools.lib.openat import DirHandle
    from agentcli.tools.lib.paths import ResolvedPath
    from agentcli.tools.lib.search import Line, Wanted

Mode = Literal["content", "files_with_matches", "count"]
_ROWS = 20_000
"""Lines of a result that are kept in full; further ones are only counted."""

Search = Callable[["Wanted"], Iterator["Line"]]
"""A function that searches the files of a call for a query."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of a result: its mode, line numbers or none, the maximum number of matches, and the prefix of each path."""

    mode: Mode
    numbers: bool
    limit: int
    prefix: str


async def grep(
    ctx: ToolContext,
    call_id: str,
    pattern: str,
    path: str = ".",
    glob: str = "",
    output_mode: Mode = "content",
    ignore_case: Annotated[bool, WireName("-i")] = False,
    numbers: Annotated[bool, WireName("-n")] = True,
    after: Annotated[int, WireName("-A")] = 0,
    before: Annotated[int, WireName("-B")] = 0,
    around: Annotated[int, WireName("-C")] = 0,
    head_limit: int = 0,
) -> ToolOutput:
    from agentcli.tools.lib.search import Wanted

    content = output_mode == "content"
    wanted = Wanted(pattern, ignore_case, max(before, around, 0) * content, max(after, around, 0) * content)
    limit = min(head_limit if head_limit > 0 else ctx.limits.matches, ctx.limits.matches)
    form = _Form(output_mode, numbers, limit, "")
    return await asyncio.to_thread(_grep, ctx, call_id, wanted, path, glob, form)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Search "def main" in src`."""
    glob = f" ({given['glob']})" if given.get("glob") else ""
    return f'Search "{given.get("pattern", "")}"{inside(given)}{glob}'


def _grep(ctx: ToolContext, call_id: str, wanted: Wanted, path: str, glob: str, form: _Form) -> ToolOutput:
    from agentcli.tools.lib.search import lines, ripgrep

    with _candidates(ctx, path, glob) as (target, folder, candidates):
        names = [name for name in candidates if not ctx.scope.hidden or not is_hidden(ctx, target.path / name)]
        hidden = len(candidates) - len(names)
        if not names:
            text = f"No file{f' matches {glob}' if glob else ''} in {path}; what .gitignore names is left out."
            return left_out(_nothing(text), hidden)
        search = partial(lines, folder, names, rg=ripgrep(ctx.roots))
        reading, found = _first_reading(search, wanted)
        first = next(found, None)
        if first is None:
            return left_out(_nothing(_no_matches(search, wanted, len(names), glob)), hidden)
        form = replace(form, prefix=prefix(target))
        outcome = _output(ctx, call_id, chain([first], found), form, grouped=bool(wanted.before or wanted.after))
    outcome = left_out(outcome, hidden)
    if reading.pattern == wanted.pattern:
        return outcome
    note = f"[nothing matches {wanted.pattern} as it is written; this matches {reading.pattern}: operators take no backslash here]"
    return replace(outcome, output=f"{note}\n{outcome.output}")


def _first_reading(search: Search, wanted: Wanted) -> tuple[Wanted, Iterator[Line]]:
    """Search for the pattern as written; if it has no match or is invalid, for its first basic reading that has one.

    Raises ToolError for a pattern that is invalid as written and has no match in another reading.
    """
    from agentcli.tools.lib.search import basic_readings

    invalid: ToolError | None = None
    for pattern in (wanted.pattern, *basic_readings(wanted.pattern)):
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
        raise invalid
    return wanted, iter(())


def _no_matches(search: Search, wanted: Wanted, searched: int, glob: str) -> str:
    """Return the answer to a query without matches, with a change of the query that would find some."""
    text = f"No matches in {plural(searched, 'file')}{f' ({glob})' if glob else ''}."
    if r"\n" in wanted.pattern:
        text += r" Each line is searched by itself, so \n never matches."
    if wanted.ignore_case:
        return text
    found = [line for line in search(replace(wanted, ignore_case=True, before=0, after=0)) if line.matches]
    return f"{text} {plural(len(found), 'line')} would match with -i (case ignored)." if found else text


def _output(ctx: ToolContext, call_id: str, found: Iterator[Line], form: _Form, *, grouped: bool) -> ToolOutput:
    from agentcli.tools.lib.truncate import truncated

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
    from agentcli.tools.lib.openat import beside, top
    from agentcli.tools.lib.paths import locate
    from agentcli.tools.lib.search import files, ripgrep

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
    from agentcli.tools.lib.truncate import truncated

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


def _rows(found: Iterable[Line], form: _Form, characters: int, grouped: bool) -> Iterator[tuple[bool, str]]:
    """Yield lines under the name of their file, each with True for a match.

    With context, `--` precedes a line that does not follow the one before it.
    """
    from agentcli.core.text.truncate import clip

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


GREP = Entry("grep", grep, title, Traits("read", Subject("path", "folder", name_filter="glob")))
