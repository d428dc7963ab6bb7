"""Wire hygiene shared by the adapters: names, inputs and ids of tool calls, text without lone surrogates, token counts."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence, Set
from typing import Any, TypeVar, cast

from agentcli.context.inject import wrap
from agentcli.core.message import File, ToolCall
from agentcli.core.model import Request, RequestMessage
from agentcli.core.prefix import common

DEEPEST = 200
"""Levels of an input. No tool has a use for more, and recursion over what is much deeper fails."""
_LONGEST = 64
MOST = 10**12
"""Tokens; no request has as many."""

Body = TypeVar("Body")


def can_run(name: Any, given: Any) -> bool:
    """True if a call has a name and a whole input that is an object, as JSON has them."""
    return isinstance(name, str) and bool(name.strip()) and isinstance(given, dict) and not _too_deep(given)


def wire_name(name: str) -> str:
    """A call's name in the characters that every provider takes: a made-up name would have the request refused."""
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
    """The ids of tool calls in use, unique in a conversation. Some servers give none, or repeat one; then a call gets an id of our own."""

    def __init__(self, taken: Set[str] = frozenset()) -> None:
        self._taken = taken
        self._new: set[str] = set()
        self._calls: list[tuple[Any, Any, Any]] = []

    def again(self, given: Any, name: Any, arguments: Any) -> bool:
        """True if this very call, id included, came in this reply before: its event was sent twice."""
        call = (given, name, arguments)
        if not given or call in self._calls:
            return bool(given)
        self._calls.append(call)
        return False

    def fresh(self, given: Any) -> str:
        """The given id if it is one and new, else another; taken from now on."""
        taken = not isinstance(given, str) or not given or given in self._taken or given in self._new
        chosen = _new_id() if taken else given
        self._new.add(chosen)
        return chosen


class UsedIds:
    """The ids of tool calls that the newest request holds. Of a request that goes on from the one before, only the new messages are looked at."""

    def __init__(self) -> None:
        self._messages: Sequence[RequestMessage] = ()
        self._ids: set[str] = set()

    def of(self, request: Request) -> Ids:
        """The ids in use for the reply to a request."""
        same = common(request.messages, self._messages)
        if any(message.role == "assistant" for message in self._messages[same:]):
            self._ids, same = set(), 0
        for message in request.messages[same:]:
            self._ids.update(part.call_id for part in message.parts if isinstance(part, ToolCall))
        self._messages = request.messages
        return Ids(self._ids)


def wire_id(call_id: str, longest: int = _LONGEST) -> str:
    """A call id in the characters and the length that an API takes; another provider's id keeps its uniqueness by a digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) and len(call_id) <= longest:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def short_id(call_id: str) -> str:
    """A call id of nine letters and digits, the only ones that Mistral takes; one that is so already stays."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"


def attachment(file: File) -> str:
    """A file of the user as text in a tag that its content cannot close."""
    return wrap("file", file.text, path=file.path)


def sendable(text: str) -> str:
    """Text without lone surrogates, which no UTF-8 body can carry."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def fit_to_send(body: Body) -> Body:
    """A request's body, without lone surrogates; every request body passes through here. One without them, as nearly all are, is not copied."""
    try:
        json.dumps(body, ensure_ascii=False).encode("utf-8")
        return body
    except UnicodeEncodeError:
        return cast(Body, sendable_json(body))
    except RecursionError:
        return body


def sendable_json(value: Any) -> Any:
    """The same for every string in a JSON value: models do write escapes of half a character."""
    match value:
        case str():
            return sendable(value)
        case dict():
            return {sendable(key): sendable_json(item) for key, item in value.items()}
        case list():
            return [sendable_json(item) for item in value]
        case _:
            return value


def tokens(value: Any) -> int:
    """A number of tokens as a provider reports it; 0 for what is none: a wrong count must not cost the reply it comes with."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return int(value) if isinstance(value, int | float) and 0 < value <= MOST else 0
