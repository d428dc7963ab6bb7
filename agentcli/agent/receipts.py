"""Receipts of a turn's last message: each claim compared with the session's ledger, without a model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.agent.claim_words import NO_RECEIPT, Kind, Receipt
from agentcli.agent.claims import admitted, claims
from agentcli.agent.comment_edits import changes_only_comments
from agentcli.agent.core import SessionCore
from agentcli.agent.proof import Ledger, Proof, Step, ledger
from agentcli.core.mcp_servers import effective
from agentcli.core.message import Message, Text, ToolCall, ToolResult, shell_run
from agentcli.core.record import Compaction, InnerCall, Record
from agentcli.core.tool import Traits

_NAMES = {"tests": "tests pass", "build": "it builds", "lint": "lint is clean", "checks": "checks pass"}


_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$")


def receipt_of(text: str, core: SessionCore) -> Receipt:
    """Return the receipt of a message at the end of a turn of this session."""
    claimed = claims(text)
    if not claimed:
        return NO_RECEIPT
    history = core.journal.history
    known = admitted(text)
    found = judged(claimed, list(steps(history.deeds, core.traits, core.ctx.cwd)), known)
    newest = history.compaction.body if history.compaction is not None else None
    if found.verified is not False or not isinstance(newest, Compaction):
        return found
    # Runs before the compaction are unknown, even those after an edit that stays.
    later = [entry for entry in history.deeds if entry.seq >= newest.kept_from]
    found = judged(claimed, list(steps(later, core.traits, core.ctx.cwd)), known)
    return found if found.edited else NO_RECEIPT


def steps(entries: Iterable[Record], traits: Mapping[str, Traits], cwd: Path) -> Iterator[Step]:
    """Yield the steps of a session from its records."""
    calls: dict[str, ToolCall] = {}
    jobs: dict[str, str] = {}
    for entry in entries:
        match entry.body:
            case Message(role="assistant") as message:
                calls |= {call.call_id: effective(call) for call in message.calls}
            case Message() as message:
                yield from (_said(part) for part in message.parts if isinstance(part, Text))
            case InnerCall(_, made, result):
                yield from _steps(made, result, traits.get(made.name, Traits()), cwd, jobs)
            case ToolResult() as result if (call := calls.pop(result.call_id, None)) is not None:
                yield from _steps(call, result, traits.get(call.name, Traits()), cwd, jobs)
            case _:
                pass


def _said(part: Text) -> Step:
    """Return the step of a text of the person: their own words, or a command that they ran."""
    if not part.synthetic:
        return Step("person", None, part.text)
    if (ran := shell_run(part)) is None:
        return Step(ran=False)
    command, output, code = ran
    return Step(command, code, output)


def _steps(call: ToolCall, result: ToolResult, traits: Traits, cwd: Path, jobs: dict[str, str]) -> Iterator[Step]:
    """Yield the steps of one call with its result."""
    about, given = result.metadata, traits.subject.text(call.input)
    ran = result.status in ("success", "error")
    if traits.edits_files:
        paths = [one or two for one, two in _PATCHED.findall(given)] if traits.patches else [given]
        shown = (_shown_path(path, cwd) for path in paths)
        comments = changes_only_comments(str(about.get("diff", "")))
        yield from (Step(edited=path, comments_only=comments, ran=result.status == "success") for path in shown)
    elif traits.behaviour.delegates:
        yield Step(output=result.output, told=True, ran=ran)
    elif job := str(about.get("job") or ""):
        command = jobs.setdefault(job, given)
        state = str(about.get("state", "running"))
        yield Step(command, about.get("exit_code"), result.output if state != "running" else "still running", ran=ran)
    elif traits.runs_commands:
        parts = about.get("parts", ())
        yield Step(given, about.get("exit_code"), result.output, parts, ran=ran and "exit_code" in about)
    else:
        yield Step(ran=ran and traits.effect not in ("none", "read"))  # reading a file again verifies nothing


def _shown_path(path: str, cwd: Path) -> str:
    """Return a path for people: relative to the working folder, if it is inside."""
    absolute = os.path.normpath(cwd / path)
    return os.path.relpath(absolute, cwd) if Path(absolute).is_relative_to(cwd) else absolute


def receipt(text: str, steps: Sequence[Step]) -> Receipt:
    """Return the receipt of a final message after these steps of its session."""
    claimed = claims(text)
    return judged(claimed, steps, admitted(text)) if claimed else NO_RECEIPT


def judged(claimed: frozenset[Kind], steps: Sequence[Step], known: frozenset[Kind] = frozenset()) -> Receipt:
    """Return the receipt of claims after these steps. `known` are the kinds whose failures the message reports."""
    found = ledger(steps)
    if claimed <= {"verified", "fixed"}:
        return _of_word(claimed, found)
    shown, open_ = list[str](), list[tuple[str, str]]()
    for kind in sorted(claimed - {"verified", "fixed"}):
        proof = found.proofs.get(kind)
        if proof is not None and (proof.passed or (proof.passed is False and kind in known)):
            shown.append(_shown(kind, proof, found))
        else:
            open_.append(_missing(kind, proof, found))
    if open_:
        said, ask = open_[0]
        return Receipt(False, f"! {said}: {ask}", f"Your message {said[0].lower()}{said[1:]}", edited=found.edited)
    return Receipt(True, " · ".join(dict.fromkeys(shown)))


def _of_word(claimed: frozenset[Kind], found: Ledger) -> Receipt:
    """Judge a message that only claims a fix or a verification: anything that ran since the last edit proves it."""
    if not found.edited:
        return NO_RECEIPT
    if found.ran:
        return Receipt(True, "")
    word = "it was verified" if "verified" in claimed else "it is fixed"
    line = f"! Says that {word}; nothing ran since {found.edited} changed: ask for proof"
    claim = f"Your message says that {word}; nothing ran since {found.edited} changed" if "verified" in claimed else ""
    return Receipt(False, line, claim, edited=found.edited)


def _shown(kind: Kind, proof: Proof, found: Ledger) -> str:
    what = proof.figure or ("as reported" if proof.command == "reported" else "passed")
    what = what if proof.passed else "failed, as the message says"
    name = {"tests": "Tests", "build": "Build", "lint": "Lint", "checks": "Checks"}[kind]
    return f"{name}: {what}{', after the last edit' if found.edited else ''}"


def _missing(kind: Kind, proof: Proof | None, found: Ledger) -> tuple[str, str]:
    """Return what a message says without proof, and what to ask for."""
    says = f"Says the {_NAMES[kind]}" if kind in ("tests", "checks") else f"Says {_NAMES[kind]}"
    if proof is None:
        since = f" since {found.edited} changed" if found.edited else " in this session"
        missing = f"none ran{since}" if kind in ("tests", "checks") else f"nothing showed it{since}"
        return f"{says}; {missing}", "ask for a run"
    run = f"the last run ({proof.command[:_LONGEST]})"
    if proof.passed is False:
        return f"{says}; {run} failed", "ask for a fix"
    return f"{says}; {run} did not show it", "ask for a run that does"


_LONGEST = 60
"""Characters of a command in a line."""
