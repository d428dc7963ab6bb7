"""Wire hygiene shared by the adapters: names, inputs and ids of tool calls, text without lone surrogates, token counts."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence, Set
from math import isfinite
from typing import Any, TypeVar, cast

from agentcli.context.inject import wrap
from agentcli.core.message import File, ToolCall
from agentcli.core.model import Request, RequestMessage
from agentcli.core.prefix import common

DEEPEST = 200
"""Maximum levels of an input. No tool needs more, and recursion over much deeper ones fails."""
_LONGEST = 64
MOST = 10**12
"""Maximum tokens: no request has as many."""

Body = TypeVar("Body")


def can_run(name: Any, given: Any) -> bool:
    """Return True if a call has a name, and as its input a whole object that is not too deep."""
    return isinstance(name, str) and bool(name.strip()) and isinstance(given, dict) and not _too_deep(given)


def wire_name(name: str) -> str:
    """Rewrite a call's name in characters that every provider takes: an invented name would get the request refused."""
    letters = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST]
    return letters if re.match(r"[a-zA-Z_]", letters) else f"_{letters}"[:_LONGEST]


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in inner if isinstance(each, dict | list)]


class Ids:
    """The ids of tool calls in use, unique in a conversation.

    If a server gives no id, or repeats one, the call gets an id of our own.
    """

    def __init__(self, taken: Set[str] = frozenset()) -> None:
        self._taken = taken
        self._new: set[str] = set()
        self._calls: list[tuple[Any, Any, Any]] = []

    def again(self, given: Any, name: Any, arguments: Any) -> bool:
        """Return True if the same call, id included, occurred in this reply before: its event was sent twice."""
        call = (given, name, arguments)
        if not given or call in self._calls:
            return bool(given)
        self._calls.append(call)
        return False

    def fresh(self, given: Any) -> str:
        """Return the given id if it is valid and unused, else another one; it then counts as used."""
        taken = not isinstance(given, str) or not given or given in self._taken or given in self._new
        chosen = _new_id() if taken else given
        self._new.add(chosen)
        return chosen


class UsedIds:
    """The ids of tool calls in the newest request.

    If a request continues the one before, only its new messages are read.
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


def wire_id(call_id: str, longest: int = _LONGEST) -> str:
    """Rewrite a call id in the characters and length that an API takes; a digest keeps another provider's id unique."""
    if re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) and len(call_id) <= longest:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def short_id(call_id: str) -> str:
    """Return a call id of nine letters and digits, the only form that Mistral takes; such an id is unchanged."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"


def attachment(file: File) -> str:
    """Write a file of the user as text in a tag that its content cannot close."""
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
    """Remove lone surrogates and infinite numbers from a request's body, through which every body passes.

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
    """Return a number of tokens from a provider; 0 if it is invalid, as a wrong count must not cost the reply."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return int(value) if isinstance(value, int | float) and 0 < value <= MOST else 0
