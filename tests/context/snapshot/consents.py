"""Judge summaries that hold true statements and invented consents, through whole compactions on each policy's wire.

The sessions and statements stand in `consents.txt`. A statement survives if its words stand in the summary outside of the
section for what nothing shows. The judge reads the summary's text alone and shares no code with what checks it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agentcli.context.settings import PolicyName
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.record import Record
from tests.agent.compaction.compacting import Answers, compress, newest, session
from tests.context.story import Story

Half = Literal["seen", "unseen"]
Fate = Literal["stands", "unverified", "dropped"]
UNVERIFIED = re.compile(r"<unverified\b.*?</unverified>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a summary. `said` is the user's own sentence that a true statement about their will renders."""

    language: str
    text: str
    true: bool
    said: str = ""


@dataclass(slots=True)
class Case:
    """The session of one language, and what a summary may say of it."""

    language: str
    story: Story = field(default_factory=Story)
    statements: list[Statement] = field(default_factory=list)

    def of(self, half: Half) -> list[Statement]:
        """Return every second true statement and every second consent, of each kind as many."""
        start = 0 if half == "seen" else 1
        kinds = ([each for each in self.statements if each.true is kind] for kind in (True, False))
        return [each for kind in kinds for each in kind[start::2]]


def cases() -> list[Case]:
    """Read all sessions."""
    found: list[Case] = []
    for block in re.split(r"^\[(?=\w+\]$)", Path(__file__).with_name("consents.txt").read_text("utf-8"), flags=re.M)[
        1:
    ]:
        language, _, body = block.partition("]\n")
        found.append(_case(language, body))
    return found


def _case(language: str, body: str) -> Case:
    case = Case(language)
    # What sliding keeps of the beginning.
    case.story.user("OK")
    case.story.says("tick")
    for mark, text, output in re.findall(r"^([>@$<+-]) (.*)\n((?:  .*\n)*)", body, re.M):
        printed = re.sub(r"^  ", "", output, flags=re.M)
        if mark == ">":
            case.story.user(text)
        elif mark == "@":
            case.story.reads(text, printed)
        elif mark == "$":
            case.story.runs(text, printed, exit_code=int("FAILED" in printed or " failed" in printed))
        elif mark == "<":
            case.story.says(text)
        else:
            text, _, said = text.partition(" => ")
            case.statements.append(Statement(language, text, mark == "+", said))
    # What a compaction leaves alone, long enough that the rest goes.
    for _ in range(3):
        case.story.reads("noise.log", "tick tock\n" * 4_000)
    case.story.user("OK")
    case.story.says("tick tock. " * 2_000)
    return case


def fates(case: Case, half: Half, policy: PolicyName) -> Iterator[tuple[Statement, Fate]]:
    """Yield the fate of each statement after a compaction whose summariser writes all of them."""
    journal = session(case.story)
    told = case.of(half)
    write = {"auto": _items, "gemini": _whole}.get(policy, _lines)
    compress(journal, Answers(write(told, case.story.records)), policy=policy)
    made = newest(journal)
    body = made.snapshot or "\n".join(made.replaced.values())
    # What the view shows as the user's words, a snapshot does not repeat.
    body = "\n".join((body, *(words.text for words in made.user_words)))
    for statement in told:
        yield statement, _fate(statement, body)


def _fate(statement: Statement, snapshot: str) -> Fate:
    standing = UNVERIFIED.sub("", snapshot)
    if _stands(statement.text, standing) or (statement.said and _plain(statement.said) in _plain(standing)):
        return "stands"
    return "unverified" if _stands(statement.text, snapshot) else "dropped"


def _stands(text: str, body: str) -> bool:
    """Return True if a line holds nearly all runs of five characters of the text: a changed mark or name does not hide it."""
    runs = _runs(text)
    return any(len(runs & _runs(line)) >= 0.8 * len(runs) for line in body.splitlines())


def _runs(text: str) -> set[str]:
    plain = _plain(text)
    return {plain[n : n + 5] for n in range(max(1, len(plain) - 4))}


def _plain(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", text).casefold() if each.isalnum())


def _items(told: Iterable[Statement], records: list[Record]) -> str:
    lines = (f"add knowledge [{_source(each, records)}] {each.text}" for each in told)
    return "\n".join(("<snapshot_items>", *lines, "</snapshot_items>"))


def _whole(told: Iterable[Statement], records: list[Record]) -> str:
    lines = "\n".join(f"- {each.text}" for each in told)
    goal = _text(records[0]).split(".")[0]
    return (
        f"<state_snapshot>\n<overall_goal>{goal}</overall_goal>\n<key_knowledge>\n{lines}\n</key_knowledge>\n"
        "<file_system_state>\n</file_system_state>\n<recent_actions>\n</recent_actions>\n<current_plan>\n</current_plan>\n</state_snapshot>"
    )


def _lines(told: Iterable[Statement], records: list[Record]) -> str:
    return "\n".join(f"- {each.text}" for each in told)


def _source(statement: Statement, records: list[Record]) -> int:
    """Return the record that shares most runs of characters with a statement: what a careful or a crafty model would cite."""
    runs = _runs(statement.said or statement.text)
    return max(records, key=lambda record: len(runs & _runs(_text(record)))).seq


def _text(record: Record) -> str:
    match record.body:
        case Message(parts=parts):
            return " ".join(part.text for part in parts if isinstance(part, Text))
        case ToolResult(output=output):
            return output
        case _:
            return ""
