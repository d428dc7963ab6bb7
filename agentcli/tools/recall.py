"""The recall tool: results of former calls of this session, also cleared, summarised or cut ones."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from agentcli.core.errors import ToolError
from agentcli.core.message import ToolResult
from agentcli.core.tool import ToolContext, ToolLimits, ToolOutput
from agentcli.tools.lib.text import clip, plural
from agentcli.tools.lib.truncate import fitting

_LINES_EACH = 5
"""Matching lines listed of each result when several are searched."""


async def recall(
    ctx: ToolContext,
    call_id: str,
    id: Annotated[str, "Id of a former call, as markers and notices name it"] = "",
    pattern: Annotated[str, "Regular expression"] = "",
    offset: Annotated[int, "First line, from 1"] = 1,
    limit: int = 0,
) -> ToolOutput:
    regex = _compiled(pattern)
    with _time_limit(ctx.limits.pattern_seconds):
        if id:
            return _one(ctx, id, regex, offset, limit)
        if not pattern:
            raise ToolError("Give an id to see one result, or a pattern to search all of them.")
        return _overview(ctx.search_results(pattern), regex, ctx.limits)


def title(given: Mapping[str, Any]) -> str:
    """`Recall call_7 "Error"`."""
    pattern = f' "{given["pattern"]}"' if given.get("pattern") else ""
    return f"Recall {given.get('id') or 'results'}{pattern}"


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Time limit for regex matching (SIGALRM): raises ToolError in a search that takes longer, since some would not end for years.

    Only for code that does not await; elsewhere than in the main thread nothing is bounded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise ToolError(
            f"The pattern takes longer than {seconds:g} s here. Make it simpler: no repetition inside another one."
        )

    # The re module looks for signals while it matches, so that a timer can end what nothing else could.
    handler = signal.signal(signal.SIGALRM, stop)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, handler)


def _one(ctx: ToolContext, call_id: str, regex: re.Pattern[str], offset: int, limit: int) -> ToolOutput:
    found = ctx.find_result(call_id)
    if found is None:
        raise ToolError(f"No call {call_id} in this session. Search with a pattern instead.")
    result, whole = found
    lines = [(n, line) for n, line in enumerate(whole.split("\n"), 1) if n >= offset and regex.search(line)]
    numbers = bool(regex.pattern) and not _has_numbers(result, whole)
    return _page(result, lines, limit, ctx.limits, numbers)


def _has_numbers(result: ToolResult, whole: str) -> bool:
    """True if the lines of a result begin with the numbers that they have in a file."""
    return "lines" in result.metadata and re.match(r" *\d+\t", whole) is not None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error


def _page(
    result: ToolResult, lines: Sequence[tuple[int, str]], limit: int, limits: ToolLimits, numbers: bool
) -> ToolOutput:
    count = min(limit, limits.read_lines) if limit > 0 else limits.read_lines
    rows = fitting(lines[:count], limits, numbers=numbers)
    head = f"[{result.name}: {result.title or result.call_id}, {result.status}]"
    if not lines:
        return ToolOutput(f"{head}\nNothing there.")
    rest = len(lines) - len(rows)
    after = f"\n[{plural(rest, 'more line')}; go on with offset={lines[len(rows)][0]}]" if rest else ""
    return ToolOutput("\n".join([head, *rows]) + after, truncated=bool(rest))


def _overview(results: Sequence[tuple[ToolResult, str]], regex: re.Pattern[str], limits: ToolLimits) -> ToolOutput:
    if not results:
        return ToolOutput("No former result matches.", metadata={"matches": 0})
    rows: list[str] = []
    listed = 0
    for result, whole in results:
        if len(rows) >= limits.matches:
            break
        rows.append(f"{result.call_id} {result.name}: {result.title}".rstrip(": "))
        hits = [(n, line) for n, line in enumerate(whole.split("\n"), 1) if regex.search(line)]
        rows += [f"  {n}: {clip(line.strip(), 300)}" for n, line in hits[:_LINES_EACH]]
        if len(hits) > _LINES_EACH:
            rows.append(f"  … {plural(len(hits) - _LINES_EACH, 'more line')}")
        listed += 1
    rest = len(results) - listed
    after = [f"[{plural(rest, 'more result')}]"] if rest else []
    return ToolOutput("\n".join([*rows, *after]), truncated=bool(rest), metadata={"matches": len(results)})
