"""Untrusted text made safe to show: characters that could deceive a terminal or a reader are escaped."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but tab and newline: ESC, CSI, OSC, BEL, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Mongolian selectors
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"  # zero width, bidi, line separators, fillers
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # annotations, shorthand and music controls
    "\ud800-\udfff"  # lone surrogates: no terminal can encode them
    "\U000e0000-\U000e0fff]"  # tags and the rest of the plane's ignorable characters
)
_HARMLESS = bytes([*b"\t\n", *range(0x20, 0x7F)])
_INVISIBLE_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def safe(text: str) -> str:
    """The text with every control, bidi and tag character shown as an escape like `\\x1b` or `\\u202e`.

    Newline and tab stay. A carriage return before a newline is dropped, so that text with DOS line ends reads well.
    The joiners that emoji and some scripts need (U+200C, U+200D, variation selectors) stay as well: they move no other text.
    """
    return text if is_safe(text) else _HARMFUL.sub(_spelled, text.replace("\r\n", "\n"))


def is_safe(text: str) -> bool:
    """True if `safe` leaves the text as it is. Its lines then end in newlines alone: `str.splitlines` knows no other harmless end."""
    if text.isascii() and text.isprintable():
        return True
    # Few characters are left to be looked for once plain ASCII is gone, and bytes are deleted much faster than they are matched.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _HARMLESS)
    return not rest or not _HARMFUL.search(rest.decode("utf-8", "surrogatepass"))


def safe_line(text: str) -> str:
    """The same for a place that holds one line: a title, a status, a file name. Newlines and tabs are spelled out too."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def display_path(path: Path) -> str:
    """A path on one line, safe to show, with `~` for the home folder."""
    try:
        below = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere; no home
        return safe_line(str(path))
    return safe_line(str(Path("~", below)))


def harmful(text: str) -> str:
    """The characters of a text that `safe_line` would spell out, each once and spelled out; empty where there is none."""
    return ", ".join(dict.fromkeys(safe_line(letter) for letter in text if safe_line(letter) != letter))


def invisible(letter: str) -> bool:
    """True if this character is invisible or changes the order of others."""
    if " " <= letter <= "~":
        return False
    if "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef" or letter in _BLANK_LETTERS:
        return True
    return unicodedata.category(letter) in _INVISIBLE_KINDS or (letter != " " and unicodedata.category(letter) == "Zs")


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
