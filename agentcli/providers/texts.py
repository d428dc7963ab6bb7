"""Texts in the form that any provider's wire can carry."""

from __future__ import annotations

import re

from agentcli.core.message import File


def attachment(file: File) -> str:
    """A file of the user as text in a tag that its content cannot close."""
    text = re.sub(r"</(?=file\b)", "<\\\\/", file.text)
    return f'<file path="{file.path}">\n{text}\n</file>'


def sendable(text: str) -> str:
    """Text without lone surrogates, which no UTF-8 body can carry."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
