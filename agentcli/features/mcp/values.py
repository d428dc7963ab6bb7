"""The SDK's answers, questions and failures as our plain values."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Mapping
from http.client import responses
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from pydantic import ValidationError

from agentcli.core.errors import in_words, innermost
from agentcli.core.mcp_servers import Content, ElicitedField, ServerAnswer

REASON_CHARACTERS = 300
"""Largest length of the reason for a failure, in characters."""
TEXT_CHARACTERS = 10_000_000
"""Maximum characters of one text of an answer; the rest is omitted."""
_NO_PATH = (404, 405)
"""Statuses of a server that has nothing of this kind at the path."""


def answer_of(result: types.CallToolResult) -> ServerAnswer:
    return ServerAnswer(tuple(map(content_of, result.content)), result.structured_content, bool(result.is_error))


def content_of(block: Any) -> Content:
    match block:
        case types.TextContent():
            return Content("text", _cut(block.text))
        case types.ImageContent():
            return Content("image", data=block.data, mime=block.mime_type)
        case types.AudioContent():
            return Content("audio", data=block.data, mime=block.mime_type)
        case types.ResourceLink():
            return Content("link", uri=str(block.uri), name=block.name)
        case types.EmbeddedResource():
            return resource_of(block.resource)
        case _:
            return Content("text", str(block))


def resource_of(found: Any) -> Content:
    if isinstance(found, types.TextResourceContents):
        return Content("text", _cut(found.text), uri=str(found.uri))
    return Content("blob", data=found.blob, mime=found.mime_type or "", uri=str(found.uri))


def _cut(text: str) -> str:
    left = len(text) - TEXT_CHARACTERS
    return text if left <= 0 else f"{text[:TEXT_CHARACTERS]}\n[{left:,} characters more were left out]"


def progress_text(done: float, total: float | None, message: str | None) -> str:
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{message or 'progress'} ({share})\n"


def fields_of(schema: Mapping[str, Any]) -> tuple[ElicitedField, ...]:
    required = schema.get("required") or ()
    found = []
    for name, given in (schema.get("properties") or {}).items():
        found.append(
            ElicitedField(
                name,
                str(given.get("type", "string")),
                str(given.get("title", "")),
                str(given.get("description", "")),
                _choices(given) or _choices(given.get("items")),
                name in required,
                given.get("default"),
            )
        )
    return tuple(found)


def _choices(given: Any) -> dict[str, str]:
    """Return the values that a schema lists, by their titles if it has some."""
    if not isinstance(given, Mapping):
        return {}
    values, titles = given.get("enum") or (), given.get("enumNames") or ()
    listed = [each for each in given.get("oneOf") or given.get("anyOf") or () if isinstance(each, Mapping)]
    named = [(each.get("title", each.get("const")), each.get("const")) for each in listed]
    named += zip_longest(titles[: len(values)], values) if titles else [(value, value) for value in values]
    return {str(value if title is None else title): str(value) for title, value in named}


def reason(error: BaseException) -> str:
    """Return the innermost cause of a failure in one line, without the SDK's exception groups."""
    error = _first(error)
    match error:
        case FileNotFoundError():
            name = str(error.filename or "the command")
            cure = "; put its arguments into args" if " " in name and shutil.which(name.split(" ")[0]) else ""
            return f"{name} was not found{cure}"
        case OSError() if error.strerror:
            return error.strerror
        case TimeoutError():
            return "it did not answer in time"
        case ValidationError():
            return "its answer does not have the form of the protocol"
        case _:
            return " ".join(str(error).split())[:REASON_CHARACTERS] or type(error).__name__


def not_connected_to(url: str, error: BaseException, refused: int) -> str:
    """Return why a server's URL could not be connected, with its address: `refused` is the HTTP status, or 0.

    Only host and port are shown: paths and queries may contain keys.
    """
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if refused:
        answer = f"it answered {refused} {responses.get(refused, '')}".rstrip()
        return f"{answer} at {address}{'; check its path' if refused in _NO_PATH else ''}"
    if not isinstance(_first(error), httpx2.ConnectError):
        return reason(error)
    cause = innermost(error)
    if isinstance(cause, ssl.SSLError):
        return f"can't reach it at {address}: {in_words(cause)}"
    return f"can't reach it at {address} ({in_words(cause)}); start it, or correct its address"


def _first(error: BaseException) -> BaseException:
    """Return the error itself, without the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
