"""The text layer: text in any encoding is read, found, shown and changed as text, and binary files are not."""

from __future__ import annotations

import base64
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.text.encodings import decode, encode
from agentcli.core.text.terminal import console_text
from agentcli.tools.lib.openat import DirHandle
from agentcli.tools.lib.search import Wanted, lines, ripgrep
from tests.guards import Figures, material


@dataclass(frozen=True)
class Sample:
    """Words of one language, in an encoding that its older files have."""

    data: bytes
    encoding: str

    @property
    def text(self) -> str:
        return self.data.decode(self.encoding).removeprefix("\ufeff")

    @property
    def line(self) -> str:
        """The line with most letters that are not ASCII."""
        return max(self.text.splitlines(), key=lambda line: sum(letter > "\x7f" for letter in line)).strip()


def figures() -> Iterator[Figures]:
    """Yield a row for each way in which text is read, each over the same files."""
    held = material("text_read")
    good = [Sample(base64.b64decode(each["data"]), each["encoding"]) for each in held["good"]]
    bad = [base64.b64decode(each["data"]) for each in held["bad"]]
    source = f"{len(good)} texts, {len(bad)} beginnings of binary files: {held['source']}"
    read = [decode(sample.data) for sample in good]
    lost = {
        "read": sum(found is None or found[0] != sample.text for found, sample in zip(read, good, strict=True)),
        "edit": sum(not found or encode(*found, "") != each.data for found, each in zip(read, good, strict=True)),
        "command output": sum(
            console_text(sample.data).split("\n") != sample.text.replace("\r\n", "\n").split("\n") for sample in good
        ),
        "grep": len(good) - len(_found({str(n): sample for n, sample in enumerate(good)})),
    }
    for way, hindered in lost.items():
        stopped = sum(decode(data) is None for data in bad) if way == "read" else 0
        of = len(bad) if way == "read" else 0
        yield Figures(f"text layer: {way}", stopped, of, hindered, len(good), source)


def _found(samples: Mapping[str, Sample]) -> set[str]:
    """Return the names of the samples in which the search finds their line by a word of it."""
    found = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, sample in samples.items():
            (folder / number).write_bytes(sample.data)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            top = DirHandle(folder, fd)
            for number, sample in samples.items():
                word = max(sample.line.split(), key=lambda word: sum(each.isalpha() and each > "\x7f" for each in word))
                letters = "".join(each for each in word if each.isalpha())[:6]
                wanted = Wanted(re.escape(letters if letters in sample.line else sample.line[:3]))
                hits = lines(top, [number], wanted, ripgrep())
                if any(hit.text.strip() == sample.line for hit in hits if hit.matches):
                    found.add(number)
        finally:
            os.close(fd)
    return found
