"""A message too large for the window: written to a file and replaced by a reference with its first and last lines."""

from __future__ import annotations

import re
from pathlib import PurePath

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass

_NOTICE = "[Large input saved to "
_REFERENCE = re.compile(re.escape(_NOTICE) + r"(.+): ([\d,]+) lines, [\d,]+ bytes, about .*\]\n")
_LEFT_OUT = re.compile(r"\n\[… [\d,]+ more lines in .+ …\]\n")


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a text."""

    bytes: int
    lines: int
    tokens: int


def is_oversize(text: str, window: Window) -> bool:
    """Return True if user input should go to a file: above `large_input_tokens`, or `large_input_share` of a small window."""
    settings = window.settings
    limit = min(settings.large_input_tokens, int(window.usable * settings.large_input_share))
    # No text has more tokens than bytes, so the usual short prompt is not even counted.
    return len(text) * 4 > limit and window.counter.text(text) > limit


def size_of(text: str, counter: TokenCounter) -> Size:
    """Return the size of a text, its bytes as UTF-8."""
    return Size(len(text.encode("utf-8", "surrogatepass")), text.count("\n") + 1, counter.text(text))


def is_reference(text: str) -> bool:
    """Return True for a text made by `reference`."""
    return text.startswith(_NOTICE)


@dataclass(frozen=True, slots=True)
class Kept:
    """A text that is kept in a file: its number of lines, and the first of them."""

    path: str
    lines: int
    beginning: str


def kept(text: str) -> Kept | None:
    """Return the kept text behind a reference made by `reference`; None for any other text."""
    found = _REFERENCE.match(text)
    if found is None:
        return None
    return Kept(found[1], int(found[2].replace(",", "")), _LEFT_OUT.split(text[found.end() :], maxsplit=1)[0])


def reference(text: str, path: str, size: Size, settings: ContextSettings) -> str:
    """Return the reference that replaces the text in the message: its file, size, first and last lines."""
    head, tail, left_out = _ends(text, settings.large_input_lines, settings.large_input_line)
    notice = (
        f"{_NOTICE}{path}: {size.lines:,} lines, {size.bytes:,} bytes, about {size.tokens:,} tokens. "
        f'Read the parts you need with the read tool, or with recall(id="{PurePath(path).stem}").]'
    )
    between = f"[… {left_out:,} more lines in {path} …]"
    return "\n".join([notice, *head, *([between, *tail] if left_out else tail)])


def _ends(text: str, count: int, width: int) -> tuple[list[str], list[str], int]:
    lines = text.split("\n")
    cut = [
        line if len(line) <= width else f"{line[:width]} [… {len(line) - width:,} more characters]"
        for line in lines[:count]
    ]
    rest = lines[count:]
    last = rest[-count:] if count else []
    tail = [
        line if len(line) <= width else f"[{len(line) - width:,} characters before …] {line[-width:]}" for line in last
    ]
    return cut, tail, len(rest) - len(last)
