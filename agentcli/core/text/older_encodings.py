"""Encodings of single languages from before Unicode: choose the one whose letters fit a text best."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Mapping

from agentcli.core.dataclass import dataclass

_SAMPLE = 64_000
"""Maximum bytes to examine: a text has one encoding."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_OWN_SCRIPT = 2.5
"""Mean run length of bytes above ASCII from which a text is in its own script.

Texts in accented Latin letters have shorter runs.
"""


def older_encoding(data: bytes) -> str:
    """Return Python's name of the most likely encoding of a text.

    It decodes the text and encodes it to the same bytes. Returns Latin-1, which fits any bytes, if no other encoding is
    likely.
    """
    sample = data[:_SAMPLE]
    runs = _HIGH.findall(sample)
    own_script = sum(map(len, runs)) >= _OWN_SCRIPT * max(1, len(runs))
    scores = [(form.score(sample), form.name) for form in _FORMS if form.own_script in (own_script, None)]
    # The sort is stable: of two equal fits, the first one wins.
    best = sorted((score for score in scores if score[0] > 0), key=lambda score: -score[0])
    return next((name for _, name in best if _is_faithful(data, name)), "latin-1")


@dataclass(frozen=True, slots=True)
class _Form:
    """An encoding. `usual` tells if a character is typical of its texts, which have at least a share of `least` of
    them.
    """

    name: str
    usual: Callable[[str], bool]
    least: float = 0.75
    own_script: bool | None = True
    """True if its letters form runs, False if single ones occur among ASCII letters, None for either."""
    shows: Callable[[str], bool] | None = None
    """A character that every longer text contains."""

    def score(self, sample: bytes) -> float:
        """Return how well the encoding fits, from 0 (not at all) to 1."""
        try:
            text = codecs.getincrementaldecoder(self.name)().decode(sample)
        except UnicodeDecodeError:
            return 0.0
        letters = Counter({letter: count for letter, count in Counter(text).items() if letter > "\x7f"})
        total = letters.total()
        if not total or (self.shows is not None and _count(letters, self.shows) < total / 10):
            return 0.0
        share = _count(letters, self.usual) / total
        return share if share >= self.least else 0.0


def _count(letters: Mapping[str, int], fits: Callable[[str], bool]) -> int:
    return sum(count for letter, count in letters.items() if fits(letter))


def _is_faithful(data: bytes, name: str) -> bool:
    try:
        return data.decode(name).encode(name) == data
    except UnicodeError:
        return False


def _kana(letter: str) -> bool:
    return "\u3041" <= letter <= "\u30fc"


def _japanese(letter: str) -> bool:
    return "\u3000" <= letter <= "\u30fc" or _lead(letter, "euc_jp", 0xB0, 0xCF)


def _simplified(letter: str) -> bool:
    return "\u3000" <= letter <= "\u3011" or "\uff01" <= letter <= "\uff5e" or _lead(letter, "gb2312", 0xB0, 0xD7)


def _traditional(letter: str) -> bool:
    return "\u3000" <= letter <= "\u3011" or "\uff01" <= letter <= "\uff5e" or _lead(letter, "big5", 0xA4, 0xC6)


def _low_trail(letter: str) -> bool:
    """Return True if the second byte of a Big5 character is ASCII, as in 4 of 10 characters."""
    encoded = letter.encode("big5", "ignore")
    return len(encoded) == 2 and encoded[1] < 0x80


def _lead(letter: str, name: str, first: int, last: int) -> bool:
    """Return True for a character in common use; these encodings put them into their first rows."""
    encoded = letter.encode(name, "ignore")
    return len(encoded) == 2 and first <= encoded[0] <= last


def _beyond_hangul(letter: str) -> bool:
    """Return True for an ideograph whose bytes are no Korean syllable, as in 4 of 10 characters of Chinese texts."""
    return _lead(letter, "gb2312", 0xC9, 0xF7)


def _hangul(letter: str) -> bool:
    return "\uac00" <= letter <= "\ud7a3"


def _cyrillic(letter: str) -> bool:
    return "а" <= letter <= "ё"


def _greek(letter: str) -> bool:
    return "ά" <= letter <= "ώ" and letter not in "ΰϋ"


def _latin(letter: str) -> bool:
    return letter.isalpha() or letter in "‘’“”„‚–—…«»€°§©® "


_FORMS = (
    _Form("cp932", _japanese, shows=_kana, own_script=None),
    _Form("euc_jp", _japanese, shows=_kana),
    _Form("cp949", _hangul, least=0.8),
    _Form("gb18030", _simplified, shows=_beyond_hangul),
    _Form("big5", _traditional, shows=_low_trail, own_script=None),
    _Form("cp1251", _cyrillic, least=0.7),
    _Form("koi8_r", _cyrillic, least=0.7),
    _Form("cp866", _cyrillic, least=0.7),
    _Form("iso8859_5", _cyrillic, least=0.7),
    _Form("iso8859_7", _greek, least=0.7),
    _Form("cp1253", _greek, least=0.7),
    _Form("latin-1", _latin, own_script=False),
    _Form("cp1252", _latin, own_script=False),
    _Form("cp1250", _latin, own_script=False),
    _Form("iso8859_2", _latin, own_script=False),
)
"""Of two equal fits, the first one wins."""
