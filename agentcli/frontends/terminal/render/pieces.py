"""Finished pieces of a session, each printed once to the scrollback."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.mcp_servers import is_answer
from agentcli.core.message import CHANGED, FINDINGS, MORE_CHANGED, Pieces, ToolResult
from agentcli.core.record import TodoItem
from agentcli.core.sanitise import safe
from agentcli.frontends.run.findings import Finding
from agentcli.frontends.terminal.render.markdown_blocks import Block, Blocks


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A prompt of the user; only the beginning of a very long one is printed, unless `whole`.

    `lines`: the number of lines of the whole prompt if `text` is only its beginning.
    """

    text: str
    whole: bool = False
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Attached:
    """A file, folder or image attached to a prompt: its path or label, and its size as text."""

    path: str
    size: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished block of the model's answer."""

    block: Block


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a text from `start` to `end`. What waits of a reply is in memory once, in the whole reply."""

    whole: Pieces
    start: int
    end: int

    @classmethod
    def of(cls, text: str, whole: Pieces | None) -> Span:
        """Return the end of a whole text, if it is this one, else a text of its own."""
        if whole is None or not whole.text().endswith(text):
            whole = Pieces(text)
        size = len(whole.text())
        return cls(whole, size - len(text), size)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Text of the model's answer that waits to be printed: its blocks would need several times its memory.

    `begun` is the open part before the text that is left, `end` the one after it.
    """

    spans: tuple[Span, ...]
    begun: Blocks
    end: Blocks

    def next(self) -> tuple[Reply | Backlog, ...]:
        """Return its next blocks, and the rest of it."""
        first, *spans = self.spans
        read = min(first.start + SLICE, first.end)
        begun, blocks = self.begun.feed(first.whole.text()[first.start : read])
        if read < first.end:
            spans.insert(0, replace(first, start=read))
        replies = tuple(map(Reply, blocks))
        return (*replies, Backlog(tuple(spans), begun, self.end)) if spans else replies

    def longer(self, more: Span, end: Blocks) -> Backlog:
        """Return it with more text, and the open part after that."""
        *spans, last = self.spans
        follows = more.whole is last.whole and more.start == last.end
        spans += [replace(last, end=more.end)] if follows else [last, more]
        return replace(self, spans=tuple(spans), end=end)


SLICE = 4_000
"""Characters of waiting text that are split into blocks at once."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A finished thought, which took `seconds`."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call with its result. `gap`: preceded by a blank line; `displayed`: the approval has printed the whole call.

    `harmless`: a command that only reads.
    """

    title: str
    result: ToolResult
    gap: bool = False
    displayed: bool = False
    harmless: bool = False

    @property
    def findings(self) -> Sequence[str]:
        """The lines about findings that an edit brought."""
        found = self.result.metadata.get(FINDINGS)
        return safe(found).split("\n") if isinstance(found, str) and found else ()

    @property
    def changed(self) -> Sequence[Mapping[str, Any]]:
        """The files that a command changed."""
        found = self.result.metadata.get(CHANGED)
        return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list | tuple) else ()

    @property
    def more_changed(self) -> int:
        """Return the number of further files that it changed."""
        more = self.result.metadata.get(MORE_CHANGED)
        return more if self.changed and isinstance(more, int) else 0

    @property
    def body(self) -> Literal["none", "line", "whole"]:
        """Lines below the call's own: none for reads and listings; `line` if they fit on the call's line."""
        result = self.result
        if result.failed or self.findings or self.changed or (result.metadata.get("diff") and not self.displayed):
            return "whole"
        if result.name in FOLDED and not result.metadata.get("diff"):
            return "none"
        if not result.output.strip():
            return "line"
        return "whole" if "exit_code" in result.metadata or "plan" in result.metadata or self.answered else "line"

    @property
    def folds(self) -> bool:
        """True if the call is shown in one line with its neighbours. It changed no file and printed nothing for the
        person.
        """
        result = self.result
        if result.status not in ("success", "error") or result.metadata.get("diff") or self.findings or self.changed:
            return False
        return result.name not in UNFOLDED and not self.displayed

    @property
    def answered(self) -> bool:
        """True if the result is an MCP server's answer."""
        return not self.result.failed and is_answer(self.result)


FOLDED = frozenset({"read", "list", "glob", "grep"})
"""Tools that read and list: their results have no body."""
UNFOLDED = frozenset(
    {"edit", "multi_edit", "write", "apply_patch", "task", "script", "ask_user", "exit_plan", "web_search"}
)
"""Tools whose calls are not printed in one line with others.

They change files or make calls, or a person reads their results.
"""


@dataclass(frozen=True, slots=True)
class CalledTogether:
    """Calls that changed no file, one after another, in one line; failed ones also whole."""

    calls: tuple[Called, ...]


@dataclass(frozen=True, slots=True)
class TodoList:
    """The todo list at the end of a turn."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished turn: seconds, tokens, and USD if known.

    `estimated`: it received about that many tokens, and cost at least that much.
    """

    seconds: float
    sent: int
    received: int
    cost: float | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A line from the program: an automatic action, a warning, an error. `gap`: preceded by a blank line."""

    kind: Literal["act", "warn", "error"]
    text: str
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """Styled lines of a command's output; external text is sanitised."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of a review."""

    findings: tuple[Finding, ...]


Piece = (
    Findings | UserMessage | Attached | Reply | Thought | Called | CalledTogether | TodoList | Finished | Note | Printed
)
Waiting = Piece | Backlog


def each(waiting: Iterable[Waiting]) -> Iterator[Piece]:
    """Yield the pieces, and in the place of a backlog its blocks."""
    left = deque(waiting)
    while left:
        piece = left.popleft()
        if isinstance(piece, Backlog):
            left.extendleft(reversed(piece.next()))
        else:
            yield piece
