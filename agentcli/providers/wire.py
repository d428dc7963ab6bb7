"""Requests and replies on the wire, shared by adapters: names, inputs and ids of calls, sizes, and bodies in bytes.

Text has no lone surrogates. If a request continues the previous one, only its new messages are built.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from io import BytesIO
from math import isfinite
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from agentcli.context.inject import wrap
from agentcli.core.codec.encode import is_long_part, json_texts
from agentcli.core.codec.fields import is_deeper
from agentcli.core.history import common
from agentcli.core.message import File, ToolCall
from agentcli.core.model import Request, RequestMessage

DEEPEST = 200
"""Maximum nesting of an input. No tool needs more, and recursion fails on much deeper ones."""
_LONGEST = 64
MOST = 10**12
"""Maximum tokens: no request has as many."""

_LONGEST_KEPT = 1_000_000
"""Maximum characters of a text whose JSON is kept for the next request: few texts are longer."""

Body = TypeVar("Body")


def can_run(name: Any, given: Any) -> bool:
    """Return True if a call has a name and a complete object that is not too deep as its input."""
    return isinstance(name, str) and bool(name.strip()) and isinstance(given, dict) and not is_deeper(given, DEEPEST)


@lru_cache(1_024)
def wire_name(name: str) -> str:
    """Rewrite a call's name in characters that every provider accepts: an invalid name would get the request refused."""
    letters = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST]
    return letters if re.match(r"[a-zA-Z_]", letters) else f"_{letters}"[:_LONGEST]


class Ids:
    """Ids of tool calls in use, unique in a conversation.

    If a server gives no id, or repeats one, the call gets our own.
    """

    def __init__(self, taken: Set[str] = frozenset()) -> None:
        self._taken = taken
        self._new: set[str] = set()
        self._calls: list[tuple[Any, Any, Any]] = []

    def again(self, given: Any, name: Any, arguments: Any) -> bool:
        """Return True if the same call, including its id, occurred in this reply before: its event was sent twice."""
        call = (given, name, arguments)
        if not given or call in self._calls:
            return bool(given)
        self._calls.append(call)
        return False

    def fresh(self, given: Any) -> str:
        """Return the given id if it is valid and unused, else a new one; it then counts as used."""
        taken = not isinstance(given, str) or not given or given in self._taken or given in self._new
        chosen = _new_id() if taken else given
        self._new.add(chosen)
        return chosen


class UsedIds:
    """Ids of tool calls in the newest request.

    If a request continues the previous one, only its new messages are read.
    """

    def __init__(self) -> None:
        self._messages: Sequence[RequestMessage] = ()
        self._ids: set[str] = set()

    def of(self, request: Request) -> Ids:
        """Return the ids in use for the reply to a request."""
        same = common(request.messages, self._messages)
        if any(message.role == "assistant" for message in self._messages[same:]):
            self._ids, same = set(), 0
        for message in request.messages[same:]:
            self._ids.update(part.call_id for part in message.parts if isinstance(part, ToolCall))
        self._messages = request.messages
        return Ids(self._ids)


@lru_cache(1_024)  # a result follows its call
def wire_id(call_id: str, longest: int = _LONGEST) -> str:
    """Rewrite a call id in an API's characters and length; a digest keeps another provider's id unique."""
    if re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) and len(call_id) <= longest:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def short_id(call_id: str) -> str:
    """Return a call id of nine letters and digits, the only form that Mistral accepts; such an id stays unchanged."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"


def attachment(file: File) -> str:
    """Write a user's file as text in a tag that its content cannot close."""
    return wrap("file", file.text, path=file.path)


def sendable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 body can carry."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def fit_to_send(body: Body) -> Body:
    """Remove lone surrogates and infinite numbers from a request's body; every body passes here.

    A body without them, the usual case, is not copied.
    """
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
        return body
    except ValueError:
        return cast(Body, sendable_json(body))
    except RecursionError:
        return body


def sendable_json(value: Any) -> Any:
    """Apply `sendable` to each string in a JSON value and remove infinite numbers: models write half characters and `NaN`."""
    match value:
        case str():
            return sendable(value)
        case dict():
            return {sendable(key): sendable_json(item) for key, item in value.items()}
        case list():
            return [sendable_json(item) for item in value]
        case float() if not isfinite(value):
            return None
        case _:
            return value


def tokens(value: Any) -> int:
    """Return a provider's token count; 0 if it is invalid, because a wrong count must not cost the reply."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return int(value) if isinstance(value, int | float) and 0 < value <= MOST else 0


def tier(*values: Any) -> str:
    """Return the service tier among a provider's values: the first that is a name; empty for the standard one."""
    named = next((value.strip().lower() for value in values if isinstance(value, str) and value.strip()), "")
    return "" if named in _STANDARD else sendable(named)[:_LONGEST_TIER]


_STANDARD = ("standard", "default", "auto", "on_demand", "unspecified")
"""Names of the standard tier at Anthropic, Google, OpenAI, Groq, and gateways to OpenAI that do not choose."""
_LONGEST_TIER = 40
BUDGETS: Mapping[str, int] = MappingProxyType(
    {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
)
"""Tokens by effort. No model accepts more than the largest value."""
LEAST = 1_024
"""The smallest budget that the Messages API takes."""
_SHARE = 0.75
"""Maximum share of the output for thoughts; the rest is for the answer."""


def wanted_budget(options: Mapping[str, Any]) -> int | None:
    """Return the budget that a request sets by `thinking_budget` or `effort`; None if it sets none."""
    return int(options.get("thinking_budget") or BUDGETS.get(options.get("effort") or "", 0)) or None


def budget_within(options: Mapping[str, Any], max_tokens: int) -> int | None:
    """Return the requested or default budget, limited to a share of `max_tokens`; None if that is too little for
    thinking.
    """
    budget = min(wanted_budget(options) or BUDGETS["medium"], int(max_tokens * _SHARE))
    return budget if budget >= LEAST else None


Json = dict[str, Any]
Rules = TypeVar("Rules")
Join = Callable[[Json, Json], tuple[Json, int] | None]
"""Function that joins two neighbours, and returns the index of the second's first part in the new message.

It returns None for two that stay separate.
"""


def joined(content: str) -> Join:
    """Return a function that joins messages of one role, whose parts are in the field `content`."""

    def join(first: Json, second: Json) -> tuple[Json, int] | None:
        parts = first[content]
        same = first["role"] == second["role"]
        return ({**second, content: [*parts, *second[content]]}, len(parts)) if same else None

    return join


def apart(_first: Json, _second: Json) -> None:
    """Join nothing."""


class WireMessages(Generic[Rules]):
    """Messages of the newest request in wire form.

    `form` returns the wire messages of one request message under some rules; `join` joins neighbours.
    """

    def __init__(self, form: Callable[[RequestMessage, Rules], Sequence[Json]], join: Join) -> None:
        self._form, self._join = form, join
        self._rules: Rules | None = None
        self._source: Sequence[RequestMessage] = ()
        self._texts: list[bytes] = []
        self._open: set[int] = set()
        """The messages without a text that is kept: those last sent with a mark, and long ones."""
        self._long: set[int] = set()
        self.messages: list[Json] = []
        """The messages in wire form. None of them changes later."""
        self.places: list[tuple[int, int]] = []
        """For each message of the request: the index of its first wire message, and the number of parts before it.

        A message of which nothing is sent counts as joined to the one before it.
        """

    def of(self, source: Sequence[RequestMessage], rules: Rules) -> WireMessages[Rules]:
        """Make the messages of this request; return this object."""
        # Not more than were built: the last request may have failed at one of its messages.
        same = min(common(source, self._source), len(self.places)) if rules == self._rules else 0
        while same < len(self.places) and self.places[same][1]:
            same -= 1  # the message that it was joined to is built again with it
        if same < len(self.places):
            self._cut(self.places[same][0])
        del self.places[same:]
        self._source, self._rules = source, rules
        for message in source[same:]:
            first = max(0, len(self.messages) - 1)  # it may be joined to the last one
            self._add(self._form(message, rules))
            if True in [is_long_part(part, _LONGEST_KEPT) for part in message.parts]:
                self._long.update(range(first, len(self.messages)))
        return self

    def texts(self, replaced: Mapping[int, Json]) -> list[bytes | Iterable[bytes]]:
        """Return the messages as JSON, with some of them replaced by number; long ones in pieces, made when read."""
        new = range(len(self._texts), len(self.messages))
        self._texts += [b""] * len(new)
        self._open.update(new)
        texts: list[bytes | Iterable[bytes]] = [*self._texts]
        for number in self._open | replaced.keys():
            sent = replaced.get(number, self.messages[number])
            if number in self._long:
                texts[number] = _pieces(sent)
                continue
            texts[number] = text = written(sent)
            if number not in replaced:
                self._texts[number] = text
                self._open.discard(number)
        return texts

    @property
    def has_long(self) -> bool:
        """True if it has long messages."""
        return bool(self._long)

    def _add(self, formed: Sequence[Json]) -> None:
        last = len(self.messages) - 1
        both = self._join(self.messages[last], formed[0]) if formed and self.messages else None
        if both:
            message, before = both
            self.places.append((last, before))
            self._cut(last)
            formed = [message, *formed[1:]]
        elif formed or not self.messages:
            self.places.append((last + 1, 0))
        else:
            self.places.append((last, 1))
        self.messages += formed

    def _cut(self, number: int) -> None:
        del self.messages[number:], self._texts[number:]
        for numbers in (self._open, self._long):
            numbers.difference_update([each for each in numbers if each >= number])


_NONE: Mapping[int, Json] = MappingProxyType({})


class BodyWriter:
    """Writer of bodies as JSON in UTF-8, without lone surrogates.

    A field with the same object as in the previous body is not encoded again.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, bytes]] = {}

    def write(
        self,
        fields: Mapping[str, Any],
        name: str,
        messages: WireMessages[Any],
        replaced: Mapping[int, Json] = _NONE,
        head: Sequence[Json] = (),
    ) -> bytes:
        """Write a body of these fields, and of `head` and messages under a name, with some of the messages replaced.

        Written objects must not change. If a user's setting adds a field of that name, its value is sent instead of the
        messages.
        """
        self._known = {field: (value, self._field(field, value)) for field, value in fields.items()}
        texts = [text for _, text in self._known.values()]
        if name in fields:
            return b"{%b}" % b",".join(texts)
        items = [*map(written, head), *messages.texts(replaced)]
        # Joined once: a long conversation's body is copied no second time.
        pieces: list[bytes | Iterable[bytes]] = [b"{", *(each for text in texts for each in (text, b","))]
        pieces += [b'"%b":[' % name.encode(), *[each for item in items for each in (item, b",")][:-1], b"]}"]
        return _joined(pieces) if messages.has_long else b"".join(cast("list[bytes]", pieces))

    def _field(self, field: str, value: Any) -> bytes:
        known = self._known.get(field)
        return known[1] if known and known[0] is value else b"%b:%b" % (written(field), written(value))


def written(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8, without lone surrogates and infinite numbers."""
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except ValueError:
        return _ENCODER.encode(sendable_json(value)).encode("utf-8")


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the JSON of a value like `written`, without a copy of its long texts."""
    return (text.encode() for text in json_texts(value, lambda part: written(part).decode()))


def _joined(pieces: Sequence[bytes | Iterable[bytes]]) -> bytes:
    """Join texts, some of which are made only now, one after the other."""
    buffer = BytesIO()
    for each in pieces:
        buffer.writelines((each,) if isinstance(each, bytes) else each)
    return buffer.getvalue()


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
