"""Receipts of a turn's last message: each claim compared with the session's ledger, without a model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.check_commands import named_kinds, task
from agentcli.agent.claim_words import NO_RECEIPT, Kind, Receipt
from agentcli.agent.claims import (
    admitted,
    checkers_claimed,
    claims,
    counts_claimed,
    tells_failures,
)
from agentcli.agent.comment_edits import changes_only_comments
from agentcli.agent.core import SessionCore
from agentcli.agent.mentioned_checks import mentioned
from agentcli.agent.proof import PERSON, Ledger, Proof, Step, ledger
from agentcli.core.dataclass import replace
from agentcli.core.mcp_servers import effective
from agentcli.core.message import Message, Text, ToolCall, ToolResult, shell_run
from agentcli.core.record import Compaction, InnerCall, Record
from agentcli.core.tool import Traits
from agentcli.tools.jobs import ended_job

_NAMES = {
    "tests": "the tests pass",
    "build": "it builds",
    "lint": "lint is clean",
    "checks": "the checks pass",
    "ci": "CI passes",
}


_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$")


def receipt_of(text: str, core: SessionCore) -> Receipt:
    """Return the receipt of a message at the end of a turn of this session."""
    claimed = claims(text)
    history = core.journal.history
    deeds = history.deeds if claimed else _of_last_turn(history.deeds)
    found = judged(text, claimed, steps(deeds, core.traits, core.ctx.cwd))
    newest = history.compaction.body if history.compaction is not None else None
    if found.verified is not False or not isinstance(newest, Compaction):
        return found
    # Runs before the compaction are unknown, even those after an edit that stays.
    later = steps((entry for entry in history.deeds if entry.seq >= newest.kept_from), core.traits, core.ctx.cwd)
    found = judged(text, claimed, later)
    failed = any(not proof.passed for kind, proof in ledger(later).proofs.items() if kind in claimed)
    return found if found.edited or failed else NO_RECEIPT


def _of_last_turn(deeds: Sequence[Record]) -> Sequence[Record]:
    """Return the records since the person's last words."""
    begin = next((at for at in range(len(deeds) - 1, 0, -1) if _is_said(deeds[at])), 0)
    return deeds[begin:]


def _is_said(entry: Record) -> bool:
    told = entry.body.parts if isinstance(entry.body, Message) and entry.body.role == "user" else ()
    return any(isinstance(part, Text) and not part.synthetic for part in told)


def steps(entries: Iterable[Record], traits: Mapping[str, Traits], cwd: Path) -> list[Step]:
    """Return the steps of a session from its records. A background job is the step of its start."""
    found = _Steps(traits, cwd)
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry.body:
            case Message(role="assistant") as message:
                calls |= {call.call_id: effective(call) for call in message.calls}
            case Message() as message:
                for part in message.parts:
                    if isinstance(part, Text):
                        found.add_text(part)
            case InnerCall(_, made, result):
                found.add(made, result)
            case ToolResult() as result if (call := calls.pop(result.call_id, None)) is not None:
                found.add(call, result)
            case _:
                pass
    return found.steps


class _Steps:
    """The steps of a session as its records are read."""

    def __init__(self, traits: Mapping[str, Traits], cwd: Path) -> None:
        self.steps = list[Step]()
        self._traits, self._cwd = traits, cwd
        self._jobs: dict[str, int] = {}
        """The steps of background jobs by the jobs' ids."""

    def add_text(self, part: Text) -> None:
        """Add a text for the model: the person's words, a command that they ran, or the end of a job."""
        if not part.synthetic:
            self.steps.append(Step(PERSON, None, part.text))
        elif (ran := shell_run(part)) is not None:
            command, output, code = ran
            self.steps.append(Step(command, code, output))
        elif (job := ended_job(part.text)) is not None:
            self._end_job(*job)

    def add(self, call: ToolCall, result: ToolResult) -> None:
        """Add a call with its result."""
        traits = self._traits.get(call.name, Traits())
        about, given = result.metadata, traits.subject.text(call.input)
        ran = result.status in ("success", "error")
        if traits.edits_files:
            paths = [one or two for one, two in _PATCHED.findall(given)] if traits.patches else [given]
            shown = (_shown_path(path, self._cwd) for path in paths)
            diff, done = str(about.get("diff", "")), result.status not in ("error", "denied")
            created = "--- /dev/null\n" in diff or about.get("created") is True
            edit = Step(comments_only=changes_only_comments(diff), created=created, ran=done)
            self.steps += (replace(edit, edited=path) for path in shown)
        elif job := str(about.get("job") or ""):
            self._add_job(job, Step(given, output=result.output, told=traits.behaviour.delegates, ran=ran), about)
        elif traits.behaviour.delegates:
            self.steps.append(Step(output=result.output, told=True, ran=ran))
        elif traits.runs_commands:
            parts = about.get("parts", ())
            ran = ran and "exit_code" in about
            self.steps.append(Step(given, about.get("exit_code"), result.output, parts, ran=ran))
        elif traits.subject.kind == "folder":  # a search shows as much as the command of that name
            self.steps.append(Step(call.name, 0, result.output, ran=ran))
        elif call.name not in self._traits and isinstance(line := call.input.get("command"), str):
            self.steps.append(Step(line, about.get("exit_code"), result.output, ran=ran))  # another program's shell
        else:  # reading a file again verifies nothing
            self.steps.append(Step(output=result.output, ran=ran and traits.effect not in ("none", "read")))

    def _add_job(self, job: str, step: Step, about: Mapping[str, Any]) -> None:
        """Add the start of a background job, or what it printed since."""
        if job not in self._jobs:
            self._jobs[job] = len(self.steps)
            self.steps.append(replace(step, output=""))
        at = self._jobs[job]
        before = self.steps[at].output.removesuffix(_RUNS)
        self.steps[at] = replace(self.steps[at], output=f"{before}{step.output}\n{_RUNS}")
        if about.get("state", "running") != "running":
            self._end_job(job, about.get("exit_code"))

    def _end_job(self, job: str, code: int | None) -> None:
        """Note the end of a job. A subagent's report is a step of its own, as it may tell of later edits."""
        if (at := self._jobs.get(job)) is None:
            return
        ended = replace(self.steps[at], exit=code, output=self.steps[at].output.removesuffix(_RUNS))
        if ended.told:
            self.steps.append(ended)
        else:
            self.steps[at] = ended


_RUNS = "still running"
"""Last line of the output of a background job that has not ended."""


def _shown_path(path: str, cwd: Path) -> str:
    """Return a path for people: relative to the working folder, if it is inside."""
    absolute = os.path.normpath(cwd / path)
    return os.path.relpath(absolute, cwd) if Path(absolute).is_relative_to(cwd) else absolute


def receipt(text: str, steps: Sequence[Step]) -> Receipt:
    """Return the receipt of a final message after these steps of its session."""
    return judged(text, claims(text), steps)


def judged(text: str, claimed: frozenset[Kind], steps: Sequence[Step]) -> Receipt:
    """Return the receipt of a message with these claims after these steps."""
    found = ledger(steps)
    receipt = _of_claims(text, claimed, steps, found) if claimed else NO_RECEIPT
    if receipt.verified is not None:
        return receipt
    return mention if (mention := _of_mentioned(text, steps, found)) is not NO_RECEIPT else receipt


def _of_mentioned(text: str, steps: Sequence[Step], found: Ledger) -> Receipt:
    """Judge a message without a claim by a check of its turn that an edit followed, or that failed."""
    check = mentioned(text, steps, found)
    if check is None:
        return NO_RECEIPT
    run = check.command[:_LONGEST]
    if check.failed:
        fact, ask = f"the last run ({run}) failed", "ask for a fix"
    else:
        fact, ask = f"{run} did not run since {found.edited} changed", "ask for a run"
    line = f"! {fact[0].upper()}{fact[1:]}: {ask}" if check.failed else f"! {fact}: {ask}"
    return Receipt(None, line, edited=found.edited)


def _of_claims(text: str, claimed: frozenset[Kind], steps: Sequence[Step], found: Ledger) -> Receipt:
    if claimed <= {"verified", "fixed"}:
        return _of_word(claimed, found)
    known, named = admitted(text), checkers_claimed(text)
    at_large = claims(text, named=False) if named else claimed
    counted = (proof := found.proofs.get("tests")) is not None and _agrees(text, proof)
    shown, open_ = list[str](), list[tuple[str, str]]()
    for kind in sorted(claimed - {"verified", "fixed"}):
        proof = found.proofs.get(kind)
        if proof is not None and not proof.passed and kind not in at_large:
            # The newest run is of another checker than the message names.
            of_kind = (name for name in sorted(named) if kind in named_kinds([name]))
            own = [run for run in map(found.checkers.get, of_kind) if run is not None]
            proof = next((run for run in own if run.passed), next(iter(own), proof))
        tells = kind in known or (kind == "tests" and counted)
        if proof is not None and (proof.passed or (proof.passed is False and tells)):
            shown.append(_shown(kind, proof, found))
        else:
            open_.append(_missing(kind, proof, found))
    if "tests" in claimed and not open_ and found.tests is not None:
        most = max(counts_claimed(text), default=0)
        if most > found.tests and not _shown_in(most, steps):
            open_.append(_too_many(most, found))
    told = " ".join(said for said, _ in open_)
    open_ += [
        _of_checker(name, found)
        for name in _unproven(named, found, known)
        if not open_ or (name in found.checkers and found.checkers[name].command[:_LONGEST] not in told)
    ]
    if open_:
        (said, ask), more = open_[0], (f" It also {said[0].lower()}{said[1:]}." for said, _ in open_[1:_CLAIMS])
        claim = "".join((f"Your message {said[0].lower()}{said[1:]}.", *more)).removesuffix(".")
        return Receipt(False, f"! {said}: {ask}", claim, edited=found.edited)
    return Receipt(True, " · ".join(dict.fromkeys(shown)))


def _agrees(text: str, proof: Proof) -> bool:
    """Return True if a message says how many tests passed in a failed run, and that others fail."""
    counts = set(counts_claimed(text)) if proof.passed is False else set()
    return {f"{count} passed" for count in counts} == {proof.figure.replace(",", "")} and tells_failures(text)


def _unproven(named: Iterable[str], found: Ledger, known: frozenset[Kind]) -> Sequence[str]:
    """Return the checkers, of those whose success a message claims, that no run of theirs or of a task shows."""

    def proven(name: str) -> bool:
        kinds, own = named_kinds([name]), found.checkers.get(name)
        tasks = [found.checkers[task(kind)] for kind in kinds if task(kind) in found.checkers]
        if own is not None and own.passed is False:
            tasks = [run for run in tasks if run in found.proofs.values()]  # the newest run of its kind
        return bool(kinds & known) or bool(tasks) or (own is not None and own.passed is not False)

    return [name for name in sorted(named) if not proven(name)]


def _of_checker(name: str, found: Ledger) -> tuple[str, str]:
    """Return what a message says of a checker without proof, and what to ask for."""
    if (proof := found.checkers.get(name)) is not None:
        return f"Says that {name} succeeded; the last run ({proof.command[:_LONGEST]}) failed", "ask for a fix"
    since = f" since {found.edited} changed" if found.edited else " in this session"
    return f"Says that {name} succeeded; it did not run{since}", "ask for a run"


def _of_word(claimed: frozenset[Kind], found: Ledger) -> Receipt:
    """Judge a message that only claims a fix or a verification: what ran since the last edit proves it.

    What fails proves a fix too, such as that of an error's text, and no verification, which ends with success.
    """
    if verified := "verified" in claimed:
        ran = found.ran or (found.looked and not found.unrun and not found.failed)
    else:
        ran = found.ran or found.looked or bool(found.failed)
    if ran and not found.touched:
        return Receipt(True, "") if found.edited else NO_RECEIPT
    if not (
        edited := ("" if ran else found.edited or (found.text if verified and not found.looked else ""))
        or found.touched
    ):
        return NO_RECEIPT
    missing = f"nothing ran since {edited} changed"
    if found.failed and not ran:
        missing = f"what ran since {edited} changed ({found.failed[:_LONGEST]}) failed"
    if not verified:
        return Receipt(None, f"! Says that it is fixed; {missing}: ask for proof", edited=edited)
    said = f"that it was verified; {missing}"
    return Receipt(False, f"! Says {said}: ask for proof", f"Your message says {said}", edited=edited)


def _shown(kind: Kind, proof: Proof, found: Ledger) -> str:
    what = proof.figure or ("as reported" if proof.command == "reported" else "passed")
    what = what if proof.passed else "failed, as the message says"
    name = {"tests": "Tests", "build": "Build", "lint": "Lint", "checks": "Checks", "ci": "CI"}[kind]
    return f"{name}: {what}{', after the last edit' if found.edited else ''}"


def _missing(kind: Kind, proof: Proof | None, found: Ledger) -> tuple[str, str]:
    """Return what a message says without proof, and what to ask for."""
    says = f"Says {_NAMES[kind]}"
    if proof is None:
        since = f" since {found.edited} changed" if found.edited else " in this session"
        missing = f"none ran{since}" if kind in ("tests", "checks") else f"nothing showed it{since}"
        return f"{says}; {missing}", "ask for a run"
    run = f"the last run ({proof.command[:_LONGEST]})"
    if proof.passed is False:
        return f"{says}; {run} failed", "ask for a fix"
    return f"{says}; {run} did not show it", "ask for a run that does"


def _too_many(number: int, found: Ledger) -> tuple[str, str]:
    """Return what a message says of more tests than ran, and what to ask for."""
    since = f" since {found.edited} changed" if found.edited else " in this session"
    return f"Says {number:,} tests pass; at most {found.tests:,} passed{since}", "ask for a run"


_TESTS = re.compile(r"(?i)test|spec|pass|\bok\b|[✓✔]")
"""What a command or a line of an output contains if it may be about tests."""


def _shown_in(number: int, steps: Iterable[Step]) -> bool:
    """Return True if a call or text about tests contains a number, from which the claim may take it."""
    figure = re.compile(rf"(?<!\d)(?<!\d[.,])(?:{number}|{number:,})(?![.,]?\d|%)")
    return any(
        step.told or step.command == PERSON or _TESTS.search(step.command) or _TESTS.search(line)
        for step in steps
        if figure.search(step.output)
        for line in step.output.splitlines()
        if figure.search(line)
    )


_CLAIMS = 3
"""Maximum claims that the model is told of."""
_LONGEST = 60
"""Characters of a command in a line."""
