"""Text encodings: bytes to text and back without loss."""

from __future__ import annotations

import codecs
import re
from collections import Counter

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFFED = 8_000
"""Number of bytes that decide if a file is binary; the one that git uses."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a file, restored when it is written again."""

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


def decode_beginning(data: bytes) -> tuple[str, Encoding] | None:
    """Decode the beginning of a file like `decode`, without a character that is cut off at its end."""
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
    return _encoding(head) is None


def newline_style(text: str) -> str:
    """Return the line ending that most lines have; `\\n` if there is none."""
    found = Counter(re.findall(r"\r\n|\n|\r", text))
    return max(found, key=lambda ending: found[ending]) if found else "\n"


def with_newlines(text: str, ending: str) -> str:
    """Replace every line ending of the text."""
    return re.sub(r"\r\n|\n|\r", ending, text)


def clip(line: str, characters: int) -> str:
    """Cut a line to `characters`, adding the number of those left out."""
    if len(line) <= characters:
        return line
    return f"{line[:characters]} [… {len(line) - characters} more characters]"


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
        return _eight_bit(data)
    return Encoding()


def _wide(head: bytes) -> Encoding | None:
    """Detect UTF-16 without a mark: text in which nearly every second byte is zero."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if len(head) % 2 == 0 and half >= 4:
        if odd > 0.7 * half and even == 0:
            return Encoding("utf-16-le")
        if even > 0.7 * half and odd == 0:
            return Encoding("utf-16-be")
    return None


def _eight_bit(data: bytes) -> Encoding | None:
    """Detect UTF-8 with a few damaged bytes, or Latin-1; None if it is mostly control characters."""
    head = data[:_SNIFFED]
    controls = sum(head.count(byte) for byte in (*range(1, 8), *range(14, 27), *range(28, 32)))
    if controls > len(head) / 20:
        return None
    text = data.decode("utf-8", "surrogateescape")
    damaged = sum("\udc80" <= character <= "\udcff" for character in text)
    whole = sum(character > "\x7f" for character in text) - damaged
    return Encoding(errors="surrogateescape") if whole > damaged else Encoding("latin-1")
