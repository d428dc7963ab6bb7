"""Questions as other programs get them, in the words of the terminal and with its choices; and answers back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.frontends.serve.questions import Answer
from agentcli.frontends.terminal.dialogs import proposal
from agentcli.frontends.terminal.style import MUTE, Look

_PLAN = ("session", "once", "no")
"""The answers behind the choices about a plan, in their order."""


def question_of(ask: ApprovalRequest, folder: str) -> Mapping[str, Any]:
    """Return a question about a call with all that the terminal shows: the title, the reason, the whole preview, each choice. Paths are shown from `folder`."""
    look = Look(MUTE, folder=folder)
    dialog = proposal.question(ask, None, look)
    names = _PLAN if ask.kind == "plan" else proposal.answers(ask, None)
    description = ask.call.input.get("description")
    return {
        "kind": ask.kind,
        "call_id": ask.call.call_id,
        "name": ask.call.name,
        "title": dialog.title,
        "subject": look.near(ask.title),
        "why": "\n".join(filter(None, (dialog.note, *proposal.parts_of(ask)))),
        "description": description if ask.kind == "command" and isinstance(description, str) else "",
        "preview": ask.preview or (proposal.NO_CHANGE if ask.kind == "diff" else ""),
        "unsaved": ask.unsaved,
        "choices": [
            {"choice": name, "label": _label(ask, name, choice.label)}
            for name, choice in zip(names, dialog.choices, strict=True)
        ],
        "careful": dialog.chosen != 0,
        "others": [{"title": other.title, "kind": other.kind, "preview": other.preview} for other in ask.others],
    }


def _label(ask: ApprovalRequest, name: str, label: str) -> str:
    """Return the label of a choice without the keys of the terminal, and with the rule if the terminal shows it next."""
    match name:
        case "session" if ask.edits:
            return "Yes, and all edits in this session"
        case "everywhere":
            return f"Always allow {proposal.covered(ask.always)} in every project"
        case "all":
            return f"Yes to {proposal.together(ask)}"
        case _:
            return label


def response_of(ask: ApprovalRequest, answer: Answer) -> ApprovalResponse | None:
    """Return the front end's answer for one from elsewhere."""
    match answer.choice:
        case "everywhere":
            return ApprovalResponse("prefix", rules=(ask.always,), everywhere=True)
        case "once" | "session" | "always" | "prefix" | "all" as choice:
            return ApprovalResponse(choice)
        case _:
            return ApprovalResponse("no", answer.reason)
