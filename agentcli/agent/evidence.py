"""Evidence in the results of a turn that changed nothing. In any language, it shows that the last message ends the turn."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.agent.intent import SENTENCE, lists_steps

_READ = 20_000
"""Characters read at the end of each output."""
_SIGN = r"(?a)\w[\w./@:-]*"
_OWN = r"(?a)\d|_|\w[A-Z/.@:-]\w"
"""Something that no plain word holds."""
_WORDS = 4
"""Words in a row that only a quotation repeats."""
_EMPTY = 2
"""Results in a row that hold nothing."""
_ASIDE = r"\([^()\n]*\)|^[^\S\n]*\d+[.)]\s"
_THOUSANDS = r"(?<=\d)[,.\u202f\xa0](?=\d{3}(?!\d))"


def is_shown(text: str, known: str, *, empty: int, failures: Sequence[str]) -> bool:
    """Return True if results explain why nothing was changed.

    The last searches found nothing, or the message quotes the error of a command. A quotation is a sign such as a
    code, or words in a row. `known` are words that prove no quotation: the task and the commands. Numbered steps explain nothing.
    """
    return not lists_steps(text) and (empty >= _EMPTY or any(_quotes(text, each[-_READ:], known) for each in failures))


def reports_outputs(text: str, outputs: Sequence[str]) -> bool:
    """Return True if each sentence of a text repeats a number that a command printed."""
    printed = _numbers("\n".join(each[-_READ:] for each in outputs))
    sentences = [one.strip() for one in re.split(SENTENCE, re.sub(f"(?m){_ASIDE}", "", text))]
    told = [one for one in sentences if any(map(str.isalnum, one)) and not one.endswith((":", "："))]
    return bool(told) and all(_numbers(one) & printed for one in told)


def _quotes(text: str, output: str, known: str) -> bool:
    return bool((_signs(text) & _signs(output)) - _signs(known) or (_rows(text) & _rows(output)) - _rows(known))


def _signs(text: str) -> set[str]:
    found = (each.rstrip("./@:-") for each in re.findall(_SIGN, text))
    return {each for each in found if re.search(_OWN, each)}


def _rows(text: str) -> set[tuple[str, ...]]:
    words: list[str] = re.findall(r"[^\W_]+", text.lower())
    return set(zip(*(words[at:] for at in range(_WORDS)), strict=False))


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", re.sub(_THOUSANDS, "", text)))
