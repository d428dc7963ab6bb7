"""The recall tool: everything that was ever in this session, including cleared, summarised or cut texts."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from agentcli.core.errors import ToolError
from agentcli.core.schema import WireName
from agentcli.core.text.passage import Needles, OutOfTime, Passage, folded
from agentcli.core.text.plural import plural
from agentcli.core.tool import ToolContext, ToolLimits, ToolOutput
from agentcli.tools.lib.bounded_regex import BATCH, BoundedRegex
from agentcli.tools.lib.literals import literals
from agentcli.tools.lib.text import clip
from agentcli.tools.lib.truncate import fitting

_NAME = "recall"
_FIRST = 1
"""The first record of a session; records of a session that was handed off to it have numbers below 1."""
_LINES_EACH = 5
"""Maximum matching lines that a search lists of each passage."""
_LINE = 300
"""Maximum characters of such a line."""
_SHORT = 200
"""Characters of a call's input below which the output alone is enough."""


class SessionText(Protocol):
    """The text of a session, for searches."""

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """Yield the passages of this session's records up to number `newest` that may contain the needles, and of this call, newest first.

        Every match is among them, even in records that were cleared, summarised or rewound since, or inherited by a fork. Raises
        OutOfTime once `time.monotonic` has passed `until`.
        """

    def index(self) -> Iterator[float]:
        """Make the missing parts of the session's index one at a time; yields the share that is done."""


async def recall(
    ctx: ToolContext,
    call_id: str,
    id: str = "",
    pattern: str = "",
    role: Literal["user", "assistant", "input", "output", "summary"] | None = None,
    since: Annotated[int, WireName("from")] = _FIRST,
    until: Annotated[int, WireName("to")] = 0,
    offset: int = 1,
    limit: int = 0,
) -> ToolOutput:
    regex = _compiled(pattern)
    await _indexed(ctx, call_id)
    if id:
        return await _one(ctx, id, role or "", regex, offset, limit)
    if not pattern and since == _FIRST and not until:
        raise ToolError("Give an id to see one part whole, or a pattern or from and to, to search all of them.")
    return await _Search(ctx, regex, role or "", since, until or None, limit).overview()


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Recall call_7 "Error"`."""
    pattern = f' "{given["pattern"]}"' if given.get("pattern") else ""
    return f"Recall {given.get('id') or given.get('role') or 'session'}{pattern}"


def _text(ctx: ToolContext) -> SessionText:
    text = ctx.service(SessionText)
    if text is None:
        raise ToolError("There is no session to search here.")
    return text


async def _indexed(ctx: ToolContext, call_id: str) -> None:
    """Make the index of an old session first, in pieces between which other work continues, and report the progress."""
    shown = -1
    for share in _text(ctx).index():
        if (tenth := int(share * 10)) > shown:
            ctx.progress(call_id, f"The index of this session is being made: {share:.0%}\n")
            shown = tenth
        await asyncio.sleep(0)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error


async def _one(ctx: ToolContext, id: str, role: str, regex: re.Pattern[str], offset: int, limit: int) -> ToolOutput:
    """Return the parts of one call or record, as numbered lines."""
    found = _of_call(ctx, id) or _of_record(ctx, id)
    if not found:
        raise ToolError(f"No call or record {id} in this session. Search with a pattern instead.")
    wanted = [passage for passage in found if role in ("", passage.role)]
    if not wanted:
        raise ToolError(
            f"{id} has no {role} in this session; it has {', '.join(dict.fromkeys(p.role for p in found))}."
        )
    outputs = [passage for passage in wanted if passage.role == "output"]
    if outputs and not role:
        return await _page(outputs[0], outputs[0].text, regex, offset, limit, ctx.limits, _input_note(wanted, id))
    if len(wanted) == 1:
        return await _page(wanted[0], wanted[0].text, regex, offset, limit, ctx.limits)
    text = "\n".join(f"[{_place(passage)}]\n{passage.text}" for passage in wanted)
    return await _page(wanted[0], text, regex, offset, limit, ctx.limits)


def _of_call(ctx: ToolContext, id: str) -> Sequence[Passage]:
    """Return the newest output of a call, and its input."""
    found: dict[str, Passage] = {}
    for passage in _text(ctx).passages(call_id=id):
        found.setdefault(passage.role, passage)
        if passage.role != "output":
            break
    return tuple(found.values())


def _of_record(ctx: ToolContext, id: str) -> Sequence[Passage]:
    if not re.fullmatch(r"#?-?\d{1,12}", id, re.ASCII):
        return ()
    id = id.removeprefix("#")
    return tuple(passage for passage in _newest_record(ctx, int(id)) if passage.seq == int(id))


def _newest_record(ctx: ToolContext, seq: int) -> Iterator[Passage]:
    for passage in _text(ctx).passages(newest=seq):
        if passage.seq < seq:
            return
        yield passage


def _input_note(found: Sequence[Passage], id: str) -> str:
    given = next((passage for passage in found if passage.role == "input"), None)
    if given is None or len(given.text) < _SHORT:
        return ""
    lines = plural(given.text.count("\n") + 1, "line")
    return f'\n[Its input has {lines}: recall(id="{id}", role="input")]'


async def _page(
    passage: Passage, text: str, regex: re.Pattern[str], offset: int, limit: int, limits: ToolLimits, note: str = ""
) -> ToolOutput:
    all_lines = text.split("\n")
    [hits] = await BoundedRegex(regex, limits.pattern_seconds).lines([text])
    lines = [(n, all_lines[n - 1]) for n in hits if n >= offset]
    count = min(limit, limits.read_lines) if limit > 0 else limits.read_lines
    rows = fitting(lines[:count], limits, numbers=bool(regex.pattern) and not passage.has_numbers)
    head = f"[{_head(passage)}]"
    if not lines:
        return ToolOutput(f"{head}\nNothing there.")
    rest = len(lines) - len(rows)
    after = f"\n[{plural(rest, 'more line')}; go on with offset={lines[len(rows)][0]}]" if rest else ""
    return ToolOutput("\n".join([head, *rows]) + after + note, truncated=bool(rest))


def _head(passage: Passage) -> str:
    if passage.role == "output":
        return f"{passage.name}: {passage.title or passage.call_id}, {passage.status}"
    return _place(passage)


def _place(passage: Passage) -> str:
    """Return a place such as `412 turn 7 input call_9 edit`."""
    return " ".join(
        filter(None, (str(passage.seq), f"turn {passage.turn}", passage.role, passage.call_id, passage.name))
    )


class _Search:
    """A search of the whole session, from the newest record back."""

    def __init__(
        self, ctx: ToolContext, regex: re.Pattern[str], role: str, since: int, until: int | None, limit: int
    ) -> None:
        self.ctx, self.role, self.since, self.until = ctx, role, since, until
        self._searches = bool(regex.pattern)
        self._regex = BoundedRegex(regex, ctx.limits.pattern_seconds)
        self.needles = literals(regex)
        self.most = min(limit, ctx.limits.matches) if limit > 0 else ctx.limits.matches
        self.rows: list[str] = []
        self.matches = 0

    async def overview(self) -> ToolOutput:
        """Return the hits, each with record, turn, role and line; and where to continue if there may be more."""
        stopped = await self._search()
        after = [f"[Older records were not searched; go on with to={stopped}]"] if stopped else []
        if not self.rows:
            nothing = "Nothing found so far." if after else "Nothing in this session matches."
            return ToolOutput("\n".join([nothing, *after]), metadata={"matches": 0})
        return ToolOutput("\n".join([*self.rows, *after]), truncated=bool(stopped), metadata={"matches": self.matches})

    async def _search(self) -> int | None:
        """Collect the hits; return the record at which the search stopped, None if it reached the end."""
        end = time.monotonic() + self.ctx.limits.recall_seconds
        stopped: int | None = None
        waiting: list[Passage] = []
        try:
            for passage in _text(self.ctx).passages(self.needles, newest=self.until, until=end):
                if passage.seq < self.since != _FIRST:
                    break
                if len(self.rows) >= self.most or time.monotonic() > end:
                    stopped = passage.seq
                    break
                if self._may_match(passage):
                    waiting.append(passage)
                if self._regex.is_plain or sum(len(each.text) for each in waiting) > BATCH:
                    if (full := await self._note(waiting)) is not None:
                        return full
                    waiting = []
        except OutOfTime as left:
            stopped = left.seq if self.since == _FIRST or left.seq >= self.since else None
        full = await self._note(waiting)
        return full if full is not None else stopped

    async def _note(self, passages: Sequence[Passage]) -> int | None:
        """Add the hits of these passages; return the record at which there are enough, None if more fit."""
        found = await self._regex.lines([passage.text for passage in passages]) if passages else []
        for passage, numbers in zip(passages, found, strict=True):
            if len(self.rows) >= self.most:
                return passage.seq
            lines = passage.text.split("\n")
            shown = numbers[: _LINES_EACH if self._searches else 1]
            self.rows += [f"{_place(passage)}: {n}: {clip(lines[n - 1].strip(), _LINE)}" for n in shown]
            if (rest := len(numbers) - len(shown)) > 0:
                self.rows.append(f"  … {plural(rest, 'more line')} in {passage.call_id or passage.seq}")
            self.matches += bool(numbers)
        return None

    def _may_match(self, passage: Passage) -> bool:
        """Return False for passages that cannot match: they lack the literals of the pattern, or are this tool's own."""
        if passage.name == _NAME or self.role not in ("", passage.role):
            return False
        known = folded(passage.text)
        return not self.needles or any(all(folded(piece) in known for piece in group) for group in self.needles)
