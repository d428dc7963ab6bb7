"""Facts that a session must not lose, found by rules; and how many are still in a view or recallable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from agentcli.context.ledger.command_results import read_tests
from agentcli.context.ledger.standing_rules import rule_sentences
from agentcli.context.tokens.counter import as_text
from agentcli.context.view import View
from agentcli.core.dataclass import dataclass
from agentcli.core.message import File, Message, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Record
from agentcli.core.text.passage import Entry, passages
from agentcli.core.tool import UNKNOWN, Traits

Kind = Literal["path", "identifier", "error", "number", "constraint"]
ERRORS_EACH = 3
"""Most error lines from one output."""
NUMBERS_EACH = 3
IDENTIFIERS_EACH = 10
PATHS_EACH = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """A verbatim fact that may be needed again."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Retention:
    """Number of `facts` in the view, and in the view or recallable."""

    facts: int = 0
    retained: int = 0
    recoverable: int = 0

    @property
    def retention(self) -> float:
        """Share of the facts in the view; 1 if there was nothing to keep."""
        return self.retained / self.facts if self.facts else 1.0

    @property
    def recoverability(self) -> float:
        """Share of the facts that are in the view or can be recalled."""
        return self.recoverable / self.facts if self.facts else 1.0

    def __add__(self, other: Retention) -> Retention:
        return Retention(self.facts + other.facts, self.retained + other.retained, self.recoverable + other.recoverable)


def facts(records: Iterable[Record], tools: Mapping[str, Traits]) -> tuple[Fact, ...]:
    """Return the facts in messages and results, each once, in the order of their first mention.

    These are paths in calls or outputs, and identifiers defined in outputs or put into backticks. Error lines of
    failures, numbers of test runs, and the user's demands and prohibitions count, too.
    """
    return tuple(dict.fromkeys(fact for record in records for fact in _facts(record.body, tools)))


def count_retained(wanted: Iterable[Fact], view: View, records: Iterable[Record]) -> Retention:
    """Count the retained facts. `recall` reaches everything that was ever in the session."""
    wanted = tuple(wanted)
    visible = _squeezed("\n".join(_texts(view)))
    known = _squeezed("\n".join(text for record in records for text in _recallable(record)))
    texts = [_squeezed(fact.text) for fact in wanted]
    retained = [text in visible for text in texts]
    reached = [there or text in known for there, text in zip(retained, texts, strict=True)]
    return Retention(len(wanted), sum(retained), sum(reached))


def _facts(body: object, tools: Mapping[str, Traits]) -> Iterator[Fact]:
    match body:
        case Message("user") as message:
            yield from (Fact("constraint", sentence) for sentence in rule_sentences(message.text))
            yield from _identifiers(message.text)
        case Message("assistant") as message:
            yield from _identifiers(message.text)
            for call in message.calls:
                yield from _paths(call)
        case ToolResult() as result:
            yield from _outcome(result, tools.get(result.name, UNKNOWN))
        case _:
            return


def _paths(call: ToolCall) -> Iterator[Fact]:
    for name in ("file_path", "path"):
        path = call.input.get(name)
        if isinstance(path, str) and len(path) > 2:
            yield Fact("path", path)


def _identifiers(text: str) -> Iterator[Fact]:
    found = dict.fromkeys(_IDENTIFIER.findall(_FENCE.sub("", text)))
    yield from (Fact("identifier", name) for name in list(found)[:IDENTIFIERS_EACH])


def _outcome(result: ToolResult, traits: Traits) -> Iterator[Fact]:
    if result.failed or result.metadata.get("exit_code"):
        lines = (line.strip() for line in result.output.splitlines())
        errors = [line for line in lines if _ERROR.search(line) and len(line) < 300]
        yield from (Fact("error", line) for line in errors[:ERRORS_EACH])
    else:
        yield from (Fact("path", path) for path in list(dict.fromkeys(_PATH.findall(result.output)))[:PATHS_EACH])
        names = dict.fromkeys(_DEFINED.findall(result.output))
        yield from (Fact("identifier", name) for name in list(names)[:IDENTIFIERS_EACH])
    if traits.runs_commands and read_tests(result.output):
        found = dict.fromkeys(match[0] for match in _NUMBER.finditer(result.output))
        yield from (Fact("number", text) for text in list(found)[:NUMBERS_EACH])


def _recallable(record: Record) -> Iterator[str]:
    return (passage.text for passage in passages(Entry(record, 0), lambda _: ""))


def _texts(view: View) -> Iterator[str]:
    return (_text(block.part) for block in view.blocks)


def _text(part: Part | ToolResult) -> str:
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(_, name, given):
            return f"{name} {as_text(given)}"
        case ToolResult(output=output):
            return output
        case File(_, path, text):
            return f"{path}\n{text}"
        case _:
            return ""


def _squeezed(text: str) -> str:
    """Return the text without spacing and JSON escapes, which a snapshot may change."""
    return " ".join(text.replace('\\"', '"').split())


_FENCE = re.compile(r"```.*?```", re.DOTALL)
_IDENTIFIER = re.compile(r"`([A-Za-z_][\w.]{3,60}(?:\(\))?)`")
_DEFINED = re.compile(r"\b(?:def|class|function|interface|struct|fn|func|type) ([A-Za-z_]\w{3,60})")
_PATH = re.compile(r"(?<![\w/.:-])(?:[\w.-]+/)+[\w-]+\.\w{1,5}\b")
_ERROR = re.compile(
    r"(?:\b[A-Z]\w*(?:Error|Exception)\b|\berror(?:\[\w+\])?:|\bFAILED\b|\bpanicked at\b|\bfatal:)", re.ASCII
)
_NUMBER = re.compile(r"\b\d+ (?:passed|failed|errors?|skipped)\b")
