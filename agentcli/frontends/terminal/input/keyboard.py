"""Key decoder for the terminal's bytes; a paste of any size is one key, in linear time."""

from __future__ import annotations

import codecs
import os
import re
import select
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

_START, _END = "\x1b[200~", "\x1b[201~"
_CHUNK = 65536
_MOMENT, _CRUMB = 0.05, 0.005
"""Seconds for which a paste is read without a pause, and to wait then for its next bytes."""
ASK_BACKGROUND = "\x1b]11;?\x1b\\"
"""The terminal answers with its background colour, or not at all."""
_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4}/[0-9a-fA-F]{1,4}/[0-9a-fA-F]{1,4})[^\x07\x1b]{0,5}(?:\x07|\x1b\\)"
)
_BACKGROUND_BEGINS = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,30}\x1b?)?)?)?$")
_WIDTH = re.compile(r"\x1b\[\d{1,5};(\d{2,5})R")
_WIDTH_BEGINS = re.compile(r"\x1b\[\d{1,5}(?:;\d{0,5})?$")
"""An answer to ASK_WIDTH. A key that looks like one, such as Shift-F3, has only one digit."""
_ENTERS: dict[str, Keys | tuple[Keys, ...]] = {
    **dict.fromkeys(("\x1b[27;2;13~", "\x1b[13;2u", "\x1b[27;5;13~", "\x1b[13;5u"), Keys.ControlJ),
    **dict.fromkeys(("\x1b[27;3;13~", "\x1b[13;3u"), (Keys.Escape, Keys.ControlM)),
}
"""Enter with Shift or Ctrl, and with Alt, from terminals that distinguish them."""


class Keyboard(Vt100Input):
    """Terminal input in linear time: prompt_toolkit's reader takes 1 KB at a time and rescans the whole paste each
    time.

    `light`: True for a light background, once the terminal has answered ASK_BACKGROUND. `on_width` gets the answers to
    ASK_WIDTH, which do not wake a reader that waits for keys. `processed` is called after keys were processed.
    """

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        ANSI_SEQUENCES.update(_ENTERS)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._shut = False
        self._text = ""
        self._paste: list[str] | None = None
        self.light: bool | None = None
        self.burst = False
        """True if the last keys were read several at once, faster than any person types."""
        self.on_width: Callable[[int], None] | None = None
        self.processed: Callable[[], None] = lambda: None

    @property
    def closed(self) -> bool:
        """True once the terminal is closed."""
        return self._shut

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Watch the terminal; the callback is called for keys only."""

        def ready() -> None:
            held = self._text
            if self.on_width is not None:
                self._text += self._decoder.decode(self._read())
                self._lift_widths()
            # The call restarts the wait for the rest of an Esc sequence. Answers alone must not restart it: during a
            # reply they arrive faster than that wait ends.
            if self.on_width is None or self._text not in ("", held) or self._shut or self._paste is not None:
                input_ready_callback()
                self.processed()

        return super().attach(ready)

    @property
    def waiting(self) -> bool:
        """True if keys wait to be read."""
        return self._comes(0)

    def await_widths(self, count: Callable[[], bool], seconds: float) -> None:
        """Read until all answers to ASK_WIDTH have arrived, or the time is over; keys read meanwhile are kept."""
        until = time.monotonic() + seconds
        while count() and not self._shut and (left := until - time.monotonic()) > 0 and self._comes(left):
            self._text += self._decoder.decode(self._take())
            self._lift_widths()

    def read_keys(self) -> list[KeyPress]:
        """Return the keys since the last call. Wait briefly for more of a paste, which arrives in small pieces."""
        keys = self.keys_of(self._read())
        until = time.monotonic() + _MOMENT
        while self._paste is not None and not self._shut and time.monotonic() < until and self._comes(_CRUMB):
            keys += self.keys_of(self._take())
        self.burst = len(keys) > 1
        return keys

    def flush_keys(self) -> list[KeyPress]:
        """Return incomplete keys, above all Esc, unchanged."""
        self._feed_plain(self._text)
        self._text = ""
        return super().flush_keys()

    def drop(self) -> list[KeyPress]:
        """Discard the keys that wait to be read; returns them."""
        dropped: list[KeyPress] = []
        while self._comes(0) and not self._shut:
            dropped += self.keys_of(self._read())
        return dropped + self.flush_keys()

    def keys_of(self, data: bytes) -> list[KeyPress]:
        """Decode bytes to keys; a truncated mark or character waits for its rest."""
        self._text += self._decoder.decode(data)
        while self._text:
            if not (self._in_paste() if self._paste is not None else self._outside()):
                break
        keys, self._buffer = self._buffer, []
        return keys

    def _comes(self, seconds: float) -> bool:
        return bool(select.select([self.fileno()], [], [], seconds)[0])

    def _read(self) -> bytes:
        try:
            return self._take() if self._comes(0) else b""
        except InterruptedError:
            return b""

    def _take(self) -> bytes:
        try:
            data = os.read(self.fileno(), _CHUNK)
        except OSError:
            data = b""
        self._shut = not data
        return data

    def _outside(self) -> bool:
        """Decode keys up to a paste; False if the rest may be the start of a mark."""
        self._lift_widths()
        if answer := _BACKGROUND.search(self._text):
            self.light = _is_light(answer[1])
            self._text = self._text[: answer.start()] + self._text[answer.end() :]
        if _BACKGROUND_BEGINS.search(self._text) or (self.on_width and _WIDTH_BEGINS.search(self._text)):
            return False
        before, mark, after = self._text.partition(_START)
        if mark:
            self._feed_plain(before)
            self._text, self._paste = after, []
            return True
        held = _beginning(self._text, _START)
        self._feed_plain(self._text[: len(self._text) - held])
        self._text = self._text[len(self._text) - held :]
        return False

    def _lift_widths(self) -> None:
        """Take the answers to ASK_WIDTH out of the text before a paste."""
        if self.on_width is None or self._paste is not None:
            return
        before, mark, after = self._text.partition(_START)
        for answer in _WIDTH.finditer(before):
            self.on_width(int(answer[1]))
        self._text = _WIDTH.sub("", before) + mark + after

    def _in_paste(self) -> bool:
        """Collect pasted text; False until its end arrives."""
        assert self._paste is not None
        text, mark, after = self._text.partition(_END)
        if mark:
            pasted = "".join([*self._paste, text])
            self._buffer.append(KeyPress(Keys.BracketedPaste, pasted))
            self._text, self._paste = after, None
            return True
        held = _beginning(self._text, _END)
        self._paste.append(self._text[: len(self._text) - held])
        self._text = self._text[len(self._text) - held :]
        return False

    def _feed_plain(self, text: str) -> None:
        if text:
            self.vt100_parser.feed(text)


def _is_light(colour: str) -> bool:
    """Return True if `rrrr/gggg/bbbb`, of any number of hexadecimal digits, is nearer to white than to black."""
    red, green, blue = (int(part, 16) / ((1 << 4 * len(part)) - 1) for part in colour.split("/"))
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5


def _beginning(text: str, mark: str) -> int:
    """Return the length of the text's suffix that may be the start of the mark."""
    for size in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:size]):
            return size
    return 0
