"""Token counts of parts, views, beginnings of requests and prompts.

Counts of views and beginnings are sums. The count of a prompt starts from the provider's last report.
"""

from __future__ import annotations

import base64
import binascii
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from agentcli.context.cleared import forget_markers
from agentcli.context.tokens.calibration import Calibration, Learned, calibrate, from_json, measured
from agentcli.context.tokens.estimators import Calibrated, Estimator
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.codec.encode import is_long, json_texts
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History, common
from agentcli.core.message import SIZE, TYPED, File, Image, Message, Meta, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import RequestMessage, ToolSchema
from agentcli.core.record import Prune, Record


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
                elif isinstance(part, Text) and part.source == "compactor" and (self.snapshot < 0 or part.meta):
                    self.snapshot = number + 1 if part.meta else number  # the provider forgets all before its summary
            self._sizes.append(size)
            self._parts.append(parts)
            self._largest.append(largest)
        self._messages = messages
        return self

    def through(self, number: int) -> tuple[float, int]:
        """Return the size and number of parts of the messages up to and including a message."""
        return self._sizes[number + 1], self._parts[number + 1]

    def newest_result(self, least: float, end: int) -> int:
        """Return the number of the newest message before `end` with a tool result of at least this size.

        Return -1 if there is none.
        """
        for number in range(end - 1, -1, -1):
            if self._largest[number + 1] < least:
                return -1
            parts = self._messages[number].parts
            if any(isinstance(part, ToolResult) and self._size(part) >= least for part in parts):
                return number
        return -1


@dataclass(frozen=True, slots=True)
class RequestSizes:
    """Tokens of the messages of a request."""

    running: RunningSizes
    """Sizes in the estimator's units."""
    rate: float
    """Tokens for one unit."""
    per_block: float
    """Tokens for each part."""

    def through(self, number: int) -> int:
        """Return the tokens of the messages up to and including a message."""
        size, parts = self.running.through(number)
        return round(size * self.rate + parts * self.per_block)

    def newest_result(self, least: int, end: int) -> int:
        """Return the number of the newest message before `end` with a tool result of at least `least` tokens.

        Return -1 if there is none.
        """
        return self.running.newest_result((least - self.per_block) / self.rate, end)

    @property
    def snapshot(self) -> int:
        """Number of the first message with a text of the compactor, or after a provider's summary; -1 if none."""
        return self.running.snapshot


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


class TokenCounter:
    """Token counts by one estimator. It remembers its measurements, so it is kept for a session's whole life.

    `head` are the tokens of system and tools, `model` the id of the model in use: both set by `use_model`.
    """

    def __init__(
        self, rule: Estimator | None = None, *, model: str = "", remember: int = 200_000, doubt: float = 2.0
    ) -> None:
        self.rule: Estimator = rule or Calibrated()
        self.model = model
        self.head = 0
        self.calibration: Calibration = from_json({})
        self.doubt = doubt
        self._remember = remember
        self._known: tuple[View, int] | None = None
        self._newest: tuple[tuple[object, ...], int] = ((), 0)
        self._sizes: dict[int, tuple[Part | ToolResult, float]] = {}
        self._head: tuple[object, float] = ((), 0.0)
        self._each: tuple[tuple[Sequence[ViewMessage], Estimator, Sequence[int]], ...] = ()
        self._forget_sums()
        self._compaction: Record | None = None
        self._learned: Learned | None = None

    def description(self) -> str:
        """Return the estimator in use, as a line for people."""
        return f"Token counts: {self.rule.name} estimate. {self.rule.note}".rstrip()

    def use(self, rule: Estimator) -> None:
        """Count by this estimator from now on."""
        self.rule = rule
        self._known = self._learned = None
        self._head = ((), 0.0)
        self._sizes.clear()
        self._forget_sums()
        self._use_rate()

    def use_model(self, model: str, system: Sequence[str], tools: Sequence[ToolSchema]) -> None:
        """Count for this model with this system text and these tools in front from now on."""
        self.model = model
        self._use_rate()
        self.head = self.overhead(system, tools)

    def learn(self, history: History) -> None:
        """Calibrate by the replies of this history; only `calibrated` learns."""
        if history.compaction is not self._compaction:
            # A part that left the view must not stay in memory because of its cached count or its marker.
            self._compaction = history.compaction
            self._sizes.clear()
            self._newest = ((), 0)
            self._forget_sums()
            forget_markers()
        if isinstance(self.rule, Calibrated):
            self._learned = calibrate(history, self._added, self._learned)
            self.calibration = self._learned.calibration
            self._use_rate()

    def text(self, text: str) -> int:
        """Return the tokens of a bare text."""
        return round(self.rule.size(text) * self.rule.rate)

    def block(self, block: Block) -> int:
        """Return the tokens of one block."""
        return self.part(block.part)

    def part(self, part: Part | ToolResult) -> int:
        """Return the tokens of one part."""
        return round(self.units(part) * self.rule.rate + self.rule.per_block)

    def units(self, part: Part | ToolResult) -> float:
        """Return the size of a part in the estimator's units, whatever its rate."""
        known = self._sizes.get(id(part))
        if known and known[0] is part:
            return known[1]
        if len(self._sizes) >= self._remember:
            self._sizes.clear()
        size = self._measure(part)
        # The part itself is kept, so that no other part can get its id.
        self._sizes[id(part)] = (part, size)
        return size

    def message(self, message: ViewMessage) -> int:
        """Return the tokens of one message of the view."""
        return self._tokens(self._message_units(message), message)

    def each(self, messages: Sequence[ViewMessage]) -> Sequence[int]:
        """Return the tokens of each of the messages.

        They are cached, because a planner and the check of its plan need the same ones.
        """
        for known, rule, sizes in self._each:
            if known is messages and rule is self.rule:
                return sizes
        in_view = self._in_view
        units = in_view.sizes if messages is in_view.messages else map(self._message_units, messages)
        sizes = tuple(map(self._tokens, units, messages))
        self._each = ((messages, self.rule, sizes), *self._each[:1])
        return sizes

    def view(self, view: View) -> int:
        """Return the tokens of all messages of a view, without system and tools: a plain sum."""
        return sum(self.each(view.messages))

    def prompt(self, view: View) -> int:
        """Return the tokens of the next prompt, system and tools included.

        The calibrated estimator uses the usage reported with the last reply, and estimates later additions and prunes.
        Right after a compaction, it uses the reported sizes of the messages that stayed. An estimate of more than
        `doubt` times the report wins. Some servers report only tokens that were not in their own cache.
        """
        if self._known is not None and self._known[0] is view:
            return self._known[1]
        # Several planners ask for the same view, one after the other.
        state = (view, self.rule, self.calibration, self.model, self.head)
        if len(self._newest[0]) != len(state) or not all(map(operator.is_, self._newest[0], state)):
            self._newest = (state, self._prompt(view))
        return self._newest[1]

    def _prompt(self, view: View) -> int:
        head = max(self.head, round(self.calibration.head(self.model)))
        if not isinstance(self.rule, Calibrated):
            return head + self.view(view)
        reported = self._from_last_reply(view)
        if reported is None:
            return head + measured(view, self.each(view.messages), self._scale)
        size, blocks = self._in_view.of(view.messages).whole
        rule = self.rule
        whole = head + round(size * rule.rate + blocks * rule.per_block + len(view.messages) * rule.per_message)
        return whole if whole > max(2_000, self.doubt * reported) else reported

    def set_exact(self, view: View, tokens: int) -> None:
        """Set the provider's own count of the prompt that shows this very view; it is valid until the view changes."""
        self._known = (view, tokens)

    def overhead(self, system: Sequence[str], tools: Sequence[ToolSchema]) -> int:
        """Return the tokens before the first message."""
        fixed, (known, size) = (tuple(system), tuple(tools)), self._head
        if known != fixed:
            size = sum(map(self.rule.size, system))
            size += sum(self.rule.size(_schema_text(tool), code=True) for tool in tools)
        self._head = fixed, size  # the same tuple is compared again and again: identity is quick
        return round(size * self.rule.rate + (len(system) + len(tools)) * self.rule.per_block)

    def sizes(self, messages: Sequence[RequestMessage]) -> RequestSizes:
        """Return the tokens of the messages of a request, by the estimator in use."""
        return RequestSizes(self._sent.of(messages), self.rule.rate, self.rule.per_block)

    def _forget_sums(self) -> None:
        self._in_view = ViewSizes(self._message_units)
        self._sent = RunningSizes(self.units)
        self._each = ()

    def _message_units(self, message: ViewMessage) -> float:
        sizes, size = self._sizes, 0.0
        for block in message.blocks:
            known = sizes.get(id(block.part))
            size += known[1] if known and known[0] is block.part else self.units(block.part)
        return size

    def _tokens(self, units: float, message: ViewMessage) -> int:
        rule = self.rule
        return round(units * rule.rate + len(message.blocks) * rule.per_block + rule.per_message)

    def _from_last_reply(self, view: View) -> int | None:
        edited = view.compaction.seq if view.compaction else 0
        added = 0.0
        for message in reversed(view.messages):
            usage = message.usage
            elsewhere = any(start < message.seq < end for start, end in view.undone)
            if message.role == "assistant" and usage and usage.prompt and not elsewhere:
                if message.seq < edited:
                    return None
                total = usage.prompt + self.message(message) if message.cut else usage.total
                return round((total - _freed_since(view.prunes, message.seq)) * self._scale(message.model) + added)
            added += self.message(message)
        return None

    def _scale(self, model: str) -> float:
        """Return the tokens of the model in use that equal one token of another model."""
        return self.calibration.rate(self.model) / self.calibration.rate(model)

    def _use_rate(self) -> None:
        if isinstance(self.rule, Calibrated) and (rate := self.calibration.rate(self.model)) != self.rule.rate:
            self.rule = replace(self.rule, rate=rate)

    def _added(self, body: Message | ToolResult) -> tuple[float, int]:
        if isinstance(body, ToolResult):
            return self.units(body), 1
        return sum(map(self.units, body.parts)), len(body.parts)

    def _measure(self, part: Part | ToolResult) -> float:
        rule = self.rule
        if isinstance(part, ToolResult):
            size = rule.size(part.output, code=True)
            return size + sum(map(self._image, part.images)) if part.images else size
        match part:
            case Text(text, meta=meta) if meta:
                return rule.size(text) + _stands_for(meta) / rule.rate
            case Text(text) | Thinking(text):
                return rule.size(text)
            case ToolCall(_, name, given):
                if is_long(given):
                    return sum(rule.size(text, code=True) for text in chain((name,), text_pieces(given)))
                return rule.size(name + as_text(given), code=True)
            case File(_, path, text):
                return rule.size(path + text, code=True)
            case Image():
                return self._image(part)

    def _image(self, image: Image) -> float:
        return image_tokens(image) / self.rule.rate


def _stands_for(meta: Meta) -> float:
    """Return the tokens of a summary that only its provider can read; 0 for any other text."""
    own = meta.get(TYPED)
    size = own.get(SIZE) if isinstance(own, Mapping) else 0
    return float(size) if isinstance(size, int | float) else 0.0


def as_text(value: Mapping[str, Any]) -> str:
    """Return a call's input as compact JSON, as it is sent."""
    return _COMPACT.encode(value)


def text_pieces(value: Mapping[str, Any]) -> Iterable[str]:
    """Return a call's input like `as_text`, a long one in pieces."""
    return json_texts(dict(value), _COMPACT.encode) if is_long(value) else (as_text(value),)


def _schema_text(tool: ToolSchema) -> str:
    return tool.name + tool.description + as_text(tool.parameters)


def _freed_since(prunes: Iterable[Record], seq: int) -> int:
    return sum(record.body.tokens for record in prunes if record.seq > seq and isinstance(record.body, Prune))


IMAGE_PATCH = 28
"""Side of the square of pixels that is one token (Anthropic's rule)."""
IMAGE_MOST = 1_568
"""Larger pictures are scaled down to this many tokens; newer models accept up to 4,784."""
IMAGE_UNKNOWN = 1_500
"""Assumed tokens of a picture of unreadable size."""


def image_tokens(image: Image) -> int:
    """Return the tokens of a picture."""
    size = dimensions(image)
    if size is None:
        return IMAGE_UNKNOWN
    width, height = size
    return min(IMAGE_MOST, max(1, -(-width // IMAGE_PATCH) * -(-height // IMAGE_PATCH)))


def dimensions(image: Image) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG, GIF, WebP or JPEG, or None if they cannot be read."""
    from agentcli.core.images import pixels_of

    try:
        return pixels_of(base64.b64decode(image.data[:65_536], validate=False))
    except (binascii.Error, ValueError):
        return None
