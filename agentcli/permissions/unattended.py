"""Runs without a person who could allow a call: what such a run denies, for the model and for the person."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.core.record import Mode

NOBODY = "Nobody is there to allow it, so it is denied"
FIRST_DENIAL = "Calls like this one, and variants of it, will be denied again; go on without them and say at the end what could not be run."
"""Text for the model, added to the first call that is denied because no person is there."""

_RUNS: Mapping[Mode, str] = {
    "ask": "only reading works. Edits, and commands that may change something, are denied",
    "auto-edit": "reading and edits inside the workspace work. Commands that may change something are denied",
    "plan": "only reading works, and no plan can be approved: give it as your answer",
    "auto": (
        "edits inside the workspace and commands in its sandbox work. What uses the network, leads outside the workspace, "
        "touches protected files or cannot be undone is denied"
    ),
    "yolo": (
        "what only a person may allow is denied: access to protected files, commands that can only destroy, that overwrite or remove "
        "files outside the workspace, or that need root's powers"
    ),
}
_NO_SANDBOX = "no sandbox works here, so only reading and edits inside the workspace work. Commands are denied"


def for_model(mode: Mode, *, sandboxed: bool, rules: bool) -> str:
    """Return the reminder for the model at the start; the first denial says how to continue. `rules` is true if some rule allows more."""
    more = ", unless a rule of the user allows them" if rules and mode != "plan" else ""
    return f"Nobody can allow calls in this run: {_runs(mode, sandboxed)}{more}."


def for_person(mode: Mode, *, sandboxed: bool, rules: bool) -> str:
    """Return the notice for the person who started the run; empty if almost nothing is denied."""
    if mode in ("yolo", "plan"):
        return ""
    more = " but for what your rules allow" if rules else ""
    wider = "--mode auto or yolo, or single commands with" if mode != "auto" else "single commands with"
    return f"Nobody can allow calls in this run (mode {mode}): {_runs(mode, sandboxed)}{more}. To allow more: {wider} --allow 'bash(npm test)'."


def _runs(mode: Mode, sandboxed: bool) -> str:
    return _NO_SANDBOX if mode == "auto" and not sandboxed else _RUNS[mode]
