"""Checks that a message mentions, though their turn does not end with their success.

No word of success is read, so the language hardly matters. It is told to the person, and no claim is doubted for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from agentcli.agent.check_commands import checkers, kinds_of, named_kinds
from agentcli.agent.claims import LIST_MARKS, assertions
from agentcli.agent.intent import telling_words
from agentcli.agent.proof import (
    PERSON,
    Ledger,
    Step,
    changes_code,
    checks_in,
    has_failed,
    line_of,
    lines_of_failure,
)
from agentcli.agent.reported_runs import SPAN, runs, runs_in
from agentcli.core.dataclass import dataclass
from agentcli.permissions.shell.programs.known_programs import is_interpreter, word_set

_PLAIN = r"[A-Za-z]+"
"""A word that any text may contain."""
_ADVICE = rf"(?i){LIST_MARKS}(?:(?:to|for|then|now|next|please|or|and) (?:[\w-]+ ){{0,4}}?,? ?)?(?:re-?)?(?:run|use|execute|try|call) "
"""An imperative at the start of a clause."""
_RUNNERS = word_set("bash bun bunx exec node npm npx pnpm python python3 run sh uv uvx yarn")
"""Words that start any program."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A check without success at the end of its turn."""

    command: str
    failed: bool
    """True if it failed after the last edit; False if an edit followed it."""


def mentioned(text: str, steps: Sequence[Step], found: Ledger) -> Mentioned | None:
    """Return a check of the last turn that an edit followed, or that failed last, if the message mentions it.

    If nothing ran since the edit, the message need not mention it. A message tells of a failure by its exit code, or
    by words of its output.
    """
    begin = next((at for at in range(len(steps), 0, -1) if steps[at - 1].command == PERSON), 0)
    turn = steps[begin:]
    made = {PurePath(step.edited).name for step in turn if step.edited}
    ran = [
        (step, words)
        for step in turn
        if step.ran and not step.edited
        for words in checks_in(step.command)
        if _program(words) not in made or named_kinds([f"./{_program(words)}"])
    ]
    if not ran or not found.edited or not any(map(changes_code, turn)):
        return None
    said, (last, newest) = [one for one in assertions(text) if not re.match(_ADVICE, one)], ran[-1]
    old = [words for _, words in ran if (kinds_of(words) - {"checks"} or {"checks"}).isdisjoint(found.proofs)]
    if not (found.proofs or found.ran or found.failed):
        return Mentioned(line_of(newest), False)
    spans = [span.strip("`$ ") for clause in said for span in re.findall(SPAN, clause) if runs_in(span)]
    if whole := next((line for line in map(line_of, reversed(old)) if any(runs(span, line) for span in spans)), ""):
        return Mentioned(whole, False)
    told = not has_failed(last) or _names_code(text, last.exit) or _quotes(text, last)
    return None if told or not any(_is_named(newest, clause) for clause in said) else Mentioned(line_of(newest), True)


def _program(words: Sequence[str]) -> str:
    """Return the name of the program, or of the script that an interpreter runs."""
    return PurePath(next((word for word in words if not is_interpreter(word)), words[0])).name


def _names(words: Sequence[str]) -> Iterator[str]:
    """Yield the words by which a message can name a check: its program, and what makes it a check."""
    for at, word in enumerate(words):
        name = word.removeprefix("./")
        if not name.startswith("-") and name not in _RUNNERS and (not at or named_kinds([f"./{name}"])):
            yield name


def _is_named(words: Sequence[str], clause: str) -> bool:
    """Return True if a clause names a check in code, or by a name that is no plain word."""
    code, rest = " ".join(re.findall(SPAN, clause)), re.sub(SPAN, "_", clause)
    for name in _names(words):
        whole = rf"(?i)(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)"
        telling = name in checkers() or not re.fullmatch(_PLAIN, name)
        if re.search(whole, code) or (telling and re.search(whole, rest)):
            return True
    return False


def _names_code(text: str, code: int | None) -> bool:
    """Return True if a text contains an exit code, and not as the number of a list's item."""
    words = re.sub(r"(?m)^\W*\d+[.)]", "", text)
    return bool(code) and re.search(rf"(?<![\w.,#/-]){code}(?![\w/%-]|[,.:)]\d)", words) is not None


def _quotes(text: str, check: Step) -> bool:
    """Return True if a text repeats several words of what a check printed about its failure."""
    printed = telling_words("\n".join(lines_of_failure(check.output))) - telling_words(check.command)
    return len(printed & telling_words(text)) > 1
