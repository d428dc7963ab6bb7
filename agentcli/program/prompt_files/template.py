"""Texts with placeholders in slash commands and skills: parsed once into parts, so that inserted text is never parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Literal

from agentcli.core.dataclass import dataclass

Syntax = Literal["own", "claude", "gemini", "opencode", "pi"]
"""The program that a text was written for.

Our own texts differ from Claude Code's in the number of the first argument, and in code.
"""


@dataclass(frozen=True, slots=True)
class Argument:
    """Placeholder of an argument."""

    number: int | None = None
    """Number of the argument, counted from 0; None for all arguments."""
    literal: str = ""
    """The placeholder as written."""
    in_code: bool = False
    """True if it is in code, which stays unchanged if there are no arguments at all."""
    rest: bool = False
    """True if it means this argument and all that follow."""
    most: int | None = None
    """Largest number of arguments that `rest` means."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Placeholder of a named value, such as the folder of a skill: `${NAME}`."""

    name: str


@dataclass(frozen=True, slots=True)
class Shell:
    """A command whose output is inserted.

    `quoted`: its arguments are quoted for the shell; `may_fail`: a failure's output is used, too.
    """

    parts: tuple[str | Argument | Variable, ...]
    quoted: bool = False
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class FileName:
    """Name of a file to attach. `inline`: its text replaces the name."""

    parts: tuple[str | Argument | Variable, ...]
    inline: bool = False


Part = str | Argument | Variable | Shell | FileName


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of one use: the whole text, and its words."""

    text: str
    words: tuple[str, ...]
    variables: Mapping[str, str]

    def fill(self, part: str | Argument | Variable, quoted: bool = False) -> str:
        """Return the text of a part that is neither a command nor a file."""
        match part:
            case str():
                return part
            case Variable(name):
                return self.variables.get(name, f"${{{name}}}")
            case Argument(literal=literal, in_code=True) if not self.text:
                return literal
            case Argument(int() as number, rest=True, most=most):
                return " ".join(self.words[number:][:most])
            case Argument(int() as number):
                return self.words[number] if number < len(self.words) else ""
            case Argument():
                return quote(self.text) if quoted else self.text


def arguments(text: str, variables: Mapping[str, str] | None = None) -> Arguments:
    """Split a text into arguments; quotes group words."""
    text = text.strip()
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote is a letter, and everything after it belongs to its word
        words = [_unquoted(word) for word in re.findall(_WORD, text)]
    return Arguments(text, tuple(words), variables or {})


_QUOTED = r""""(?:\\.|[^"\\])*"|'[^']*'"""
_WORD = rf"""(?s)(?:{_QUOTED}|\\.|[^\s"'\\]|["'\\].*)+"""


def _unquoted(word: str) -> str:
    """Return a word without its closed quotes."""
    return re.sub(rf"(?s)({_QUOTED})|\\(.)", lambda found: found[1][1:-1] if found[1] else found[2], word)


def parse(body: str, syntax: Syntax, names: Sequence[str] = ()) -> tuple[Part, ...]:
    """Parse a body into parts. `$0` is the first argument in texts for Claude Code, and in any body with `$0`;
    otherwise `$1` is.

    Claude Code also fills placeholders in code; other syntaxes keep them there if there are no arguments. `names` are
    the names of arguments that may be written `$name`, in order. A body without a place for arguments gets them at its
    end.
    """
    if syntax == "gemini":
        parts = [*_gemini(body)]
    elif syntax == "pi":
        parts = [*_pi(body)]
    else:
        found = [*_dollars(body, syntax, names)]
        parts = _greedy(found) if syntax == "opencode" else found
    return tuple(part for part in parts if part != "")


def takes_arguments(parts: Sequence[Part]) -> bool:
    """Return True if any part has a place for arguments."""
    inner = [one for part in parts for one in (part.parts if isinstance(part, Shell | FileName) else (part,))]
    return any(isinstance(one, Argument) for one in inner)


_FENCE = r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$"
_SPAN = r"(?<!`)`[^`\n]+`(?!`)"
_ESCAPED = r"(?<!\\)\\(?P<escaped>\$(?:ARGUMENTS(?:\[\d{1,3}\])?|\d{1,2}(?!\d)))"
"""A placeholder after a backslash, which stays literal in Claude Code's and our own files."""
_DOLLAR = r"\$ARGUMENTS\[(?P<at>\d{1,3})\]|\$ARGUMENTS|\$(?P<nth>\d{1,2})(?!\d)"
_VARIABLE = r"\$\{(?P<variable>CLAUDE_[A-Z_]+|AGENTCLI_[A-Z_]+|extensionPath)\}"
_MARK = (
    r"^```!(?P<block>[^\n]*\n.*?)^```[ \t]*$|(?:(?<=\s)|^)!`(?P<line>[^`\n]+)`"
    r"|(?:(?<=\s)|^)@(?P<file>[\w~./$\[\]{}-]*[\w/$\]}])"
)


def _dollars(body: str, syntax: Syntax, names: Sequence[str]) -> Iterator[Part]:
    """Yield the parts of a body in the syntax of Claude Code and opencode."""
    from_zero = syntax == "claude" or bool(re.search(r"\$0(?!\d)", body))
    code = [found.span() for pattern in (_FENCE, _SPAN) for found in re.finditer(pattern, body)]
    known = "|".join(re.escape(name) for name in names if name)
    named = rf"|\$(?P<name>{known})\b" if known else ""
    inner = re.compile(f"{'(?P<escaped>(?!))' if syntax == 'opencode' else _ESCAPED}|{_DOLLAR}|{_VARIABLE}{named}")
    done = 0
    for found in re.finditer(f"{_MARK}|{inner.pattern}", body, re.MULTILINE | re.DOTALL):
        yield body[done : found.start()]
        done = found.end()
        in_code = any(start <= found.start() < end for start, end in code)
        command = found["block"] or found["line"]
        if command is not None:
            yield Shell(tuple(_filled(command.strip(), inner, from_zero, names)))
        elif found["file"] is not None:
            yield "@" + found["file"] if in_code else FileName(tuple(_filled(found["file"], inner, from_zero, names)))
        else:
            yield _placeholder(found, from_zero, names, in_code and syntax != "claude")
    yield body[done:]


def _filled(
    text: str, inner: re.Pattern[str], from_zero: bool, names: Sequence[str]
) -> Iterator[str | Argument | Variable]:
    done = 0
    for found in inner.finditer(text):
        yield text[done : found.start()]
        done = found.end()
        yield _placeholder(found, from_zero, names, in_code=False)
    yield text[done:]


def _placeholder(
    found: re.Match[str], from_zero: bool, names: Sequence[str], in_code: bool
) -> str | Argument | Variable:
    groups = found.groupdict()
    if groups.get("escaped"):
        return str(groups["escaped"])
    if groups.get("variable"):
        return Variable(groups["variable"])
    if groups.get("name"):
        return Argument([*names].index(groups["name"]), found[0], in_code)
    if groups.get("at"):
        return Argument(int(groups["at"]), found[0], in_code)
    if groups.get("nth"):
        number = int(groups["nth"]) - (0 if from_zero else 1)
        return Argument(max(number, 0), found[0], in_code)
    return Argument()


def _greedy(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with the highest argument changed to include all remaining ones, as in opencode."""
    numbers = [part.number for part in parts if isinstance(part, Argument) and part.number is not None]
    last = max(numbers, default=None)

    def rest(part: Part) -> Part:
        if isinstance(part, Argument) and part.number is not None and part.number == last:
            return Argument(part.number, part.literal, part.in_code, rest=True)
        return part

    return [rest(part) for part in parts]


def _gemini(body: str) -> Iterator[Part]:
    """Yield the parts of a prompt in Gemini CLI's syntax.

    Placeholders are `{{args}}`, `!{command}` and `@{path}`, with balanced braces.
    """
    done = 0
    for found in re.finditer(r"\{\{args\}\}|[!@]\{", body):
        if found.start() < done:
            continue
        yield body[done : found.start()]
        if found[0] == "{{args}}":
            yield Argument()
            done = found.end()
            continue
        end = _closing(body, found.end())
        if end is None:
            yield body[found.start() : found.end()]
            done = found.end()
            continue
        pieces = re.split(r"(\{\{args\}\})", body[found.end() : end].strip())
        inner = tuple(Argument() if piece == "{{args}}" else piece for piece in pieces if piece)
        yield Shell(inner, quoted=True, may_fail=True) if found[0] == "!{" else FileName(inner, inline=True)
        done = end + 1
    yield body[done:]


def _pi(body: str) -> Iterator[Part]:
    """Yield the parts of a prompt in pi's syntax, with arguments as in a shell."""
    done = 0
    for found in re.finditer(r"\$\{@:(\d{1,3})(?::(\d{1,3}))?\}|\$(?:@|ARGUMENTS|(\d{1,3}))", body):
        yield body[done : found.start()]
        done = found.end()
        first, most, nth = found.groups()
        if nth:
            yield Argument(int(nth) - 1, found[0]) if int(nth) else ""
        else:
            yield Argument(max(int(first or 1) - 1, 0), found[0], rest=True, most=int(most) if most else None)
    yield body[done:]


def _closing(body: str, start: int) -> int | None:
    """Return the position of the brace that closes one opened just before `start`, or None."""
    depth = 1
    for found in re.finditer(r"[{}]", body[start:]):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return start + found.start()
    return None
