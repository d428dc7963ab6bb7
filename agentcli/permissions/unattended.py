"""Runs without a person who could allow a call: what they deny, for the model and for the person."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.core.record import Mode

NOBODY = "No one can approve it, so it is denied"
FIRST_DENIAL = "Calls like this one, and variants of it, will be denied again; continue without them and say at the end what could not be run."
"""Text for the model, added to the first call that is denied because nobody is there."""

OTHER_PARTS = "Nothing of this command ran: run its other parts by themselves."
"""Text for the model, added to a denial of a line of several commands."""

BISECTS = "git bisect run starts a program beside git"
TOO_LONG = "the command is longer than"
_OWN_JOBS = "bash_stop ends a background job."
_NEXT_STEPS: Mapping[str, str] = {
    **dict.fromkeys(("kill ", "pkill ", "killall "), _OWN_JOBS),
    BISECTS: "Run the program by itself, and mark each commit with git bisect good or bad.",
    TOO_LONG: "Make files with `write` instead.",
}
"""Text for the model by the beginning of a denial's reason. A person who is asked sees only the reason."""


def next_step(why: str) -> str:
    """Return what the model can do instead of a denied call; empty if nothing is known."""
    return next((step for reason, step in _NEXT_STEPS.items() if why.startswith(reason)), "")


PRIVATE = (
    "/tmp is private to your commands and lasts as long as this session; on localhost they reach the servers that they started, and "
    "no others. Outside the workspace, what they write into the home folder is gone when they end: install into the workspace, such "
    "as .venv, or /tmp."
)
"""Text for the model about what its sandboxed commands share."""

_RUNS: Mapping[Mode, str] = {
    "ask": "edits and commands that may change files are denied",
    "auto-edit": "commands that may change files, and edits outside the workspace, are denied",
    "plan": "only reading is allowed, and no plan can be approved: give it as your answer",
    "auto": (
        "anything that {network}, affects files outside the workspace, "
        "touches protected files or is irreversible is denied"
    ),
    "yolo": (
        "access to protected files is denied, and so are destructive commands, commands that overwrite or remove "
        "files outside the workspace, and commands that need root"
    ),
}
_GATED = "reaches hosts other than package registries and git remotes"
_NO_SANDBOX = "no sandbox works here, so commands that may change files, and edits outside the workspace, are denied"


def for_model(mode: Mode, *, sandboxed: bool, gated: bool, rules: bool) -> str:
    """Return the reminder for the model at the start; the first denial explains how to continue.

    `gated` is true if the sandbox lets commands reach hosts on a list, `rules` if any rule allows more.
    """
    more = ", unless a rule of the user allows them" if rules and mode != "plan" else ""
    return f"Non-interactive run, no one can approve calls: {_runs(mode, sandboxed, gated)}{more}."


def for_person(mode: Mode, *, sandboxed: bool, gated: bool, rules: bool) -> str:
    """Return the notice for the person who started the run; empty if almost nothing is denied."""
    if mode in ("yolo", "plan"):
        return ""
    more = " unless a rule allows them" if mode != "auto" or rules else ""
    wider = "--mode auto or yolo, or single commands with" if mode != "auto" else "single commands with"
    example = "git push" if mode == "auto" and sandboxed else "npm test"
    return f"Non-interactive run, mode {mode}: {_runs(mode, sandboxed, gated)}{more}. Allow more: {wider} --allow 'bash({example})'."


def _runs(mode: Mode, sandboxed: bool, gated: bool) -> str:
    if mode != "auto":
        return _RUNS[mode]
    return _RUNS[mode].format(network=_GATED if gated else "uses the network") if sandboxed else _NO_SANDBOX
