"""Attachments of a prompt, each with its readable size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentcli.context.tokens.counter import dimensions, image_tokens
from agentcli.context.window import is_reference, kept
from agentcli.core.images import ENDINGS
from agentcli.core.message import GOES_ON, File, Image, Message, Text
from agentcli.core.sanitise import safe
from agentcli.core.text.words import PASTED_IMAGE, labelled, plural
from agentcli.frontends.terminal.render.pieces import Attached, Note, UserMessage


def user_message(typed: str, images: dict[str, int]) -> tuple[UserMessage | Note, ...]:
    """Return the pieces of a sent prompt. `images` has the numbers of pasted images.

    If the text is too large for the window, return its beginning and a note that names its file.
    """
    large = kept(typed)
    if large is None:
        return (UserMessage(safe(labelled(typed, images))),)
    note = f"Too large to send whole: kept in {large.path}; its first and last lines are sent."
    return UserMessage(safe(large.beginning), lines=large.lines), Note("act", safe(note))


def attached(message: Message, images: dict[str, int]) -> Iterator[Attached]:
    """Yield the files, folders, pictures and skills of a prompt."""
    for part in message.parts:
        match part:
            case Image(path=path):
                yield Attached(_name(path, images) or "image", _picture(part))
            case File("inode/directory", path, text):
                yield Attached(path, plural(len(text.splitlines()), "entry"))
            case File("application/octet-stream", path):
                yield Attached(path, "binary: its content is not sent")
            case File(mime, path) if mime in ENDINGS:
                yield Attached(_name(path, images), "damaged: it is not sent")
            case File(path=path, text=text) if is_reference(text):
                yield Attached(path, "large: its first and last lines are sent")
            case File(path=path, text=text) if text.endswith(GOES_ON):
                yield Attached(path, f"the first {len(text) - len(GOES_ON):,} characters")
            case File(path=path, text=text):
                yield Attached(path, plural(len(text.splitlines()), "line"))
            case Text(text, True, "skill") if found := re.match(r'<(skill|command) name="([^"]*)"', text):
                yield Attached(f"{found[1]} {found[2]}", plural(len(text.splitlines()), "line"))
            case _:
                pass


def _name(path: str, images: dict[str, int]) -> str:
    found = PASTED_IMAGE.search(path)
    return labelled(found[0], images)[1:-1] if found else path


def _picture(image: Image) -> str:
    size = dimensions(image)
    pixels = f"{size[0]:,}×{size[1]:,}, " if size else ""
    return pixels + plural(image_tokens(image), "token")
