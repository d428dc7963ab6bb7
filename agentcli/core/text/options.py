"""Options at the beginning of a slash command's argument, before its text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.words import one_of

_WORD = re.compile(r"""\s*(--[\w-]+)(?:[=\s]+('[^']*'|"(?:[^"\\]|\\.)*"|\S+))?""", re.DOTALL)
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)?")
_SECONDS: Mapping[str, float] = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Parsed:
    """Options by their names, and the text after them."""

    options: Mapping[str, str]
    text: str


def parse(argument: str, values: Mapping[str, str], switches: tuple[str, ...] = (), usage: str = "") -> Parsed:
    """Read the options at the beginning of an argument; `values` are options with their placeholders. Raises UsageError."""
    options: dict[str, str] = {}
    rest = argument
    while rest.lstrip().startswith("--") and (found := _WORD.match(rest)):
        name, value = found[1].removeprefix("--"), found[2]
        if name in switches:
            options[name] = "yes"
            rest = rest[found.end(1) :]
        elif name in values and value:
            options[name] = _unquoted(value)
            rest = rest[found.end() :]
        elif name in values:
            raise UsageError(f"--{name} needs a value: --{name} {values[name]}. {usage}".rstrip())
        else:
            hint = one_of(f"--{name}", [f"--{each}" for each in (*values, *switches)])
            raise UsageError(f"Unknown option --{name}.{hint} {usage}".rstrip())
    return Parsed(options, rest.strip())


def count(options: Mapping[str, str], name: str, default: int) -> int:
    """Return a whole number above 0 from the options. Raises UsageError for another value."""
    given = options.get(name)
    if given is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", given) or int(given) < 1:
        raise UsageError(f"--{name} takes a whole number from 1 on, not {given!r}.")
    return int(given)


def dollars(options: Mapping[str, str], name: str, default: float | None) -> float | None:
    """Return an amount in USD from the options. Raises UsageError for another value."""
    given = options.get(name)
    if given is None:
        return default
    if not re.fullmatch(r"\$?\d+(?:\.\d+)?", given):
        raise UsageError(f"--{name} takes an amount in USD such as 2.50, not {given!r}.")
    return float(given.lstrip("$"))


def duration(given: str, what: str) -> float:
    """Return the seconds of a time such as `90s`, `5m`, `2h`; a bare number is minutes. Raises UsageError, mentioning
    `what`.
    """
    parts = list(_TIME.finditer(given))
    if not parts or "".join(part[0] for part in parts) != given:
        raise UsageError(f"{what} takes a time such as 90s, 5m, 2h or 1h30m, not {given!r}.")
    seconds = sum(float(part[1]) * _SECONDS[part[2] or "m"] for part in parts)
    if not 0 < seconds < 366 * 86_400:
        raise UsageError(f"{what} takes a time between a second and a year, not {given!r}.")
    return seconds


def _unquoted(value: str) -> str:
    if value[:1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
    return value[1:-1] if value[:1] == "'" else value
