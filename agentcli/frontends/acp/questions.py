"""Questions to the person: approvals as permission requests, `ask_user` as a form or as permission requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import (
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    PermissionOption,
    TitledMultiSelectItems,
)

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.tool import Question

NO = "no"
"""Id of the option that refuses."""
_WORDS = "_text"
"""Suffix of a field for an answer in the person's own words."""


def approval_options(request: ApprovalRequest) -> list[PermissionOption]:
    """Return the answers to choose from; each id is a choice of ApprovalResponse."""
    if request.kind == "plan":
        return [
            PermissionOption(option_id="session", name="Carry it out, edits run unasked", kind="allow_always"),
            PermissionOption(option_id="once", name="Carry it out, ask before each edit", kind="allow_once"),
            PermissionOption(option_id="compact", name="Compact, then carry out the plan", kind="allow_once"),
            PermissionOption(option_id=NO, name="Keep planning", kind="reject_once"),
        ]
    once = PermissionOption(option_id="once", name="Allow once", kind="allow_once")
    options = [] if request.lasting else [once]
    if request.folders:
        name = f"Allow, and add to this session: {', '.join(map(str, request.folders))}"
        options.append(PermissionOption(option_id="folder", name=name, kind="allow_always"))
    elif rule := ", ".join(request.grants) or request.session or request.always:
        name = "Allow all edits in this session" if request.edits else f"Allow for this session: {rule}"
        options.append(PermissionOption(option_id="session", name=name, kind="allow_always"))
    options += [once] if request.lasting else []
    if request.always:
        name = f"Always allow in this project: {request.always}"
        options.append(PermissionOption(option_id="always", name=name, kind="allow_always"))
    return [*options, PermissionOption(option_id=NO, name="Reject", kind="reject_once")]


def answer_options(question: Question) -> list[PermissionOption]:
    """Return a question's choices as options of a permission request; their ids are their numbers."""
    choices = [
        PermissionOption(option_id=str(number), name=choice.label, kind="allow_once")
        for number, choice in enumerate(question.choices)
    ]
    return [*choices, PermissionOption(option_id=NO, name="No answer", kind="reject_once")]


def form_of(questions: Sequence[Question]) -> ElicitationSchema:
    """Return a form with a field for each question.

    A question with choices gets a second field, for a free answer.
    """
    fields: dict[str, Any] = {}
    for number, question in enumerate(questions):
        name = f"q{number + 1}"
        fields[name] = _field(question)
        if question.choices:
            fields[name + _WORDS] = ElicitationStringPropertySchema(type="string", title="Or in your own words")
    return ElicitationSchema(type="object", properties=fields)


def answers_in(content: Mapping[str, Any], questions: Sequence[Question]) -> list[str]:
    """Return the answers of a completed form, in the order of the questions.

    A free answer takes precedence over a choice.
    """
    answers = []
    for number in range(len(questions)):
        name = f"q{number + 1}"
        given = content.get(name + _WORDS) or content.get(name) or ""
        answers.append(", ".join(map(str, given)) if isinstance(given, list) else str(given))
    return answers


def _field(question: Question) -> ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema:
    title = question.header or None
    options = [
        EnumOption(const=choice.label, title=choice.label, description=choice.description or None)
        for choice in question.choices
    ]
    if question.multiple and options:
        return ElicitationMultiSelectPropertySchema(
            type="array", title=title, description=question.question, items=TitledMultiSelectItems(any_of=options)
        )
    return ElicitationStringPropertySchema(
        type="string", title=title, description=question.question, one_of=options or None
    )
