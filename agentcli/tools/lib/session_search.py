"""Searches of a session for recall: one complete part of it, or the matches of a query, best first."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from agentcli.core.dataclass import replace
from agentcli.core.errors import ToolError
from agentcli.core.journal import SessionText
from agentcli.core.text.passage import Mark, Needles, OutOfTime, Passage, PassageRole, folded
from agentcli.core.text.words import plural
from agentcli.core.tool import ToolContext, ToolLimits, ToolOutput
from agentcli.tools.lib.bounded_regex import BATCH, BoundedRegex
from agentcli.tools.lib.hits import Hit, at_lines, definition, different, lead, shown
from agentcli.tools.lib.literals import literals
from agentcli.tools.lib.truncate import fitting
from agentcli.tools.lib.word_search import Term, Weights, hits, likeliest, terms

_NAME = "recall"
_FIRST = 1
"""First record of a session; records of a session that was handed off to it have numbers below 1."""
_PAGE = 3_000
"""Maximum bytes of a page of hits, about 1,000 tokens."""
_SHOWN = (450, 200)
"""Maximum characters shown of a hit: of the first ones of a page, and of the others."""
_LONG_HITS = 3
"""Number of the first hits of a page that are shown at more length."""
OTHER_WORDS = "[No good hit for these words. Search with three other wordings at once: words | words | words]"
"""Line of a page without hits, or whose first hit has few of the words."""
_WORDINGS = re.compile(r"\s*\n\s*|\s+\|\s+")
"""Separator of several wordings of one search."""
_MOST_WORDINGS = 6
"""Maximum wordings of one search; a text with more lines is searched as one."""
_AGREES = 0.3
"""Weight of a hit's scores for other wordings than its best one."""
_ENOUGH = 0.5
"""Share of the weight of all words from which a hit has most of them."""
_MARKS = 2_000
"""Marks of the index between two points at which other work continues."""
_READ = 150
"""Records that a search for words reads."""
_EQUAL = 20
"""Steps of a score from none to the best. Hits on one step count as equal; the newer comes first."""
_PAUSE = 20
"""Records between two moments at which other work continues."""
_DEFINITION = re.compile(r"^\W*(?:def|class|fn|func|function|interface|struct|enum|trait|impl|type)(?:\s|\\s)")
"""A query for a definition, which is shown completely."""
_SHORT = 200
"""Characters of a call's input below which the output alone is enough."""
_CAPITAL = re.compile(r"[^\W\d_a-z]")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_REGEX_SIGNS = re.compile(
    r"\\[^\w\s]|\\[bBdDsSwWAZ]|[.\])\w][*+]|\.\?|\[[^\]]*[-\\^][^\]]*\]|\(\?|\S\|\S|\{\d+,?\d*\}|^\^|\S\$$"
)


async def recalled(
    ctx: ToolContext, call_id: str, id: str, pattern: str, role: str, since: int, until: int, offset: int, limit: int
) -> ToolOutput:
    """Return one complete part of the session, or a page of matches. Raises ToolError."""
    await _indexed(ctx, call_id)
    if id:
        return await _one(ctx, id, role, pattern, offset, limit)
    if not pattern and since == _FIRST and not until:
        raise ToolError("Give an id to see one part whole, or a pattern or from and to, to search all of them.")
    return await _Search(ctx, pattern, role, since, until or None, offset, limit).overview()


def _text(ctx: ToolContext) -> SessionText:
    text = ctx.service(SessionText)
    if text is None:
        raise ToolError("There is no session to search here.")
    return text


async def _indexed(ctx: ToolContext, call_id: str) -> None:
    """Build the index of an old session first, in pieces between which other work continues, and report the progress."""
    shown = -1
    for share in _text(ctx).index():
        if (tenth := int(share * 10)) > shown:
            ctx.progress(call_id, f"The index of this session is being made: {share:.0%}\n")
            shown = tenth
        await asyncio.sleep(0)


def _compiled(pattern: str, *, any_case: bool = False) -> re.Pattern[str]:
    """Compile a regular expression; without a capital letter outside of escapes it ignores case."""
    flags = "(?i)" if (any_case or not _CAPITAL.search(_ESCAPED.sub("", pattern))) and pattern[:2] != "(?" else ""
    try:
        return re.compile(flags + pattern)
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error


def _phrase(pattern: str) -> re.Pattern[str]:
    """Return a pattern for the unchanged query, ignoring case, that is always fast."""
    with contextlib.suppress(re.error):
        regex = re.compile(pattern, re.IGNORECASE)
        if BoundedRegex(regex, 0).is_plain:
            return regex
    return re.compile(re.escape(pattern), re.IGNORECASE)


def _looks_like_a_regex(pattern: str) -> bool:
    """Return True for a pattern with characters that words do not have, if it can be compiled."""
    with contextlib.suppress(re.error):
        return _REGEX_SIGNS.search(pattern) is not None and re.compile(pattern) is not None
    return False


async def _one(ctx: ToolContext, id: str, role: str, pattern: str, offset: int, limit: int) -> ToolOutput:
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
        return await _page(outputs[0], outputs[0].text, pattern, offset, limit, ctx.limits, _input_note(wanted, id))
    if len(wanted) == 1:
        return await _page(wanted[0], wanted[0].text, pattern, offset, limit, ctx.limits)
    text = "\n".join(f"[{_place(passage)}]\n{passage.text}" for passage in wanted)
    return await _page(wanted[0], text, pattern, offset, limit, ctx.limits)


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
    passage: Passage, text: str, pattern: str, offset: int, limit: int, limits: ToolLimits, note: str = ""
) -> ToolOutput:
    all_lines = text.split("\n")
    numbers = await _matching_lines(pattern, text, limits) if pattern else range(1, len(all_lines) + 1)
    lines = [(n, all_lines[n - 1]) for n in numbers if n >= offset]
    count = min(limit, limits.read_lines) if limit > 0 else limits.read_lines
    rows = fitting(lines[:count], limits, numbers=bool(pattern) and not passage.has_numbers)
    head = f"[{_head(passage)}]"
    if not lines:
        return ToolOutput(f"{head}\nNothing there.")
    rest = len(lines) - len(rows)
    after = f"\n[{plural(rest, 'more line')}; go on with offset={lines[len(rows)][0]}]" if rest else ""
    return ToolOutput("\n".join([head, *rows]) + after + note, truncated=bool(rest))


async def _matching_lines(pattern: str, text: str, limits: ToolLimits) -> Sequence[int]:
    """Return a text's lines that match, else that match ignoring case, else that contain one of the words."""
    wanted = terms(pattern)
    attempts: list[Callable[[], re.Pattern[str]]] = [
        partial(_compiled, pattern),
        partial(_compiled, pattern, any_case=True),
    ]
    if wanted:
        attempts.append(lambda: re.compile("|".join(re.escape(term.stem) for term in wanted), re.IGNORECASE))
    for attempt in attempts:
        try:
            [found] = await BoundedRegex(attempt(), limits.pattern_seconds).lines([text])
        except ToolError:
            if not wanted or _looks_like_a_regex(pattern):
                raise
            continue
        if found:
            return found
    return ()


def _head(passage: Passage) -> str:
    if passage.role == "output":
        return f"{passage.name}: {passage.title or passage.call_id}, {passage.status}"
    return _place(passage)


def _place(passage: Passage, *, with_call: bool = True) -> str:
    """Return a place such as `412 turn 7 input call_9 edit`; the number alone is enough to recall it."""
    call = passage.call_id if with_call else ""
    return " ".join(filter(None, (str(passage.seq), f"turn {passage.turn}", passage.role, call, passage.name)))


class _Search:
    """A search of the whole session. `limit` is the maximum of hits, `first` the number of the first one, from 1."""

    def __init__(
        self, ctx: ToolContext, pattern: str, role: str, since: int, until: int | None, first: int, limit: int
    ) -> None:
        self.ctx, self.pattern, self.role, self.since, self.until = ctx, pattern, role, since, until
        self.first = max(first, 1)
        self.most = min(limit, ctx.limits.matches) if limit > 0 else ctx.limits.matches
        self._end = time.monotonic() + ctx.limits.recall_seconds
        self._stopped: int | None = None

    async def overview(self) -> ToolOutput:
        """Return a page of hits, each with record, turn, role and line.

        If there may be more, the page says where to continue.
        """
        found: Sequence[Hit] = ()
        wanted = terms(self.pattern)
        if not wanted or _looks_like_a_regex(self.pattern):
            found = await self._matching(_compiled(self.pattern))
            if not found and self._stopped is None and self.pattern:
                found = await self._matching(_compiled(self.pattern, any_case=True))
        ranked = not found and self._stopped is None and bool(wanted)
        if ranked:
            found = await self._worded(wanted)
        return self._page(found, ranked=ranked)

    async def _worded(self, wanted: Sequence[Term]) -> Sequence[Hit]:
        """Return the best places for a query, or for all of its wordings together."""
        if not (several := self._wordings()):
            return await self._ranked(wanted, self.pattern)
        return _together([await self._ranked(terms(each), each) for each in several])

    def _wordings(self) -> Sequence[str]:
        """Return the wordings of a query that has several, else none."""
        found = [each for each in _WORDINGS.split(self.pattern) if terms(each)]
        return found if 1 < len(found) <= _MOST_WORDINGS else ()

    async def _matching(self, regex: re.Pattern[str]) -> Sequence[Hit]:
        """Return the matches, from the newest record back, until a page is full."""
        bounded, needles = BoundedRegex(regex, self.ctx.limits.pattern_seconds), literals(regex)
        found: list[Hit] = []
        waiting: list[Passage] = []

        async def match() -> None:
            lines = await bounded.lines([passage.text for passage in waiting]) if waiting else ()
            for passage, numbers in zip(waiting, lines, strict=True):
                if len(found) >= self.most:
                    self._stopped = passage.seq
                    break
                found.extend(at_lines(passage, numbers if regex.pattern else numbers[:1]))
            waiting.clear()

        try:
            for passage in _text(self.ctx).passages(needles, newest=self.until, until=self._end):
                if passage.seq < self.since != _FIRST:
                    break
                if len(found) >= self.most or time.monotonic() > self._end:
                    self._stopped = passage.seq
                    break
                if self._may_match(passage, needles):
                    waiting.append(_without_names(passage))
                if bounded.is_plain or sum(len(each.text) for each in waiting) > BATCH:
                    await match()
        except OutOfTime as left:
            self._stopped = left.seq if self.since == _FIRST or left.seq >= self.since else None
        if self._stopped is None or waiting:
            await match()
        return found

    def _may_match(self, passage: Passage, needles: Needles) -> bool:
        """Return False for passages that cannot match.

        They lack the pattern's literals, have another role than the wanted one, or are this tool's own.
        """
        if passage.name == _NAME or self.role not in ("", passage.role):
            return False
        known = folded(passage.text)
        return not needles or any(all(folded(piece) in known for piece in group) for group in needles)

    async def _ranked(self, wanted: Sequence[Term], query: str) -> Sequence[Hit]:
        """Return the places with the rarest and the most of these words, best first."""
        marks: list[Mark] = []
        try:
            for mark in _text(self.ctx).marks([term.stem for term in wanted], newest=self.until, until=self._end):
                if mark.seq < self.since != _FIRST:
                    break
                marks.append(mark)
                if len(marks) % _MARKS == 0:
                    await asyncio.sleep(0)
        except OutOfTime as left:
            self._stopped = left.seq if self.since == _FIRST or left.seq >= self.since else None
        weights = Weights(wanted, marks)
        phrase = _phrase(query)
        found: list[Hit] = []
        for n, (mark, beside) in enumerate(likeliest(marks, weights, _READ)):
            if n % _PAUSE == 0:
                await asyncio.sleep(0)
                if time.monotonic() > self._end:
                    break
            for passage in _text(self.ctx).passages_of(mark):
                if passage.name != _NAME and self.role in ("", passage.role):
                    found += hits(_without_names(passage), beside, weights, phrase)
        exact = [
            hit for hit in found if len(wanted) > 1 and phrase.search(hit.passage.text, hit.start, hit.end + len(query))
        ]
        if exact:
            return sorted(exact, key=lambda hit: (-hit.passage.seq, hit.start))
        return _best_first(found)

    def _page(self, found: Sequence[Hit], *, ranked: bool) -> ToolOutput:
        after = [f"[Older records were not searched; go on with to={self._stopped}]"] if self._stopped else []
        apart = different(found)
        records: dict[tuple[int, PassageRole], list[str]] = {}
        count, size = self.first - 1, 0
        for hit in apart[count : count + self.most]:
            place = (hit.passage.seq, hit.passage.role)
            end = definition(hit) if _DEFINITION.search(self.pattern) else 0
            room = (
                end - hit.passage.text.rfind("\n", 0, hit.start)
                if end
                else _SHOWN[count - self.first + 1 >= _LONG_HITS]
            )
            line, text = shown(hit, room)
            row = f"{line}: {text}" if "\n" in hit.passage.text else text
            row = (
                row if place in records else f"[{_place(hit.passage, with_call=False)}]{lead(hit.passage, line)}\n{row}"
            )
            size += len(row.encode("utf-8", "replace")) + 1
            if size > _PAGE and records:
                break
            records.setdefault(place, []).append(row)
            count += 1
        rows = [row for group in records.values() for row in group]
        if ranked and apart and apart[0].share < _ENOUGH and not self._wordings():
            after.insert(0, OTHER_WORDS)
        if count < len(apart):
            after.insert(0, f"[{plural(len(apart) - count, 'more hit')}; go on with offset={count + 1}]")
        if not rows:
            worded = ranked and len(self.pattern.split()) > 1 and not _looks_like_a_regex(self.pattern)
            after += [OTHER_WORDS] if worded else []
            nothing = "Nothing found so far." if self._stopped else "Nothing in this session matches."
            return ToolOutput("\n".join([nothing, *after]), metadata={"matches": 0})
        return ToolOutput("\n".join([*rows, *after]), truncated=bool(after), metadata={"matches": len(rows)})


def _best_first(found: Sequence[Hit]) -> Sequence[Hit]:
    """Return hits best first; among nearly equal ones, the newer first."""
    best = max((hit.score for hit in found), default=0.0) or 1.0
    return sorted(found, key=lambda hit: (-round(hit.score / best * _EQUAL), -hit.passage.seq, -hit.score))


def _together(found: Sequence[Sequence[Hit]]) -> Sequence[Hit]:
    """Return the hits of several wordings of one query. A place has its best score, and part of its other scores."""
    by_place: dict[tuple[int, PassageRole, int], list[Hit]] = {}
    for hit in (each for hits_of_one in found for each in hits_of_one):
        by_place.setdefault((hit.passage.seq, hit.passage.role, hit.start // _SHOWN[0]), []).append(hit)
    merged = []
    for same in by_place.values():
        best = max(same, key=lambda hit: hit.score)
        others = sum(hit.score for hit in same) - best.score
        merged.append(replace(best, score=best.score + _AGREES * others))
    return _best_first(merged)


def _without_names(passage: Passage) -> Passage:
    """Return a summary without its list of bare names, which would match any search for one of them."""
    if passage.role != "summary":
        return passage
    from agentcli.context.snapshot.form import (
        INDEX,  # hundreds of patterns, which a session without summaries never needs
    )

    return replace(passage, text=re.sub(rf"<{INDEX}>.*?</{INDEX}>\s*", "", passage.text, flags=re.DOTALL))
