"""Non-interactive front end: the answer on stdout as text, one JSON object, or a stream of JSON lines."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, Literal, TextIO

from agentcli.core.dataclass import dataclass
from agentcli.core.event import (
    CompactionEnded,
    Event,
    Noticed,
    Pruned,
    Retrying,
    ToolStarted,
    Waiting,
    Warned,
)
from agentcli.core.sanitise import safe, safe_line
from agentcli.frontends.run.events import Denial, InitEvent, Result, RunEvent, to_json
from agentcli.frontends.run.results import ResultBuilder, run_events
from agentcli.permissions.unattended import NOBODY

Format = Literal["text", "json", "stream-json"]
_PIECE = 1 << 18
"""Characters of one write."""


@dataclass(slots=True)
class Headless:
    """Prints a run's events in one format. `finish` must be called last on every path; it returns the exit code."""

    format: Format
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    _builder: ResultBuilder = field(default_factory=ResultBuilder)
    _writing_since: float | None = None

    def is_stuck(self, seconds: float) -> bool:
        """Return True if one write has taken `seconds` or longer: the stream's reader has stopped reading."""
        since = self._writing_since
        return since is not None and time.monotonic() - since >= seconds

    def begin(self, init: InitEvent) -> None:
        """Report the start of the run."""
        self.goes_on_as(init.session_id)
        self._line(init)

    def goes_on_as(self, session_id: str) -> None:
        """Set the session of the result."""
        self._builder.session_id = session_id

    def show(self, event: Event) -> None:
        """Handle an event: record it for the result and print it in the format."""
        self._builder.note(event)
        if self.format == "stream-json":
            for each in run_events(event):
                self._write(each)
        # The stream has every event; warnings are also printed to stderr.
        if (self.format != "stream-json" or isinstance(event, Warned | Noticed)) and (note := _progress(event)):
            self._print(safe(note), self.err)

    async def heard(self, event: Event) -> None:
        """Show an event of a turn."""
        self.show(event)

    def warn(self, message: str) -> None:
        """Print a warning that is not an event of the run."""
        self.show(Warned(message))

    def finish(
        self, *, error: BaseException | None = None, subtype: str = "", exit_code: int | None = None, cure: str = ""
    ) -> int:
        """Print the result and return the exit code. `error`: the error that ended the run, if any; `cure` is printed below it on stderr."""
        result = self._builder.result(error, subtype, exit_code)
        match self.format:
            case "text":
                self._finish_text(result)
            case "json":
                self._print_pieces(_in_slices(to_json(result)), self.out)
            case "stream-json":
                self._line(result)
        if error is not None:
            self._print(f"agentcli: {safe(str(error))}", self.err)
        if cure:
            self._print(f"agentcli: {cure}", self.err)
        return result.exit_code

    def _finish_text(self, result: Result) -> None:
        if result.text and result.subtype != "schema":  # a program reads it, which expects JSON that matches
            self._print(safe(result.text) if self.out.isatty() else result.text, self.out)
        for denial in result.denials:
            self._print(f"agentcli: denied: {safe_line(_denied(denial))}", self.err)

    def _line(self, event: RunEvent) -> None:
        if self.format == "stream-json":
            self._write(event)

    def _write(self, event: RunEvent) -> None:
        # The output is ASCII only. A line separator or a lone surrogate in a model's text would break a reader that
        # splits on \n.
        line = to_json(event)
        self._print_pieces(_in_slices(line) if _is_long(line) else (_json(line),), self.out)

    def _print(self, text: str, stream: TextIO) -> None:
        self._print_pieces(_slices(text), stream)

    def _print_pieces(self, pieces: Iterable[str], stream: TextIO) -> None:
        self._writing_since = time.monotonic()
        try:
            # A stream encodes each write whole: of a long text, in one, it would make several copies.
            for piece in pieces:
                stream.write(piece)
            stream.write("\n")
            stream.flush()
        finally:
            self._writing_since = None


def _progress(event: Event) -> str:
    match event:
        case ToolStarted(title=title):
            return f"· {title}"
        case Warned(message) | Noticed(message):
            return f"agentcli: {message}"
        case Retrying():
            return f"agentcli: {event.text()}"
        case CompactionEnded(why=why):
            return f"agentcli: {why}"
        case Pruned(call_ids, tokens, why):
            return f"agentcli: cleared {len(call_ids)} old calls ({tokens:,} tokens): {why}"
        case Waiting(delay, reason):
            return f"agentcli: waiting {delay:.2f} s: {reason}"
        case _:
            return ""


def _slices(text: str) -> Iterable[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE)) if len(text) > _PIECE else (text,)


def _is_long(value: Any) -> bool:
    """Return True if a value has a text that is written in slices."""
    return (
        len(value) > _PIECE
        if isinstance(value, str)
        else isinstance(value, dict) and any(map(_is_long, value.values()))
    )


def _in_slices(value: Any) -> Iterator[str]:
    """Yield a value as JSON, its long texts in slices: an escape takes six bytes for a character."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, each) in enumerate(value.items()):
            yield f"{', ' if number else ''}{_json(name)}: "
            yield from _in_slices(each)
        yield "}"
    elif isinstance(value, str) and len(value) > _PIECE:
        yield '"'
        yield from (_json(each)[1:-1] for each in _slices(value))
        yield '"'
    else:
        yield _json(value)


def _json(line: Any) -> str:
    try:
        return json.dumps(line, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(line))


def _finite(value: Any) -> Any:
    """Return the value with numbers that JSON lacks (NaN, infinity) as text."""
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list():
            return [_finite(inner) for inner in value]
        case _:
            return value


def _denied(denial: Denial) -> str:
    """Return a denied call and its reason in one line."""
    subject = next((str(denial.input[key]) for key in _SUBJECTS if denial.input.get(key)), "")
    why = denial.why.removesuffix(NOBODY).rstrip(". ") or NOBODY
    by_mode = denial.why.endswith(NOBODY) and denial.rule.startswith("mode ")
    named = _named_part(subject, why) if "command" in denial.input else subject
    plain = named and named.isprintable() and "'" not in named
    rules = [f"{denial.name}({named})"] if plain else denial.allow
    quotable = by_mode and rules and not any("'" in rule for rule in rules)
    remedy = "; allow it with " + " ".join(f"--allow '{rule}'" for rule in rules) if quotable else ""
    return f"{' '.join(filter(None, (denial.name.capitalize(), subject)))} ({why}{remedy})"


def _named_part(command: str, why: str) -> str:
    """Return the command of a line that the reason names, or the line if it does not name exactly one."""
    from agentcli.permissions.shell.syntax.parse import contents  # only a denied command needs it

    parts = [[word.text for word in part.words] for part in contents(command)[0]]
    name = why.partition(" ")[0]
    found = [" ".join(words) for words in parts if name in words]
    return found[0] if len(parts) > 1 and len(found) == 1 else command


_SUBJECTS = ("file_path", "command", "path", "url", "host")
"""Inputs that describe what a call is about."""
