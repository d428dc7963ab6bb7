"""Facts that the live part shows: running calls, the work they belong to, and the status line's."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.event import Retrying


@dataclass(frozen=True, slots=True)
class Running:
    """A call that runs since `since` (monotonic seconds); `last` is the end of its output so far.

    A subagent's output consists of its calls, one a line; `calls` and `tokens` count all of them.
    """

    call_id: str
    title: str
    since: float
    last: str = ""
    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """Running work, with the turn's tokens and cost."""

    doing: str
    since: float
    """Start, in monotonic seconds."""
    sent: int = 0
    """Reported input tokens."""
    received: int = 0
    """Reported output tokens."""
    characters: int = 0
    """Characters received since the last report."""
    cost: float | None = None
    """Reported cost in USD."""
    cut: bool = False
    """True if the reply was cut off before its last report."""
    estimated: bool = False
    """True if part of `received` is not reported; then `cost` is too low."""
    retry: Retrying | None = None
    """The newest wait for a retry, which ends at `retry_at` (monotonic seconds)."""
    retry_at: float = 0.0

    @property
    def coming(self) -> int:
        """Estimated tokens of the characters received since the last report."""
        return self.characters // 4


@dataclass(frozen=True, slots=True)
class Status:
    """Facts of the status line, drawn in `order`; empty for the usual layout.

    Tokens of the window; `prunes` and `soft` are where pruning and compaction begin, `early` where compaction begins if
    it pays. Within a turn it begins at `hard`. Cost in USD; `hit_rate` and `budget` are shares, None if unknown or not set; `jobs` run in the background.
    """

    model: str = ""
    mode: str = ""
    used: int = 0
    usable: int = 0
    soft: int = 0
    hard: int = 0
    early: int = 0
    prunes: int = 0
    hit_rate: float | None = None
    cost: float | None = None
    budget: float | None = None
    jobs: int = 0
    sandbox: str = ""
    session: str = ""
    branch: str = ""
    extra: str = ""
    folder: str = ""
    """The folder in which commands start, if it is not the session's own."""
    effort: str = ""
    """The effort that the person chose; empty for the model's own."""
    order: tuple[str, ...] = ()
