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
_ROWS = 20_000
"""Lines of a result that are kept in full; beyond, only counted."""


async def grep(
    ctx: ToolContext,
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
    limit = head_limit if head_limit > 0 else ctx.limits.matches
    return await asyncio.to_thread(_grep, ctx, call_id, wanted, path, glob, output_mode, numbers, limit)


def title(given: Mapping[str, Any]) -> str:
    """`Search "def main" in src`."""
    glob = f" ({given['glob']})" if given.get("glob") else ""
    return f'Search "{given.get("pattern", "")}"{inside(given)}{glob}'


def _grep(
    ctx: ToolContext, call_id: str, wanted: Wanted, path: str, glob: str, mode: Mode, numbers: bool, limit: int
) -> ToolOutput:
    with _candidates(ctx, path, glob) as (target, folder, names):
        found = lines(folder, names, wanted, ripgrep(ctx.roots))
        return _output(ctx, call_id, found, prefix(target), mode, numbers, wanted, limit)


def _output(
    ctx: ToolContext,
    call_id: str,
    found: Iterator[Line],
    before: str,
    mode: Mode,
    numbers: bool,
    wanted: Wanted,
    limit: int,
) -> ToolOutput:
    limit = min(limit, ctx.limits.matches)
    if mode == "content":
        printed = _rows(found, before, numbers, ctx.limits.line_characters, bool(wanted.before or wanted.after))
        return _content(ctx, call_id, printed, limit)
    counts = Counter(line.file for line in found if line.matches)
    total = sum(counts.values())
    if not total:
        return _nothing()
    rows = [before + name if mode == "files_with_matches" else f"{before}{name}:{n}" for name, n in counts.items()]
    part = rows[:limit]
    rest = len(rows) - len(part)
    notice = f"{rest:,} more of {plural(len(rows), 'file')}; {plural(total, 'matching line')} in all" if rest else ""
    return truncated(ctx, call_id, part, rows, notice, {"matches": total, "files": len(rows)})


@contextmanager
def _candidates(ctx: ToolContext, path: str, glob: str) -> Iterator[tuple[ResolvedPath, DirHandle, list[str]]]:
    """The folder to search from, held open, and the files in it."""
    target = locate(ctx, path)
    if target.path.is_dir():
        with top(ctx, path) as (target, folder):
            yield target, folder, files(folder.path, glob, ripgrep(ctx.roots))
        return
    if not target.path.is_file():
        raise ToolError(f"{path} is no regular file or folder." if target.path.exists() else f"{path} does not exist.")
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
    if not total:
        return _nothing()
    rest = max(0, total - limit)
    notice = f"{rest:,} more of {plural(total, 'matching line')}" if rest else ""
    return truncated(ctx, call_id, rows[:fitting], rows, notice, {"matches": total})


def _rows(
    found: Iterable[Line], before: str, numbers: bool, characters: int, grouped: bool
) -> Iterator[tuple[bool, str]]:
    """Lines as grep prints them, each with true for a match; in groups, `--` precedes a line that does not follow the last."""
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
