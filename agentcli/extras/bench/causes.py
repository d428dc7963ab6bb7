"""Causes of failures, by rules about a run's events; anything else is the model's mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentcli.agent.intent import announces
from agentcli.core.errors import ContextError
from agentcli.extras.batch.agent_process import EVENTS
from agentcli.extras.batch.ledger import Row
from agentcli.extras.bench.judging import REFUSED

MISTAKE = "model's mistake"
_MISSING = re.compile(r"no such file|does not exist|not found|is not a file|is not a folder", re.IGNORECASE)
_SAME_IN_A_ROW = 3
_WRONG_PATHS = 3


def cause_of(row: Row, folder: Path) -> str:
    """Return the cause of a failure. Rules for the run's end come first, then rules for its steps; the first match
    counts.
    """
    if row.check and REFUSED not in words_of_check(folder):
        return "check broke"
    events = list(_events(folder))
    result: Mapping[str, Any] = next((each for each in reversed(events) if each.get("type") == "result"), {})
    if row.state == "limited" or result.get("subtype") == "limit":
        return "timeout" if "time" in str(result.get("error") or row.why).lower() else "limit"
    if row.exit == ContextError.exit_code:
        return "context"
    if result.get("permission_denials") or any(each.get("status") == "denied" for each in events):
        return "denied"
    calls = [_shown(each) for each in events if each.get("type") == "tool_call"]
    if _longest_row(calls) >= _SAME_IN_A_ROW or "repeat" in str(result.get("error") or "").lower():
        return "repeated"
    if announces(str(result.get("text") or "")):
        return "promised"
    if result.get("subtype") == "incomplete":
        return "undone"
    if result.get("verified") is False:
        return "false claim"
    failed = [
        str(each.get("output"))
        for each in events
        if each.get("type") == "tool_result" and each.get("status") == "error"
    ]
    if sum(bool(_MISSING.search(text)) for text in failed) >= _WRONG_PATHS:
        return "wrong path"
    if row.exit not in (0, None):
        return f"ended with {row.exit}"
    return MISTAKE


def steps_of(folder: Path) -> Sequence[str]:
    """Return the calls of a run in its folder, each in one line."""
    return [_shown(each) for each in _events(folder) if each.get("type") == "tool_call"]


def words_of_check(folder: Path) -> str:
    """Return the output of a run's check; empty if it had none."""
    try:
        return (folder / "check.txt").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _shown(call: Mapping[str, Any]) -> str:
    return f"{call.get('name')} {json.dumps(call.get('input'), ensure_ascii=False, sort_keys=True)}"


def _longest_row(calls: Sequence[str]) -> int:
    longest = length = min(1, len(calls))
    for one, two in pairwise(calls):
        length = length + 1 if one == two else 1
        longest = max(longest, length)
    return longest


def _events(folder: Path) -> Iterator[Mapping[str, Any]]:
    with suppress(OSError), (folder / EVENTS).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with suppress(ValueError):
                if isinstance(event := json.loads(line), dict):
                    yield event
