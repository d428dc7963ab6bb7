"""A long session with a hundred planted facts, for any program that compacts: its prompts, its model and its summariser.

The session goes on until the program has compacted three times, the last time after all work of the last prompt. A third of the facts comes before each compaction, between reads of files
that fill the window. What the next request shows then is asked by a hundred probes. Nothing here knows how a program compacts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentcli.core.message import ToolCall
from agentcli.providers.scripted.model import Reply, say
from tests.bench.imperfect import Action, Dialect, right
from tests.loopback import Asked

Kind = Literal["rule", "value", "done", "open", "last"]
KINDS: Sequence[Kind] = ("last", "rule", "value", "done", "open")
COMPACTIONS = 3
PROMPTS = 60
"""Prompts after which a session is given up."""
KEPT, WRONG = 0.6, 0.05
"""Shares of what the summariser sees: what it keeps, and what it tells wrongly."""
FILLER = 28_000
"""Characters of a file that fills the window: every program shows so much of it whole."""
READS = 5
"""Such files read after each prompt."""


@dataclass(frozen=True)
class Fact:
    """A planted fact: the words in which it is said, what shows it, and how the summariser tells it, right and wrong."""

    kind: Kind
    said: str
    shown: str
    told: str
    wrong: str = ""
    by_file: str = ""
    """The file with it, which the model reads or writes; empty if the user says it."""

    def is_shown(self, text: str) -> bool:
        """Tell whether a request shows it: a task that is not done must not be shown as done."""
        if self.kind == "open":
            return self.shown in text and self.by_file not in text and self.wrong not in text
        return self.shown in text or (self.kind == "done" and self.told in text)

    def is_repeated(self, text: str) -> bool:
        """Tell whether a model would do finished work again: the request shows the task, and not that it is done."""
        return self.kind == "done" and self.topic in text and not self.is_shown(text)

    @property
    def topic(self) -> str:
        """The words of a task in any text about it."""
        return self.said.removeprefix("the ")


_RULES = (
    "Never touch anything below {word}/.",
    "Always run {word} before you say that a task is done.",
    "Use {word} for dates, not the standard library.",
    "Please keep {word} out of the log output.",
    "Commit messages mention {word}.",
    "I'd rather you didn't call {word} in tests.",
    "If {word} fails, stop and tell me.",
    "Bitte nichts in {word} umbenennen.",
    "Only {word} may open the database.",
    "New modules begin with {word}_.",
)


def facts(seed: int = 1) -> Sequence[Fact]:
    """The hundred facts in the order in which they are planted."""
    draw = random.Random(seed)
    words = iter(_words(draw))
    numbers = iter(draw.sample(range(10_000, 99_999), 400))
    found = []
    for n in range(20):
        word = next(words)
        said = _RULES[n % len(_RULES)].format(word=word)
        found.append(Fact("rule", said, word, said))
    for n in range(30):
        word, number, other = next(words), next(numbers), next(numbers)
        by_file = f"conf/{word}.ini" if n % 2 else ""
        said = f"{word}_limit = {number}" if by_file else f"The limit of {word} is {number} requests."
        found.append(
            Fact("value", said, str(number), f"The limit of {word} is {number}.", f"The limit of {word} is {other}.", by_file)
        )  # fmt: skip
    for n in range(40):
        word = next(words)
        is_done = n % 2 == 0
        said = f"the report on {word}"
        told = f"The report on {word} is written." if is_done else f"The report on {word} is still to be written."
        path = f"out/{word}.md"
        wrong = "" if is_done else f"The report on {word} is written."
        found.append(
            Fact("done" if is_done else "open", said, path if is_done else said.removeprefix("the "), told, wrong, path)
        )
    for _ in range(10):
        word = next(words)
        found.append(
            Fact(
                "last",
                f"rename {word}_old to {word}_new",
                f"{word}_new",
                f"The user wants now: rename {word}_old to {word}_new.",
            )
        )
    return found


def _words(draw: random.Random) -> Iterator[str]:
    """Words that nobody has said before."""
    seen: set[str] = set()
    while True:
        word = "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(4))
        if word not in seen:
            seen.add(word)
            yield word


def filler(number: int) -> str:
    """The text of a file that fills the window, another for each number."""
    draw = random.Random(f"filler {number}")
    words = iter(_words(draw))
    lines, size = [], 0
    while size < FILLER:
        line = f"    {next(words)} = {next(words)}({draw.randrange(10**6)}, {next(words)})"
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) + "\n"


def write_files(folder: Path, planted: Sequence[Fact]) -> None:
    """Write the files that the model reads."""
    for fact in planted:
        if fact.kind == "value" and fact.by_file:
            (folder / fact.by_file).parent.mkdir(parents=True, exist_ok=True)
            (folder / fact.by_file).write_text(f"[service]\n{fact.said}\n")
    for number in range(PROMPTS * READS * 2):
        (folder / f"part{number}.txt").write_text(filler(number))


@dataclass
class LongSession:
    """The model of one session, and its summariser. `prompt` is what the user says next, empty at the end."""

    dialect: Dialect
    folder: Path
    planted: Sequence[Fact]
    compactions: int = 0
    asked: int = 0
    unknown: list[str] = field(default_factory=list)
    """Requests without tools that were neither titles nor summaries: their beginnings."""
    final: str = ""
    """The first request after the last compaction."""
    characters: int = 0
    _group: int = 0
    _work: list[ToolCall] = field(default_factory=list)
    """Calls of the planted tasks that are not made yet, and reads that fill the window."""
    _queue: list[ToolCall] = field(default_factory=list)
    _summarising: bool = False
    _last: bool = False
    _reads: int = 0
    prompts: int = 0

    def prompt(self) -> str:
        """Return the user's next prompt."""
        if self.final or self.prompts >= PROMPTS:
            return ""
        self.prompts += 1
        if self._group <= min(self.compactions, COMPACTIONS - 1):
            self._group += 1
            return self._planting(self._group - 1)
        self._queue = self._filling()
        return f"Read the next {READS} parts, and tell me what they have in common. This is part {self.prompts} of the tour."

    def _planting(self, group: int) -> str:
        mine = [fact for fact in self.planted if fact.kind != "last"][group::COMPACTIONS]
        of = {kind: [fact for fact in mine if fact.kind == kind] for kind in KINDS}
        self._last = group == COMPACTIONS - 1
        calls = [Action("read", fact.by_file) for fact in of["value"] if fact.by_file]
        calls += [Action("write", fact.by_file, new="# Report\n\nNothing remarkable.\n") for fact in of["done"]]
        self._work = [right(self.dialect, call, self.folder) for call in calls]
        self._queue = self._filling()
        said = [fact.said for fact in of["rule"]]
        said += [fact.said for fact in of["value"] if not fact.by_file]
        said += ["Write " + ", ".join(fact.said for fact in of["done"]) + ", each to out/NAME.md."]
        said += ["Later, not now: write " + ", ".join(fact.said for fact in of["open"]) + "."]
        if self._last:
            last = [fact.said for fact in self.planted if fact.kind == "last"]
            said += ["What I want from you in this step: " + ", ".join(last) + "."]
        return "\n".join(said)

    def _filling(self) -> list[ToolCall]:
        first = self._reads
        self._reads += READS
        return [right(self.dialect, Action("read", f"part{n}.txt"), self.folder) for n in range(first, self._reads)]

    def __call__(self, asked: Asked) -> Reply:
        """Return the model's next reply, or a summary."""
        self.asked += 1
        body = asked.body.decode()
        if is_summary(asked):
            self._summarising = True
            return say(self.summary(asked, texts_of(asked.json)))
        if not asked.json.get("tools"):
            if len(body) > 40_000:
                self.unknown.append(body[:300] + " … " + asked.last_text[-300:])
            return say("A title")
        if self._summarising:
            self._summarising = False
            self.compactions += 1
            if self.compactions >= COMPACTIONS and self._last and not self._work and not self.final:
                self.final, self.characters = texts_of(asked.json), len(body)
                self._queue.clear()
        return self._step()

    def _step(self) -> Reply:
        if not self._work and not self._queue and self._last and not self.final and self._reads < PROMPTS * READS:
            self._queue = self._filling()  # the last prompt goes on until it has been compacted
        waiting = self._work or self._queue
        if waiting:
            return say(_musing(self.asked), waiting.pop(0))
        return say("That is done. " + _musing(self.asked))

    def summary(self, asked: Asked, text: str) -> str:
        """Return an imperfect summary in the form that the request asks for: of what it sees, some is left out, and some is wrong."""
        draw = random.Random(f"summary {self.compactions}")
        lines = []
        for fact in self.planted:
            kept, wrong = draw.random() < KEPT, draw.random() < WRONG
            if kept and (fact.shown in text or fact.told in text):
                lines.append(fact.wrong if wrong and fact.wrong else fact.told)
        prose = "\n".join(f"- {line}" for line in lines)
        if "<state_snapshot>" in text:
            return f"<state_snapshot>\n<overall_goal>Finish the tour of the parts.</overall_goal>\n<key_knowledge>\n{prose}\n</key_knowledge>\n</state_snapshot>"
        if "<summary>" in text:
            return f"<analysis>\nI went through the conversation.\n</analysis>\n\n<summary>\n{prose}\n</summary>"
        return f"## Goal\nFinish the tour of the parts.\n\n## Progress and facts\n{prose}\n"


def _musing(number: int) -> str:
    """Return a remark of the model, another for each request."""
    draw = random.Random(f"musing {number}")
    words = iter(_words(draw))
    return " ".join(f"The name {next(words)} reminds of {next(words)}." for _ in range(40))


_ASKS = re.compile(r"(?i)\b(?:creat|writ|provid|produc|generat)\w*\b[^.\n]{0,80}(?:summary|snapshot|checkpoint)")
_NAMES = re.compile(r"(?i)summar|snapshot|compact|checkpoint")


def is_summary(asked: Asked) -> bool:
    """Tell whether a request asks for a summary of the conversation: by its last words, or by its system text if it has no tools."""
    if len(asked.body) < 40_000:
        return False
    if asked.json.get("tools"):
        return bool(_ASKS.search(asked.last_text))
    head = asked.json.get("system") or asked.json.get("instructions") or ""
    return bool(_NAMES.search(texts_of(head) + asked.last_text[:2_000] + asked.last_text[-4_000:]))


def texts_of(value: Any) -> str:
    """Return all texts in a request, line by line, keys left out."""
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)


@dataclass(frozen=True)
class Probed:
    """What the request after the last compaction shows: right answers of each kind, and finished work that would be done again."""

    right: dict[Kind, tuple[int, int]]
    repeated: int
    compactions: int
    prompts: int
    characters: int


def probed(session: LongSession) -> Probed | None:
    """Return the answers to the probes; None if the session never came to its last compaction."""
    if not session.final:
        return None
    ask: Callable[[Kind], tuple[int, int]] = lambda kind: (  # noqa: E731
        sum(fact.is_shown(session.final) for fact in session.planted if fact.kind == kind),
        sum(fact.kind == kind for fact in session.planted),
    )
    repeated = sum(fact.is_repeated(session.final) for fact in session.planted)
    return Probed(
        {kind: ask(kind) for kind in KINDS}, repeated, session.compactions, session.prompts, session.characters
    )
