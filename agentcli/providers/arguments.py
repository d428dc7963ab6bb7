"""Arguments of a call as JSON text.

They are read strictly, and repaired if they have exactly one reading. Otherwise, they are kept as they came.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import Meta, ToolCall, unreadable_call
from agentcli.providers.wire import can_run, sendable, sendable_json

BARE = "input"
"""The parameter of a tool whose calls are plain text."""
_SHOWN = 200
"""Characters of arguments that the model is shown again."""
_LARGE = 8_000
"""Characters above which the model is advised to write in parts."""
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*(?=[,}])")
_CLOSERS = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class _Read:
    """Arguments as read: `value`, with the repaired `slips`; or `why` they are unreadable."""

    value: Any = None
    slips: tuple[str, ...] = ()
    why: str = ""


def call_of(call_id: str, name: Any, given: Any, meta: Meta | None = None, *, ended: bool = True) -> ToolCall | None:
    """Return the call with these arguments; None if it has no name. `ended`: the reply states that it ended with calls.

    A text is read as JSON. Never pass a truncated call: half an input must not look like a whole one.
    """
    if not isinstance(name, str) or not name.strip():
        return None
    found = _read(given, ended) if isinstance(given, str) else _Read(given)
    if not found.why and not can_run(name, found.value):
        what = "nested too deeply" if isinstance(found.value, dict) else "not an object"
        found = _Read(why=f"The arguments were {what}.")
    if found.why:
        return _kept(call_id, name, given if isinstance(given, str) else json.dumps(given), found.why, meta)
    call = ToolCall(call_id, sendable(name), sendable_json(found.value), meta)
    return call.remarked(f"(the arguments were mended: {', '.join(found.slips)})") if found.slips else call


def _kept(call_id: str, name: str, text: str, why: str, meta: Meta | None) -> ToolCall:
    text = sendable(text)
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    parts = (
        " Large files are written in parts: the beginning with write, the rest with edit." if len(text) > _LARGE else ""
    )
    kept = unreadable_call(call_id, sendable(name), text, f"{why} You sent: {cut}{parts}")
    return replace(kept, meta={**(meta or {}), **(kept.meta or {})})


def _read(text: str, ended: bool) -> _Read:
    if not text.strip():
        return _Read({})
    try:
        return _Read(_loads(text))
    except json.JSONDecodeError as error:
        what = re.sub(r"^Expecting (.*?)(?: delimiter)?$", r"expected \1", error.msg)
        why = f"The arguments were not JSON: {what[0].lower()}{what[1:]} at character {error.pos + 1}."
    except (ValueError, RecursionError) as error:
        return _Read(why=f"The arguments were not JSON: {error}.")
    slips: list[str] = []
    try:
        mended = _mended(text, slips, ended)
        if mended is None:
            return _Read(why=why)
        try:
            return _Read(_loads(mended), tuple(dict.fromkeys(slips)))
        except ValueError:
            return _Read(_loads(mended, strict=False), tuple(dict.fromkeys((*slips, "line breaks in strings"))))
    except (ValueError, RecursionError):
        return _Read(why=why)


def _mended(text: str, slips: list[str], ended: bool) -> str | None:
    """Return the text without stray commas, numbers and brackets, and with missing closing brackets.

    Return None if it ends within a string.
    """
    out: list[str] = []
    open_: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == '"':
            end = _string_end(text, at)
            if end is None:
                return None
            out.append(text[at:end])
            at = end
            continue
        at += 1
        if sign == ",":
            rest = text[at:].lstrip()
            if rest[:1] in ("}", "]", ""):
                slips.append("a comma before the end")
                continue
            if open_ and open_[-1] == "{" and (number := _NUMBER.match(text, at)):
                slips.append(f"a second number, {number[0].strip()}, was left out")
                at = number.end()
                continue
        elif sign in _CLOSERS:
            open_.append(sign)
        elif sign in "}]":
            if open_ and _CLOSERS[open_[-1]] == sign:
                open_.pop()
            elif not open_ and not text[at:].strip(" \r\n\t}]"):
                slips.append("a bracket too many")
                break
            else:
                return None
        out.append(sign)
    if open_ and not ended:
        return None
    if open_:
        slips.append("a missing bracket at the end")
    return "".join([*out, *(_CLOSERS[sign] for sign in reversed(open_))])


def _string_end(text: str, start: int) -> int | None:
    found = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(text, start)
    return found.end() if found else None


def _loads(text: str, *, strict: bool = True) -> Any:
    return json.loads(text, parse_constant=_refuse, strict=strict)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")
