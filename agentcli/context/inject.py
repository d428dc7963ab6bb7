"""Wrappers of injected text, named by its source; nothing in the text can close its wrapper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from agentcli.core.message import File, Image, Part, Source, Text

TAGS: Mapping[Source, str] = MappingProxyType(
    {
        "": "system-reminder",
        "reminder": "system-reminder",
        "file": "file",
        "shell": "shell-output",
        "hook": "hook-context",
    }
)
"""Wrapper of each source. Texts by the compactor, a skill or a slash command have their own form and no wrapper."""


def is_injection(part: Part) -> bool:
    """Return True if a part of a user's message is neither the user's own text nor an image."""
    match part:
        case Text(synthetic=synthetic, source=source):
            return synthetic and source != "inline"  # which stays in its place in the user's text
        case File():
            return True
        case _:
            return False


def injections_first(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of one user message in the order of sending: injections, then the user's own text."""
    return tuple(sorted(parts, key=lambda part: not is_injection(part)))


def wrapped(part: Part) -> Part:
    """Return the part as the model sees it: an injection or a file in its wrapper, anything else unchanged."""
    match part:
        case Text(text, True, source) if source in TAGS:
            return _wrapped(text, source)
        case File(_, path, text):
            return _wrapped(text, "file", path)
        case _:
            return part


def without_images(part: Part) -> Part:
    """Return the part for a model without image input.

    A line states that an image was omitted; the rest is `wrapped`.
    """
    match part:
        case Image(mime, _, path):
            return Text(f"[{mime} image {path}".rstrip() + " left out: this model takes no images]", True, "compactor")
        case _:
            return wrapped(part)


def wrap(tag: str, text: str, **attributes: str | int) -> str:
    """Return the text between an opening and a closing tag.

    Closing tags of that name inside it are made harmless.
    """
    opening = "".join(f' {name}="{_attribute(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{opening}>\n{escape(tag, text)}\n</{tag}>"


def escape(tag: str, text: str) -> str:
    """Return the text with the `<` of every closing tag of that name written as `&lt;`.

    The tag may be in any case and contain any blanks.
    """
    if "<" not in text:
        return text
    return _closing(tag).sub("&lt;", text)


@cache
def _closing(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<(?=\s*/\s*{re.escape(tag)}\b)", re.IGNORECASE)


@lru_cache(maxsize=128)
def _wrapped(text: str, source: Source, path: str = "") -> Text:
    # Cached so that the same injection is the same object in every request, and is measured once.
    return Text(wrap(TAGS[source], text, path=path) if path else wrap(TAGS[source], text), True, source)


def _attribute(value: str) -> str:
    return (
        value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    )
