"""Running sums over a growing sequence of messages, so that the size of any beginning of it is known at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentcli.context.view import ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import Part, Text, ToolResult
from agentcli.core.model import RequestMessage


class ViewSizes:
    """Sizes of the messages of a view; `size` measures a message in the estimator's units. Only new messages are measured."""

    def __init__(self, size: Callable[[ViewMessage], float]) -> None:
        self._size = size
        self._blocks: list[int] = []
        self.messages: Sequence[ViewMessage] = ()
        self.sizes: list[float] = []

    def of(self, messages: Sequence[ViewMessage]) -> ViewSizes:
        """Bring the sizes up to date with these messages and return them."""
        same = common(messages, self.messages)
        new = messages[same:]
        self.sizes[same:] = map(self._size, new)
        self._blocks[same:] = [len(message.blocks) for message in new]
        self.messages = messages
        return self

    @property
    def whole(self) -> tuple[float, int]:
        """Size and number of blocks of all messages."""
        return sum(self.sizes), sum(self._blocks)


class RunningSizes:
    """Running sums over the messages of a request; `size` measures a part in the estimator's units. Only new messages are measured."""

    def __init__(self, size: Callable[[Part | ToolResult], float]) -> None:
        self._size = size
        self._messages: Sequence[RequestMessage] = ()
        self._sizes = [0.0]
        self._parts = [0]
        self._largest = [0.0]
        self.snapshot = -1
        """Number of the first message with a text of the compactor; -1 if there is none."""

    def of(self, messages: Sequence[RequestMessage]) -> RunningSizes:
        """Bring the sums up to date with these messages and return them."""
        same = common(messages, self._messages)
        for kept in (self._sizes, self._parts, self._largest):
            del kept[same + 1 :]
        if self.snapshot >= same:
            self.snapshot = -1
        size, parts, largest, measure = self._sizes[-1], self._parts[-1], self._largest[-1], self._size
        for number, message in enumerate(messages[same:], same):
            for part in message.parts:
                measured = measure(part)
                size, parts = size + measured, parts + 1
                if isinstance(part, ToolResult):
                    largest = max(largest, measured)
                elif self.snapshot < 0 and isinstance(part, Text) and part.source == "compactor":
                    self.snapshot = number
            self._sizes.append(size)
            self._parts.append(parts)
            self._largest.append(largest)
        self._messages = messages
        return self

    def through(self, number: int) -> tuple[float, int]:
        """Return the size and number of parts of the messages up to and including a message."""
        return self._sizes[number + 1], self._parts[number + 1]

    def newest_result(self, least: float, end: int) -> int:
        """Return the number of the newest message before `end` with a tool result of at least this size; -1 if there is none."""
        for number in range(end - 1, -1, -1):
            if self._largest[number + 1] < least:
                return -1
            parts = self._messages[number].parts
            if any(isinstance(part, ToolResult) and self._size(part) >= least for part in parts):
                return number
        return -1


@dataclass(frozen=True, slots=True)
class RequestSizes:
    """Tokens of the messages of a request: `running` in the estimator's units, `rate` tokens for one unit and `per_block` for each part."""

    running: RunningSizes
    rate: float
    per_block: float

    def through(self, number: int) -> int:
        """Return the tokens of the messages up to and including a message."""
        size, parts = self.running.through(number)
        return round(size * self.rate + parts * self.per_block)

    def newest_result(self, least: int, end: int) -> int:
        """Return the number of the newest message before `end` with a tool result of at least `least` tokens; -1 if there is none."""
        return self.running.newest_result((least - self.per_block) / self.rate, end)

    @property
    def snapshot(self) -> int:
        """Number of the first message with a text of the compactor; -1 if there is none."""
        return self.running.snapshot
