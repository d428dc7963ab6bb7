"""Texts in the form that any provider's wire can carry."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from agentcli.context.inject import wrap
from agentcli.core.message import File

Body = TypeVar("Body")


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
    """A request's body, whatever its texts came from, without lone surrogates: the one place that all of it goes through."""
    try:
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
