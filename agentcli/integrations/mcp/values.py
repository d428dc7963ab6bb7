"""The SDK's answers, questions and failures as plain values of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from agentcli.core.servers import Content, ElicitedField, ServerAnswer

REASON_CHARACTERS = 300
"""Characters of the reason for a failure that are told."""
TEXT_CHARACTERS = 10_000_000
"""Characters of one text of an answer that are kept."""


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
        options = given.get("enum") or [
            each.get("const") for each in given.get("oneOf") or () if isinstance(each, dict)
        ]
        found.append(
            ElicitedField(
                name,
                str(given.get("type", "string")),
                str(given.get("title", "")),
                str(given.get("description", "")),
                tuple(map(str, options)),
                name in required,
                given.get("default"),
            )
        )
    return tuple(found)


def reason(error: BaseException) -> str:
    """The innermost cause of a failure, in a line: the SDK wraps it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case FileNotFoundError():
            return f"{error.filename or 'the command'} was not found"
        case OSError() if error.strerror:
            return error.strerror
        case TimeoutError():
            return "it did not answer in time"
        case _:
            return " ".join(str(error).split())[:REASON_CHARACTERS] or type(error).__name__
