"""Token estimators: five small classes, each with a rule of its own."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from agentcli.context.settings import TiktokenSettings
from agentcli.core.dataclass import dataclass
from agentcli.system import probe

_TIKTOKEN = TiktokenSettings()


class Estimator(Protocol):
    """A rule in two steps.

    `size` measures a text once, in the rule's own unit. The size times `rate` gives tokens.
    """

    @property
    def name(self) -> str:
        """Name in config."""
        ...

    @property
    def note(self) -> str:
        """Remark to show with the name, for example the estimator it replaces."""
        ...

    @property
    def rate(self) -> float:
        """Tokens per unit of size."""
        ...

    @property
    def per_block(self) -> float:
        """Tokens that a block costs beyond its text."""
        ...

    @property
    def per_message(self) -> float:
        """Tokens that a message costs beyond its blocks."""
        ...

    def size(self, text: str, code: bool = False) -> float:
        """Return the size of a text. `code` marks tool input, tool output and files, as opposed to prose."""
        ...


@dataclass(frozen=True, slots=True)
class Gemini:
    """Gemini CLI's rule: 0.25 tokens for an ASCII character, 1.3 for any other."""

    name: str = "gemini"
    note: str = ""
    rate: float = 1.0
    per_block: float = 0.0
    per_message: float = 0.0

    def size(self, text: str, code: bool = False) -> float:
        other = beyond_ascii(text)
        return (len(text) - other) * 0.25 + other * 1.3


QUARTER = 0.25
"""Tokens for a character of opencode's rule."""


@dataclass(frozen=True, slots=True)
class Chars4:
    """opencode's rule: a quarter of the length in UTF-16 units, rounded up."""

    name: str = "chars4"
    note: str = ""
    rate: float = 1.0
    per_block: float = 0.0
    per_message: float = 0.0

    def size(self, text: str, code: bool = False) -> float:
        return math.ceil(utf16_length(text) * QUARTER)


@dataclass(frozen=True, slots=True)
class Shannon:
    """Shannon's rule: a quarter of the characters (a third for code), 5 for each message, plus a tenth."""

    name: str = "shannon"
    note: str = ""
    rate: float = 1.1
    per_block: float = 0.0
    per_message: float = 5.5

    def size(self, text: str, code: bool = False) -> float:
        return len(text) // (3 if code else 4)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Tokens per character learned from reported usage; the default comes from a recorded coding session.

    Characters beyond ASCII count as four.
    """

    name: str = "calibrated"
    note: str = ""
    rate: float = 0.34
    per_block: float = 8.0
    per_message: float = 0.0

    def size(self, text: str, code: bool = False) -> float:
        return len(text) if text.isascii() else len(text) + 3 * beyond_ascii(text)


class Tiktoken:
    """OpenAI's tokenizer times a factor for the model. It never uses the network: see `vocabulary`."""

    name = "tiktoken"
    per_block = 0.0
    per_message = 4.0

    def __init__(self, folder: Path, encoding: str = "o200k_base", rate: float = 1.0) -> None:
        self.rate = rate
        self.note = f"Its vocabulary is {encoding}."
        self._encoding = _load(folder, encoding)

    def size(self, text: str, code: bool = False) -> float:
        return len(self._encoding.encode_ordinary(text.encode("utf-8", "replace").decode("utf-8")))


def estimator(name: str, folders: Iterable[Path] = (), tiktoken: TiktokenSettings = _TIKTOKEN) -> Estimator:
    """Return the estimator with this name.

    Without a vocabulary on disk, `calibrated` replaces `tiktoken`, and its note reports that.
    """
    match name:
        case "gemini":
            return Gemini()
        case "chars4":
            return Chars4()
        case "shannon":
            return Shannon()
        case "tiktoken":
            found = vocabularies(tiktoken.encodings, folders)
            return Tiktoken(*found[0], tiktoken.rate) if found else Calibrated(note=NO_VOCABULARY)
        case _:
            return Calibrated()


NO_VOCABULARY = "Used instead of tiktoken, which has no vocabulary on disk."


def vocabularies(encodings: Iterable[str], folders: Iterable[Path] = ()) -> list[tuple[Path, str]]:
    """Return the encodings that are on disk, in the order given, each with its folder."""
    places = list(folders)
    found = ((vocabulary(encoding, places), encoding) for encoding in encodings)
    return [(folder, encoding) for folder, encoding in found if folder]


def vocabulary(encoding: str, folders: Iterable[Path] = ()) -> Path | None:
    """Return the first folder with tiktoken's complete, unchanged vocabulary: of the given ones, then tiktoken's own
    cache.
    """
    name, digest = VOCABULARIES[encoding]
    for folder in (*folders, *_cache_folders()):
        file = folder / name
        if probe.is_file(file) and hashlib.sha256(file.read_bytes()).hexdigest() == digest:
            return folder
    return None


VOCABULARIES: Mapping[str, tuple[str, str]] = {
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
"""File name in tiktoken's cache (SHA-1 of the address it comes from) and SHA-256 of the content."""


def beyond_ascii(text: str) -> int:
    """Return the number of characters that are not ASCII."""
    return 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))


def utf16_length(text: str) -> int:
    """Return the length as JavaScript counts it: characters beyond the basic plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cache_folders() -> list[Path]:
    # The order of tiktoken's own search; an empty variable switches its cache off.
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return [Path(os.environ[variable])] if os.environ[variable] else []
    try:
        return [Path(tempfile.gettempdir()) / "data-gym-cache"]
    except FileNotFoundError:
        return []  # no folder for temporary files can be written


def _load(folder: Path, encoding: str) -> Any:
    import tiktoken

    # tiktoken gets only a folder whose file was just checked, so it fetches nothing. It reads the folder only from the
    # process environment, which two threads must not set at the same time.
    with _loading:
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            return tiktoken.get_encoding(encoding)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


_loading = threading.Lock()
