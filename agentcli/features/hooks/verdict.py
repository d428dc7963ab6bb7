"""Verdicts of hooks: one total function of event, exit code, stdout and stderr, and the combination of several."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from agentcli.agent.hooks import Answer, Verdict
from agentcli.features.hooks.files import GEMINI_EVENTS

SPEAKING = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events at which plain text on stdout goes to the model."""
_BLOCKING_EXIT = 2
_ANSWERS: Mapping[str, Answer] = {
    "allow": "allow", "approve": "allow", "ask": "ask", "defer": "ask", "deny": "deny", "block": "deny",
}  # fmt: skip
_DECISIVE = ("hookSpecificOutput", "decision", "continue")
"""Fields of JSON that decide something."""
_LATE_JSON = re.compile(r"^\s*\{", re.MULTILINE)
_STRENGTH: Sequence[Answer] = ("deny", "ask", "allow", "")


def verdict(event: str, exit_code: int | None, stdout: str, stderr: str) -> Verdict:
    """Return the verdict of a hook that ended with this exit code (None: unknown). Exit code 2 blocks, whatever else was printed."""
    text = _answering(stdout.strip())
    trouble = ""
    found = Verdict()
    if text.startswith("{"):
        try:
            found = _read(event, text)
        except (ValueError, RecursionError) as error:
            trouble = f"its JSON is invalid: {error}"
    else:
        if exit_code == 0 and event in SPEAKING:
            found = Verdict(context=text)
        if _LATE_JSON.search(text) and any(f'"{name}"' in text for name in _DECISIVE):
            trouble = "there is other text before its JSON"
    if exit_code == _BLOCKING_EXIT:
        said = found.reason or stderr.strip() or found.message or "a hook blocked it"
        return replace(found, answer="deny", reason=said, failed="")
    if exit_code == 0 or (text.startswith("{") and not trouble):
        return replace(found, failed=trouble)
    why = "it ended in an unknown way" if exit_code is None else f"exit {exit_code}"
    return Verdict(failed=": ".join(filter(None, (why, _error_line(stderr) or _error_line(stdout)))))


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine verdicts: deny before ask before allow, the first changed input and output, all texts."""
    strongest = _strongest([each.answer for each in verdicts])
    reasons = [each.reason for each in verdicts if each.answer == strongest]
    return Verdict(
        answer=strongest,
        reason=_joined(reasons),
        context=_joined([each.context for each in verdicts]),
        message=_joined([each.message for each in verdicts]),
        input=next((each.input for each in verdicts if each.input is not None), None),
        output=next((each.output for each in verdicts if each.output is not None), None),
        ends=any(each.ends for each in verdicts),
        stop_reason=_joined([each.stop_reason for each in verdicts]),
    )


def _read(event: str, text: str) -> Verdict:
    """Read the verdict from a JSON object on stdout. Raises ValueError for an invalid object."""
    raw = json.loads(text, parse_constant=_no_constant)
    if not isinstance(raw, dict):
        raise ValueError("no object")
    own = _field(raw, "hookSpecificOutput", dict) or {}
    named = _field(own, "hookEventName", str)
    if named and named not in (event, GEMINI_EVENTS.get(event)):
        raise ValueError(f"hookEventName is {named[:40]}, not {event}")
    general = _answer(_field(raw, "decision", str), "decision")
    reason = _field(raw, "reason", str)
    specific = _answer(_field(own, "permissionDecision", str), "permissionDecision")
    request = _field(own, "decision", dict) or {}
    behaviour = _answer(_field(request, "behavior", str), "behavior")
    message = _field(raw, "systemMessage", str)
    answer = _strongest([general, specific, behaviour])
    if "permissionDecision" in raw and not answer:
        raise ValueError("permissionDecision belongs in hookSpecificOutput")
    why = _field(own, "permissionDecisionReason", str) or _field(request, "message", str) or reason
    inputs = (_field(own, "updatedInput", dict), _field(request, "updatedInput", dict))
    ends = _field(raw, "continue", bool) is False or _field(request, "interrupt", bool) is True
    return Verdict(
        answer=answer,
        reason=why or (message if answer == "deny" else ""),
        context=_field(own, "additionalContext", str),
        message=message,
        input=next((each for each in inputs if each is not None), None),
        output=own.get("updatedToolOutput", own.get("updatedMCPToolOutput")),
        ends=ends,
        stop_reason=_field(raw, "stopReason", str),
    )


def _field(raw: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field of this type; the empty text, or None, if it is missing or null. Raises ValueError for another type."""
    value = raw.get(name)
    if value is None:
        return "" if kind is str else None
    if not isinstance(value, kind):
        raise ValueError(f"{name} is not {_TYPES[kind]}")
    return value


_TYPES: Mapping[type, str] = {str: "text", dict: "an object", bool: "true or false"}


def _answer(text: str, name: str) -> Answer:
    if text and text not in _ANSWERS:
        raise ValueError(f"{name} is {text[:40]!r}")
    return _ANSWERS.get(text, "")


def _strongest(answers: Sequence[Answer]) -> Answer:
    return next((answer for answer in _STRENGTH if answer in answers), "")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


def is_asynchronous(stdout: str) -> bool:
    """Return True if the first line requests not to wait for the hook: `{"async": true}`."""
    first = stdout.lstrip().partition("\n")[0]
    if not (first.startswith("{") and '"async"' in first):
        return False
    try:
        return bool(json.loads(first).get("async") is True)
    except (ValueError, RecursionError):
        return False


def _answering(text: str) -> str:
    """Return the text with the answer: after `{"async": true}`, the first line that looks like an object."""
    if not is_asynchronous(text):
        return text
    return next((line.strip() for line in text.split("\n")[1:] if line.lstrip().startswith("{")), "")


def _error_line(text: str) -> str:
    """Return the first line that is not empty, or the last line of a traceback, which ends with the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    return (lines[-1] if lines[0].startswith("Traceback (") else lines[0])[:200]
