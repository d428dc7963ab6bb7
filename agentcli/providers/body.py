"""The body of a request: its messages in a wire's form, and its bytes.

If a request continues the one before, only its new messages are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from agentcli.core.model import RequestMessage
from agentcli.core.prefix import common
from agentcli.providers.wire import sendable_json

Json = dict[str, Any]
Rules = TypeVar("Rules")


class WireMessages(Generic[Rules]):
    """The messages of the newest request in a wire's form. Neighbours of one role are one message.

    `form` returns the wire messages for one message of the request under some rules; `content` is the field with their
    parts.
    """

    def __init__(self, form: Callable[[RequestMessage, Rules], Sequence[Json]], content: str) -> None:
        self._form, self._content = form, content
        self._rules: Rules | None = None
        self._source: Sequence[RequestMessage] = ()
        self._texts: list[bytes] = []
        self.messages: list[Json] = []
        """The messages in the wire's form. None of them changes later."""
        self.places: list[tuple[int, int]] = []
        """For each message of the request: the index of the wire message in which it begins (or would, if nothing of it is sent), and the number of parts before it there."""

    def of(self, source: Sequence[RequestMessage], rules: Rules) -> WireMessages[Rules]:
        """Make the messages of this request; return this object."""
        # Not more than were formed: the last request may have failed at one of its messages.
        same = min(common(source, self._source), len(self.places)) if rules == self._rules else 0
        while same < len(self.places) and self.places[same][1]:
            same -= 1  # the message that it was joined to is made again with it
        if same < len(self.places):
            self._cut(self.places[same][0])
        del self.places[same:]
        self._source, self._rules = source, rules
        for message in source[same:]:
            self._add(self._form(message, rules))
        return self

    def texts(self, replaced: Mapping[int, Json]) -> list[bytes]:
        """Return the messages as JSON, some of them replaced by number."""
        self._texts += [written(message) for message in self.messages[len(self._texts) :]]
        texts = list(self._texts)
        for number, message in replaced.items():
            texts[number] = written(message)
        return texts

    def _add(self, formed: Sequence[Json]) -> None:
        before = self.messages[-1] if self.messages else None
        if before and (not formed or before["role"] == formed[0]["role"]):
            parts, formed = before[self._content], list(formed)
            self.places.append((len(self.messages) - 1, len(parts)))
            if formed:
                self._cut(len(self.messages) - 1)
                formed[0] = {**formed[0], self._content: [*parts, *formed[0][self._content]]}
        else:
            self.places.append((len(self.messages), 0))
        self.messages += formed

    def _cut(self, number: int) -> None:
        del self.messages[number:], self._texts[number:]


class BodyWriter:
    """Writer of bodies as JSON in UTF-8, without lone surrogates.

    A field with the same object as in the body before is not encoded again.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, bytes]] = {}

    def write(
        self, fields: Mapping[str, Any], name: str, messages: WireMessages[Any], replaced: Mapping[int, Json]
    ) -> bytes:
        """Write a body of these fields, and of messages under a name, some of them replaced.

        Written objects must not change. If the fields contain that name, by a setting of the user, its value is sent
        instead of the messages.
        """
        self._known = {field: (value, self._field(field, value)) for field, value in fields.items()}
        texts = [text for _, text in self._known.values()]
        if name in fields:
            return b"{%b}" % b",".join(texts)
        head = b",".join([*texts, b'"%b":[' % name.encode()])
        return b"".join((b"{", head, b",".join(messages.texts(replaced)), b"]}"))

    def _field(self, field: str, value: Any) -> bytes:
        known = self._known.get(field)
        return known[1] if known and known[0] is value else b"%b:%b" % (written(field), written(value))


def written(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8, without lone surrogates and infinite numbers."""
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except ValueError:
        return _ENCODER.encode(sendable_json(value)).encode("utf-8")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
