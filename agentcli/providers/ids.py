"""Ids of tool calls: one conversation, one meaning each, in letters that every provider takes."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Any

from agentcli.core.message import ToolCall
from agentcli.core.model import Request


class Ids:
    """The ids in use. Some servers give none, or the same one again and again; then a call gets one of our own."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._calls: list[tuple[Any, Any, Any]] = []

    def again(self, given: Any, name: Any, arguments: Any) -> bool:
        """Whether this very call, id and all, has come in this reply before: its event was sent twice."""
        call = (given, name, arguments)
        if not given or call in self._calls:
            return bool(given)
        self._calls.append(call)
        return False

    def fresh(self, given: Any) -> str:
        """The given id if it is one and new, else another; taken from now on."""
        chosen = given if isinstance(given, str) and given and given not in self._taken else _made()
        self._taken.add(chosen)
        return chosen


def used(request: Request) -> Ids:
    """The ids that a request already holds."""
    return Ids(part.call_id for turn in request.turns for part in turn.parts if isinstance(part, ToolCall))


def wire_id(call_id: str) -> str:
    """A call id in the letters that the Messages API takes; another provider's id keeps its uniqueness by a digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _made() -> str:
    return f"call_{secrets.token_hex(8)}"
