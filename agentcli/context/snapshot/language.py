"""Language of a text, guessed from its script and its short common words.

The guess is precise enough to see that two texts differ.
"""

from __future__ import annotations

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
_SMALL_WORDS = {
    "en": "the and of to in is that it for was with on as are be this have from not by at or you which were been has will",
    "de": "der die das und ist nicht ein eine zu mit auf für von den dem sich des auch wird sind bei wurde noch nach aus",
    "fr": "le la les et est une des du pas que pour dans sur avec ce il au aux sont été par plus mais ont cette",
    "es": "el los las y es una del que para por con se no en lo al ha han está son más pero como fue este",
    "pt": "o os as e é uma do da que para por com se não em no na ao foi são mais mas como está este",
    "it": "il lo gli e è una del della che per con si non in nel al sono stato più ma come questo anche di",
    "nl": "de het een en is niet van te met op voor dat die zijn wordt ook bij aan naar er maar om werd",
    "pl": "i w na z do jest nie się że to o dla po od jak ale przez przy są został",
}
_LANGUAGES: dict[str, list[str]] = {}
"""Languages of each small word."""
for _language, _words in _SMALL_WORDS.items():
    for _word in set(_words.split()):
        _LANGUAGES.setdefault(_word, []).append(_language)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<[^<>\n]{1,80}>", re.DOTALL)
_RUN = re.compile(r"[!-~]+")
_NAME = re.compile(r"[/\\_@]|\.\w")


def language(text: str) -> str:
    """Return the two-letter code of a text's language, or an empty text if there is too little prose.

    Code in backticks, paths, names and tags are not prose.
    """
    prose = _prose(text)
    if prose.isascii():
        return _latin_language(prose)
    foreign = {name: len(pattern.findall(prose)) for name, pattern in _SCRIPTS}
    latin = len(re.findall(r"[A-Za-zÀ-ſ]", prose))
    # One character of these scripts carries as much as several Latin letters; kana among Han characters is Japanese.
    if sum(foreign.values()) * 3 > latin and sum(foreign.values()) >= _FEWEST_CHARACTERS:
        if foreign["ja"] * 10 > foreign["zh"]:
            foreign["ja"] += foreign["zh"]
        return max(foreign, key=lambda name: foreign[name])
    return _latin_language(prose)


def may_be(text: str, name: str) -> bool:
    """Return True if a text matches this language at least as well as any other.

    It serves texts with too little prose to identify.
    """
    hits = _hits(_prose(text))
    return 0 < hits.get(name, 0) == max(hits.values())


def _prose(text: str) -> str:
    text = _CODE.sub(" ", text[:_ENOUGH])
    return _RUN.sub(lambda run: " " if _NAME.search(run[0]) else run[0], text)


def _hits(prose: str) -> dict[str, int]:
    hits = dict.fromkeys(_SMALL_WORDS, 0)
    for word in re.findall(r"[^\W\d_]+", prose.lower()):
        for name in _LANGUAGES.get(word, ()):
            hits[name] += 1
    return hits


def _latin_language(prose: str) -> str:
    hits = _hits(prose)
    (best, most), (_, second) = sorted(hits.items(), key=lambda hit: -hit[1])[:2]
    # Related languages share many common words: a clear lead is needed.
    return best if most >= _FEWEST_WORDS and most >= 1.3 * second else ""


_ENOUGH = 40_000
_FEWEST_CHARACTERS = 4
_FEWEST_WORDS = 4
