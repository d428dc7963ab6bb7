"""Loops of a model.

A call that was repeated with the same result is not run again. A turn without news ends as failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from hashlib import sha256
from typing import Literal

from agentcli.agent.calls.call import Call, Stage
from agentcli.agent.feature import SessionPart
from agentcli.core.codec.encode import dump_line, is_long, line_pieces
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, ToolResult

PERIODS = (1, 2, 3)
"""Lengths of the cycles of calls that are refused."""
REFUSALS = 3
"""Consecutive replies whose calls were all refused as repeated, after which a turn ends that a person can continue."""
STALE = 10
"""Consecutive replies without a new result, after which any turn ends."""
_NEAR = 6
"""A result is new unless it equals one of the last so many results of the same call."""
_POLLS = 3
"""How many replies that only poll count as one without a new result."""
_WAITED = 1.0
"""Seconds after which a polling call counts as a wait, which is not a loop."""

LOOPED = "Stopped: {count} replies in a row did nothing new. Rephrase, or try another model."
SAME_RESULT = (
    "You made this call {times} with the same result; it was not run again. Its result stands above. "
    "Step back: what do you want to learn, and what else can show it?"
)
SAME_ERROR = (
    "You made this call {times} with the same error; it was not run again. The error stands above. "
    "Step back: what do you want to reach, and which other way leads there?"
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A call with its result. `kind` is equal for results that bring nothing new after one another."""

    key: str
    kind: tuple[str, str]
    call_id: str
    failed: bool


Worth = Literal["new", "stale", "poll", "refused"]
"""Value of a result: `new`, or known (`stale`).

`poll` is the known state of something that changes by itself. `refused` is the refusal of a repeated call.
"""


class RepeatGuard(SessionPart):
    """Watches the calls of a turn: `limit` equal rounds in a row are enough; with 0 none are.

    `alone` if nobody can continue the turn: then only `STALE` replies without a new result end it.
    """

    name = "repeats"

    def __init__(self, limit: int, *, alone: bool = True) -> None:
        self.limit, self._alone = limit, alone
        self._last: deque[_Seen] = deque(maxlen=max(limit * PERIODS[-1], _NEAR))
        self._states: dict[str, tuple[str, str]] = {}
        self._refused: set[str] = set()
        self._worths: set[Worth] = set()
        self._stale = self._refusals = 0

    def prompted(self) -> None:
        """Forget everything: a person's message may change what a call is good for."""
        self._last.clear()
        self._states.clear()
        self._refused.clear()
        self._worths.clear()
        self._stale = self._refusals = 0

    def reached(self, call: ToolCall, in_view: Callable[[str], bool] = lambda _: True) -> str:
        """Return the refusal of a call that has just given the same result `limit` times.

        The call may be repeated alone or in a cycle. For any other call, return an empty text. A result that the model
        no longer sees (`in_view`, by call id) may be fetched again.
        """
        seen = next((seen for seen in self._cycle() if seen.key == _key(call)), None)
        if seen is None or not in_view(seen.call_id):
            return ""
        self._refused.add(call.call_id)
        times = "once" if self.limit == 1 else f"{self.limit} times"
        return (SAME_ERROR if seen.failed else SAME_RESULT).format(times=times)

    def note(self, call: ToolCall, result: ToolResult, *, polls: bool = False) -> None:
        """Remember a call's result. With `polls`, equal results are expected, so the call is never refused."""
        if call.call_id in self._refused:
            self._worths.add("refused")
            return
        if result.status == "interrupted" or (polls and result.ended - result.started >= _WAITED):
            return
        key = _key(call)
        seen = _Seen(key, _kind(call, key, result), call.call_id, result.status == "denied" or _is_error(result))
        if polls:
            self._worths.add("poll" if self._states.get(seen.key) == seen.kind else "new")
            self._states[seen.key] = seen.kind
            return
        known = any(seen.kind == other.kind for other in list(self._last)[-_NEAR:])
        self._worths.add("stale" if known else "new")
        self._last.append(seen)

    def answered(self) -> None:
        """Count a reply whose calls have all been answered. Raises AgentError if the turn leads nowhere."""
        worths, self._worths = self._worths, set()
        if not worths or self.limit <= 0:
            return
        if "new" in worths:
            self._stale = self._refusals = 0
            return
        self._stale += 1 if worths == {"poll"} else _POLLS
        self._refusals = self._refusals + 1 if worths == {"refused"} else 0
        if self._stale >= STALE * _POLLS or (self._refusals >= REFUSALS and not self._alone):
            count = STALE if self._stale >= STALE * _POLLS else REFUSALS
            raise AgentError(LOOPED.format(count=count))

    def _cycle(self) -> Collection[_Seen]:
        """Return the calls of the cycle that the last results repeated `limit` times; none if there is no cycle."""
        last = list(self._last)
        for period in PERIODS:
            length = period * self.limit
            round_, rounds = last[-period:], last[-length:] if length else []
            same = [(seen.key, seen.kind) for seen in round_] * self.limit
            if len(rounds) == length > 0 and [(seen.key, seen.kind) for seen in rounds] == same:
                return round_
        return ()


class RepeatStage(Stage):
    """Refuses repeated calls, before hooks and a person are asked about them."""

    def __init__(self, guard: RepeatGuard, journal: Journal) -> None:
        self._guard, self._journal = guard, journal

    async def judge(self, call: Call) -> Call:
        refusal = self._guard.reached(call.asked, self._in_view)
        return call.refused(refusal, "error") if refusal else call

    def _in_view(self, call_id: str) -> bool:
        """Return True if the model still sees the result of a call."""
        history = self._journal.history
        entries = (entry.body for entry in reversed(history.entries))
        shown = any(isinstance(body, ToolResult) and body.call_id == call_id for body in entries)
        return shown and call_id not in history.cleared


def _key(call: ToolCall) -> str:
    """Return the key that equal calls share: a digest, because an input may be a whole file."""
    given = {call.name: dict(call.input)}
    digest = sha256()
    for piece in line_pieces(given) if is_long(call.input) else (dump_line(given),):
        digest.update(piece)
    return digest.hexdigest()


def _kind(call: ToolCall, key: str, result: ToolResult) -> tuple[str, str]:
    """Return the key that equal results share; `key` is that of the call.

    For a tool's error it has only the text: a model that varies its call may still learn nothing.
    """
    return (call.name if _is_error(result) else key, result.output)


def _is_error(result: ToolResult) -> bool:
    """Return True if a tool failed; a command that ended with an exit code has a result."""
    return result.status == "error" and "exit_code" not in result.metadata
