"""The grep tool: lines, files or counts that match a regular expression."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.tools.glob import inside, prefix
from agentcli.tools.lib.openat import DirHandle, beside, top
from agentcli.tools.lib.paths import ResolvedPath, locate
from agentcli.tools.lib.search import Line, Wanted, files, lines, ripgrep
from agentcli.tools.lib.text import clip, plural
from agentcli.tools.lib.truncate import truncated

Mode = Literal["files_with_matches", "content", "count"]
_KEPT = 20_000
"""Lines of a result that are kept in full; beyond, only counted."""


async def grep(
    work: ToolContext,
    call_id: str,
    pattern: Annotated[str, "Regular expression"],
    path: Annotated[str, "File or folder"] = ".",
    glob: Annotated[str, "Only these files, e.g. *.{ts,tsx}"] = "",
    output_mode: Mode = "files_with_matches",
    ignore_case: Annotated[bool, "", "-i"] = False,
    numbers: Annotated[bool, "", "-n"] = True,
    after: Annotated[int, "", "-A"] = 0,
    before: Annotated[int, "", "-B"] = 0,
    around: Annotated[int, "", "-C"] = 0,
    head_limit: int = 0,
) -> ToolOutput:
    showing = output_mode == "content"
    wanted = Wanted(pattern, ignore_case, max(before, around, 0) * showing, max(after, around, 0) * showing)
    limit = head_limit if head_limit > 0 else work.limits.matches
    return await asyncio.to_thread(_grep, work, call_id, wanted, path, glob, output_mode, numbers, limit)


def title(given: Mapping[str, Any]) -> str:
    """`Search "def main" in src`."""
    glob = f" ({given['glob']})" if given.get("glob") else ""
    return f'Search "{given.get("pattern", "")}"{inside(given)}{glob}'


def _grep(
    work: ToolContext, call_id: str, wanted: Wanted, path: str, glob: str, mode: Mode, numbers: bool, limit: int
) -> ToolOutput:
    with _candidates(work, path, glob) as (place, held, names):
        found = lines(held, names, wanted, ripgrep(work.roots))
        return _shown(work, call_id, found, prefix(place), mode, numbers, wanted, limit)


def _shown(
    work: ToolContext,
    call_id: str,
    found: Iterator[Line],
    before: str,
    mode: Mode,
    numbers: bool,
    wanted: Wanted,
    limit: int,
) -> ToolOutput:
    limit = min(limit, work.limits.matches)
    if mode == "content":
        printed = _rows(found, before, numbers, work.limits.line_characters, bool(wanted.before or wanted.after))
        return _content(work, call_id, printed, limit)
    counts = Counter(line.file for line in found if line.matches)
    total = sum(counts.values())
    if not total:
        return _nothing()
    rows = [before + name if mode == "files_with_matches" else f"{before}{name}:{n}" for name, n in counts.items()]
    shown = rows[:limit]
    rest = len(rows) - len(shown)
    notice = f"{rest:,} more of {plural(len(rows), 'file')}; {plural(total, 'matching line')} in all" if rest else ""
    return truncated(work, call_id, shown, rows, notice, {"matches": total, "files": len(rows)})


@contextmanager
def _candidates(work: ToolContext, path: str, glob: str) -> Iterator[tuple[ResolvedPath, DirHandle, list[str]]]:
    """The folder to search from, held open, and the files in it."""
    place = locate(work, path)
    if place.path.is_dir():
        with top(work, path) as (place, held):
            yield place, held, files(held.path, glob, ripgrep(work.roots))
        return
    if not place.path.is_file():
        raise ToolError(f"{path} is no regular file or folder." if place.path.exists() else f"{path} does not exist.")
    with beside(work, path) as (folder, held, name):
        yield folder, held, [name]


def _content(work: ToolContext, call_id: str, found: Iterable[tuple[bool, str]], limit: int) -> ToolOutput:
    rows: list[str] = []
    shown, total = 0, 0
    for matches, row in found:
        total += matches
        if len(rows) < _KEPT:
            rows.append(row)
        if total <= limit:
            shown = len(rows)
    if not total:
        return _nothing()
    rest = max(0, total - limit)
    notice = f"{rest:,} more of {plural(total, 'matching line')}" if rest else ""
    return truncated(work, call_id, rows[:shown], rows, notice, {"matches": total})


def _rows(
    found: Iterable[Line], before: str, numbers: bool, characters: int, grouped: bool
) -> Iterator[tuple[bool, str]]:
    """Whether it matches, and the line as grep prints it; in groups, `--` stands before one that does not follow the last."""
    last: Line | None = None
    for line in found:
        apart = grouped and last is not None and (last.file != line.file or last.number + 1 != line.number)
        sign = ":" if line.matches else "-"
        number = f"{line.number}{sign}" if numbers else ""
        gap = "--\n" if apart else ""
        yield line.matches, f"{gap}{before}{line.file}{sign}{number}{clip(line.text, characters)}"
        last = line


def _nothing() -> ToolOutput:
    return ToolOutput("No matches.", metadata={"matches": 0})
