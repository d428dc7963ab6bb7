"""Text of any origin: bytes of a file or program become text, and the text becomes the same bytes again.

Everything that is read passes through here: files, searches, command output, instructions, settings, piped input.
UTF-8, UTF-16 and UTF-32 are recognised by their form or byte order mark. Older encodings are recognised by the letters
that they produce.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = tuple(bom for bom, _ in _BOMS)
_SNIFFED = 8_000
"""Number of bytes that decide whether a file is binary, as in git."""


_FEW_ZEROS = 2
"""Zero bytes that prove nothing: a binary file may begin like rare letters of UTF-16."""


_SHORT = 12
"""Bytes below which a line beside binary data says nothing."""
_BINARY = b"[binary data left out]"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a file, restored when it is written."""

    name: str = "utf-8"
    bom: bytes = b""
    errors: str = "strict"


def decode(data: bytes) -> tuple[str, Encoding] | None:
    """Decode a file with its newlines unchanged; None for a binary file. `encode` restores exactly the same bytes."""
    encoding = _encoding(data)
    if encoding is None:
        return None
    try:
        return data[len(encoding.bom) :].decode(encoding.name, encoding.errors), encoding
    except UnicodeDecodeError:  # a byte order mark that is wrong
        return data.decode("latin-1"), Encoding("latin-1")


def readable(data: bytes) -> str:
    """Return the text of a file or a program's output for display.

    It has no byte order mark, and U+FFFD for bytes that are not text. Lines of binary data are left out, which it says.

    Output may mix encodings: lines in UTF-8 stay, and the others have their most likely common encoding.
    """
    if not data.startswith(_MARKS) and b"\0" not in data:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    encoding = _encoding(data)
    if encoding is not None and (encoding.bom or encoding.name.startswith("utf-16")):
        return replace_surrogates(data[len(encoding.bom) :].decode(encoding.name, "replace"))
    lines = data.split(b"\n")
    if encoding is None or b"\0" in data:
        lines = _without_binary(lines)
    foreign = b"\n".join(line for line in lines if not _is_utf8(line))
    other = _encoding(foreign) or Encoding(errors="replace")
    name = "utf-8" if other.errors != "strict" else other.name
    return "\n".join(line.decode("utf-8" if _is_utf8(line) else name, "replace") for line in lines)


def decode_beginning(data: bytes) -> tuple[str, Encoding] | None:
    """Decode the beginning of a file like `decode`, without a character cut off at its end."""
    encoding = _encoding(data)
    if encoding is None:
        return None
    try:
        decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
        return decoder.decode(data[len(encoding.bom) :]), encoding
    except UnicodeDecodeError:
        return decode(data)


def encode(text: str, encoding: Encoding, label: str) -> bytes:
    """Encode the text of a file. Raises ToolError for a character that the encoding lacks."""
    try:
        return encoding.bom + text.encode(encoding.name, encoding.errors)
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.end][:10]
        raise ToolError(
            f"{label} is {encoding.name}, which has no {wrong!r}. Nothing was changed. "
            "Use characters of that encoding, or convert the file first."
        ) from error


def is_binary(head: bytes) -> bool:
    """Return True if a file that begins like this is not text."""
    if head.startswith(_MARKS):
        return False
    if b"\0" in head[:_SNIFFED]:
        return _wide(head[:_SNIFFED]) is None
    return _mostly_controls(head) and not _is_utf8(head)


def is_wide(data: bytes) -> bool:
    """Return True for text in UTF-16 or UTF-32, where control sequences have other bytes."""
    return (b"\0" in data[:_SNIFFED] and _encoding(data) is not None) or data.startswith(_MARKS[1:])


def newline_style(text: str) -> str:
    """Return the most frequent line ending; `\\n` if there is none."""
    found = Counter(re.findall(r"\r\n|\n|\r", text))
    return max(found, key=lambda ending: found[ending]) if found else "\n"


def with_newlines(text: str, ending: str) -> str:
    """Replace every line ending of the text."""
    return re.sub(r"\r\n|\n|\r", ending, text)


def _encoding(data: bytes) -> Encoding | None:
    for bom, name in _BOMS:
        if data.startswith(bom):
            return Encoding(name, bom)
    head = data[:_SNIFFED]
    if b"\0" in head:
        return _wide(head)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end >= len(data) and error.reason == "unexpected end of data":
            return Encoding(errors="surrogateescape")
        return _older(data)
    return Encoding()


def _mostly_controls(data: bytes) -> bool:
    head = data[:_SNIFFED]
    return sum(head.count(byte) for byte in (*range(1, 8), *range(14, 27), *range(28, 32))) > len(head) / 20


def _without_binary(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines in which a remark replaces binary data, and short lines beside it that say nothing."""
    noise = [False, *map(_is_noise, lines), False]
    for place, line in enumerate(lines, 1):
        around = (noise[place - 1], noise[place + 1])
        noise[place] |= len(line) < _SHORT and (all(around) or (any(around) and not _is_utf8(line)))
    kept = zip(lines, noise[1:], noise, strict=False)
    return [_BINARY if binary else line for line, binary, before in kept if not (binary and before)]


def _is_noise(line: bytes) -> bool:
    """Return True for a line of binary data. Text that is separated by zero bytes, such as names of files, is none."""
    unknown = line.decode("utf-8", "replace").count("\ufffd")
    zeros = b"\0\0\0" in line or line.count(0) > len(line) / 2
    return zeros or _mostly_controls(line) or unknown > len(line) / 5


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _wide(head: bytes) -> Encoding | None:
    """Detect UTF-16 without a mark: nearly every second byte is zero, or only this reading gives letters and blanks."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if len(head) % 2 == 0 and half >= 4:
        if odd > 0.7 * half and even == 0:
            return Encoding("utf-16-le")
        if even > 0.7 * half and odd == 0:
            return Encoding("utf-16-be")
        if max(even, odd) > max(_FEW_ZEROS, 8 * min(even, odd)):
            name = "utf-16-le" if odd > even else "utf-16-be"
            text = head.decode(name, "replace")
            if re.search(r"\s", text) and sum(map(_is_text, text)) > 0.98 * len(text):
                return Encoding(name)
    return None


def _is_text(letter: str) -> bool:
    return letter in "\n\r\t" or (letter.isprintable() and letter != "\ufffd")


def _older(data: bytes) -> Encoding | None:
    """Detect UTF-8 with a few damaged bytes, or an encoding of one language.

    Return None if the result is mostly control characters.
    """
    if _mostly_controls(data):
        return None
    text = data.decode("utf-8", "surrogateescape")
    damaged = sum("\udc80" <= character <= "\udcff" for character in text)
    whole = sum(character > "\x7f" for character in text) - damaged
    if whole > damaged:
        return Encoding(errors="surrogateescape")
    from agentcli.core.text.older_encodings import older_encoding  # few texts need it

    return Encoding(older_encoding(data))
