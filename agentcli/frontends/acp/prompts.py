"""Prompts of an editor: content blocks turned into a prompt with its attachments."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.ports import Prompt
from agentcli.core.errors import InputError
from agentcli.core.images import ENDINGS, IMAGE_BYTES, damage_of, mime_of
from agentcli.core.message import File, Image, Part
from agentcli.frontends.terminal.input.attachments import binary, mention, mentioned, with_attachments

Block = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock


def typed_text(blocks: Sequence[Block]) -> str:
    """Return the text of a prompt: links to files as `@path`, other links unchanged."""
    text = ""
    for block in blocks:
        piece = _text(block)
        # A mention is recognised only between blanks.
        apart = isinstance(block, ResourceContentBlock) and text and not text[-1].isspace()
        text += f" {piece}" if apart else piece
        text += " " * isinstance(block, ResourceContentBlock)
    return text.rstrip(" ")


async def prompt_of(blocks: Sequence[Block], cwd: Path, buffers: UnsavedBuffers) -> Prompt:
    """Return the prompt, with images and embedded resources before the text, and mentioned files with their unsaved changes.

    Raise InputError for content that cannot be sent.
    """
    attached = tuple(part for block in blocks for part in _parts(block))
    text = typed_text(blocks)
    if not attached and not text.strip():
        raise InputError("The prompt is empty.")
    return with_attachments(text, cwd, attached, await buffers.contents(mentioned(text, cwd)))


def only_text(blocks: Sequence[Block]) -> str:
    """Return a prompt for another program's session, which takes text and mentions of files.

    Raise InputError for other content.
    """
    text = ""
    for block in blocks:
        match block:
            case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource) if path := _path(
                resource.uri
            ):
                text += f" {mention(path)} "
            case TextContentBlock() | ResourceContentBlock():
                text += typed_text([block])
            case _:
                raise InputError(
                    "This session is open in another program, which takes only text and files by their path."
                )
    return text.strip()


def _text(block: Block) -> str:
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            path = _path(block.uri)
            return mention(path) if path else f"{block.name} ({block.uri})"
        case _:
            return ""


def _parts(block: Block) -> list[Part]:
    match block:
        case ImageContentBlock():
            return [_image(block.mime_type, block.data, block.uri or "")]
        case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
            return [File(resource.mime_type or "text/plain", _path(resource.uri) or resource.uri, resource.text)]
        case EmbeddedResourceContentBlock(resource=BlobResourceContents() as resource):
            mime = resource.mime_type or "application/octet-stream"
            if mime in ENDINGS:
                return [_image(mime, resource.blob, resource.uri)]
            return [binary(_path(resource.uri) or resource.uri, len(resource.blob) * 3 // 4, mime)]
        case AudioContentBlock():
            raise InputError("The model can't receive audio. Send text, images or files.")
        case _:
            return []


def _image(mime: str, data: str, uri: str) -> Image:
    if mime not in ENDINGS:
        raise InputError(f"Can't send images of type {mime}: use {', '.join(ENDINGS)}.")
    if len(data) * 3 // 4 > IMAGE_BYTES:
        raise InputError(f"An image may have {IMAGE_BYTES:,} bytes at most. Make it smaller and attach it again.")
    if why := damage_of(data):
        raise InputError(f"No model can read this image: {why}. Attach another one.")
    return Image(mime_of(base64.b64decode(data[:32])), data, _path(uri))


def _path(uri: str) -> str:
    """Return the path of a `file:` URI; empty for any other URI."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else ""
