"""Untrusted text made safe to show: characters that could deceive a terminal or a reader are escaped."""

from __future__ import annotations

import itertools
import re
import unicodedata
from pathlib import Path

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 except tab and newline: ESC, CSI, OSC, BEL, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Mongolian selectors
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"  # zero width, bidi, line separators, fillers
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # annotations, shorthand and music controls
    "\ud800-\udfff"  # lone surrogates: no terminal can encode them
    "\U000e0000-\U000e0fff]"  # tags and other ignorable characters of that plane
)
_JOINERS = "\u200c\u200d" + "".join(map(chr, range(0xFE00, 0xFE10)))
_JOINING = re.compile(f"[{_JOINERS}]+")
# Strings, which `re` compiles on first use: that takes milliseconds.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_JOINED_SCRIPTS = (
    "[\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua8ff\ua930-\uaadf\uabc0-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
"""Scripts whose letters U+200C and U+200D join or separate: Arabic, Indian and related scripts."""
_VARIED = (
    "[\u1000-\u109f\u2200-\u22ff\u2a00-\u2aff\u3000-\u303f\u3400-\u9fff\ua840-\ua87f\uaa60-\uaa7f\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)
"""Characters whose form U+FE00 to U+FE02 choose: ideographs, their punctuation, mathematical signs."""
_SPELLED_GROUPS = 8
_HARMLESS = bytes([*b"\t\n", *range(0x20, 0x7F)])
_INVISIBLE_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def safe(text: str) -> str:
    """Return the text with every control, bidi and tag character shown as an escape like `\\x1b` or `\\u202e`.

    Newline and tab stay. A carriage return before a newline is dropped, so that text with DOS line ends reads well.
    Joiners and variation selectors stay if an emoji or a letter beside them needs them. Others are invisible, so they
    are counted: `⟨U+FE0F×120⟩`.
    """
    if is_safe(text):
        return text
    return _JOINING.sub(_needed_or_counted, _HARMFUL.sub(_spelled, text.replace("\r\n", "\n")))


def is_safe(text: str) -> bool:
    """Return True if `safe` does not change the text. Its lines then end only in newlines; `str.splitlines` knows no
    other harmless end.
    """
    if text.isascii() and text.isprintable():
        return True
    # Few characters remain after deleting plain ASCII, which is much faster than matching it.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _HARMLESS)
    left = rest.decode("utf-8", "surrogatepass")
    if _HARMFUL.search(left):
        return False
    return not _JOINING.search(left) or all(map(_needed, _JOINING.finditer(text)))


def safe_line(text: str) -> str:
    """Return the text made safe for one line, such as a title, status or file name.

    It is like `safe`, but escapes newlines and tabs too.
    """
    if text.isascii() and text.isprintable():  # as most titles and names
        return text
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def coloured(line: str, most: int) -> str:
    """Return a line with its colours and nothing else that a terminal would obey, cut to `most` characters."""
    if "\x1b" not in line:
        return safe_line(line)[:most]
    colour = re.compile(r"\x1b\[[0-9;:]*m")
    text, left = "", most
    for piece, after in zip(colour.split(line), [*colour.findall(line), ""], strict=True):
        shown = safe_line(piece)[:left]
        left -= len(shown)
        text += shown + after
        if not left:
            break
    return f"{text}\x1b[0m"


def display_path(path: Path) -> str:
    """Return a path on one line, safe to show, with `~` for the home folder."""
    try:
        below = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere; no home
        return safe_line(str(path))
    return safe_line(str(Path("~", below)))


def harmful(text: str) -> str:
    """Return the distinct characters of a text that `safe_line` would escape, escaped; empty if there are none."""
    return ", ".join(dict.fromkeys(safe_line(letter) for letter in text if safe_line(letter) != letter))


def invisible(letter: str) -> bool:
    """Return True if a character is invisible or changes the order of others."""
    if "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef" or letter in _BLANK_LETTERS:
        return True
    return letter != " " and unicodedata.category(letter) in _INVISIBLE_KINDS


def is_needed_joiner(text: str, place: int) -> bool:
    """Return True if the character at `place` is a joiner that a neighbouring emoji or letter needs."""
    start = len(text[:place].rstrip(_JOINERS))
    match = _JOINING.match(text, start)
    return match is not None and match.end() > place and _needed(match)


def _needed_or_counted(match: re.Match[str]) -> str:
    return match.group() if _needed(match) else _counted(match.group())


def _counted(text: str) -> str:
    """Return the number of invisible characters, with their codes: `⟨U+FE0F×120⟩`."""
    groups = [(letter, len(list(same))) for letter, same in itertools.groupby(text)]
    shown = [f"U+{ord(letter):04X}{f'×{count}' if count > 1 else ''}" for letter, count in groups[:_SPELLED_GROUPS]]
    more = sum(count for _, count in groups[_SPELLED_GROUPS:])
    return f"⟨{' '.join(shown)}{f' and {more} more' if more else ''}⟩"


def _needed(match: re.Match[str]) -> bool:
    """Return True if a neighbouring emoji or letter needs these joiners and selectors. At an end of the text, assume
    that it does.
    """
    text, start, end, run = match.string, match.start(), match.end(), match.group()
    before, after = text[start - 1 : start], text[end : end + 1]
    emoji_before, emoji_after = _fits(_EMOJI, before), _fits(_EMOJI, after)
    if run in ("\ufe0e", "\ufe0f"):
        return emoji_before or (before in "0123456789#*" and after in ("", "\u20e3"))
    if run in ("\u200d", "\ufe0f\u200d") and emoji_before and emoji_after:
        return True
    if run in ("\u200c", "\u200d"):
        begins = run == "\u200d" and bool(after) and _fits(_JOINED_SCRIPTS, after)
        return begins or _fits(_JOINED_SCRIPTS, before)
    return "\ufe00" <= run <= "\ufe02" and len(run) == 1 and _fits(_VARIED, before)


def _fits(kind: str, letter: str) -> bool:
    return not letter or bool(re.match(kind, letter))


def _spelled(match: re.Match[str]) -> str:
    letter = match.group()
    return f"\\x{ord(letter):02x}" if letter.isascii() else letter.encode("ascii", "backslashreplace").decode("ascii")


def replace_surrogates(text: str) -> str:
    """Return text that can be sent anywhere: lone surrogates become U+FFFD."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)
