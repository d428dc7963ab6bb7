"""Answers of MCP servers as results: text and images; other data goes to files that the text names."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from agentcli.core.codec.encode import dumps
from agentcli.core.images import ENDINGS, IMAGE_BYTES, damage_of, mended, mime_of
from agentcli.core.mcp_servers import (
    Content,
    KeepFile,
    ServerAnswer,
)
from agentcli.core.message import Image
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.text.truncate import truncate_bytes
from agentcli.core.tool import NO_OUTPUT, ToolContext, ToolOutput
from agentcli.tools.lib.truncate import whereabouts

DATA_BYTES = 25_000_000
"""Maximum bytes of a sound or other file from a server that is stored."""
_NEAR, _FAR = 2_000, 1_000
"""Characters around the last value to search first for the next; maximum searches of the whole text."""


def output_of(ctx: ToolContext, call_id: str, answer: ServerAnswer) -> ToolOutput:
    """Return the answer as text and images; other data goes to files mentioned in the text."""
    lines: list[str] = []
    images: list[Image] = []
    for number, content in enumerate(answer.contents, 1):
        if (image := image_of(content)) is not None:
            images.append(image)
        elif content.kind == "link":
            lines.append(f"[resource {content.name}: {content.uri}]")
        elif content.kind == "text":
            lines.append(content.text)
        else:
            lines.append(kept_data(ctx.keep_output, f"{call_id}-{number}", content))
    texts = [content.text for content in answer.contents if content.kind == "text"]
    if answer.structured is not None and not _is_said(answer.structured, texts):
        lines.append(dumps(answer.structured))
    return shortened(ctx, call_id, "\n".join(lines), images, failed=answer.failed)


def _is_said(structured: Any, texts: Sequence[str]) -> bool:
    """Return True if the texts contain every value of the structure, as most servers repeat it there.

    Each value is searched near the previous one. A structure with many values elsewhere counts as missing: searching
    the whole text for each of them would take minutes.
    """
    said, at, far = "\n".join(texts), 0, 0
    for value in _values(structured):
        forms = dict.fromkeys((value, dumps(value)[1:-1], json.dumps(value)[1:-1]))
        end = _end_of(forms, said, max(0, at - _NEAR), at + _NEAR)
        if end < 0:
            far += 1
            end = _end_of(forms, said, 0, len(said)) if far <= _FAR else -1
        if end < 0:
            return False
        at = end
    return bool(said.strip())


def _end_of(forms: Collection[str], said: str, start: int, stop: int) -> int:
    """Return the end of the first match of any of the forms; -1 if there is none.

    A match begins from `start` to `stop`.
    """
    return next((at + len(form) for form in forms if (at := said.find(form, start, stop + len(form))) >= 0), -1)


def _values(structured: Any) -> Iterator[str]:
    """Yield the texts and numbers of a structure as a text would have them."""
    match structured:
        case dict():
            yield from chain.from_iterable(map(_values, structured.values()))
        case list():
            yield from chain.from_iterable(map(_values, structured))
        case str():
            yield structured
        case bool() | int() | float():
            yield dumps(structured)
        case _:
            pass


def shortened(ctx: ToolContext, call_id: str, text: str, images: Sequence[Image], *, failed: bool) -> ToolOutput:
    """Return a text and images as a result. A text that is too long is shortened; a file keeps the whole of it."""
    text = replace_surrogates(text) or ("" if images else NO_OUTPUT)
    text = text or f"({len(images)} image{'s' if len(images) > 1 else ''})"
    size, most, file = len(text.encode("utf-8", "replace")), ctx.limits.bash_output, ""
    if size > most:
        file = ctx.keep_output(call_id, text)
        text = truncate_bytes(
            text, most, f"{size - most:,} of {size:,} bytes left out here{whereabouts(file, call_id)}"
        )
    return ToolOutput(
        text, status="error" if failed else "success", truncated=bool(file), output_file=file, images=tuple(images)
    )


def image_of(content: Content) -> Image | None:
    """Return the image in a part of an answer; None if it is damaged, too large or of another type.

    The first bytes decide the type.
    """
    if content.kind not in ("image", "blob") or len(content.data) * 3 // 4 > IMAGE_BYTES:
        return None
    try:
        mime = mime_of(base64.b64decode(content.data[:32]))
        if mime not in ENDINGS:
            return None
        data = content.data
        if damage_of(data):
            data = base64.b64encode(mended(base64.b64decode(data, validate=True))).decode()
    except (binascii.Error, ValueError):
        return None
    return None if damage_of(data) else Image(mime, data)


def kept_data(keep: KeepFile, name: str, content: Content) -> str:
    """Return a line that replaces data that no model accepts, with the file that contains the data."""
    about = safe_line(" ".join(filter(None, [content.kind, content.mime, content.uri])))
    try:
        data = base64.b64decode(content.data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{about}: left out, since it is no valid base64]"
    if len(data) > DATA_BYTES:
        return f"[{about}: left out, since its {len(data):,} bytes are more than the {DATA_BYTES:,} that are kept]"
    file = keep(name, data, _ending(content.mime))
    return f"[{about}: {len(data):,} bytes, {f'in {file}' if file else 'not kept: this session is not stored'}]"


def _ending(mime: str) -> str:
    """Return the file extension for this type, from the type alone: names from a server are not trusted."""
    ending = mimetypes.guess_extension(mime.partition(";")[0].strip().lower()) or ""
    return ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) and ending != ".txt" else ".bin"
