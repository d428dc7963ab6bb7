"""Presentation of a call that awaits approval: title, preview, question, editable part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import PurePath
from typing import Any

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.sanitise import safe, safe_line
from agentcli.ui.dialogs.dialogs import Choice, Dialog
from agentcli.ui.render import diff
from agentcli.ui.render.cells import expand, wrap
from agentcli.ui.render.frame import Edit, Size
from agentcli.ui.render.input_box import dialog_lines
from agentcli.ui.render.markdown_blocks import Block
from agentcli.ui.style import Look, Theme

_TEXTS = ("command", "content", "new_string", "plan")
"""Inputs that are a text of their own, to be changed as such; of any other call the whole input is."""


@dataclass(frozen=True, slots=True)
class Text:
    """Editable part of a call; `key` is the input's name, or empty for the whole input as JSON."""

    key: str
    text: str
    ending: str


def title(ask: ApprovalRequest, changed: Mapping[str, Any] | None, look: Look) -> str:
    """The question, in one line."""
    named = look.near(safe_line(ask.title)) or ask.call.name
    asked = "Run this command?" if ask.kind == "command" else f"{named}?"
    return f"{asked} (changed by you)" if changed is not None and changed != ask.call.input else asked


def preview(ask: ApprovalRequest, changed: Mapping[str, Any] | None, columns: int, look: Look) -> list[str]:
    """Full preview of the call as lines of at most `columns` cells."""
    now = ask.call.input if changed is None else changed
    if ask.kind == "plan":
        from agentcli.ui.render.markdown import lines

        plan = ask.preview if changed is None else str(now.get("plan", ask.preview))
        return lines(Block(safe(plan), gap=False), columns, look)
    if ask.kind == "diff" and (change := ask.preview if changed is None else _change(now)):
        return ["  " + row for row in diff.lines(change, columns - 2, look.theme, named=ask.title)]
    if ask.kind == "diff" and changed is None:
        return [look.theme.paint("dim", "  (the file stays as it is)")]
    if ask.kind == "command":
        description = _described(ask)
        header = [look.theme.paint("dim", "  " + row) for row in wrap(description, columns - 2)] if description else []
        command = ask.preview if changed is None else str(now.get("command", ""))
        rows = wrap(expand(safe(command)), columns - 4)
        return [*header, *(("  $ " if n == 0 else "    ") + row for n, row in enumerate(rows))]
    text = ask.preview if changed is None else json.dumps(dict(now), indent=2, ensure_ascii=False)
    return ["  " + row for row in wrap(expand(safe(text)), columns - 2)]


def question(ask: ApprovalRequest, changed: Mapping[str, Any] | None, columns: int, look: Look) -> Dialog:
    """The dialog without the preview: reason and choices; the default is no."""
    why = tuple(look.theme.paint("dim", row) for row in wrap(safe(ask.why), columns)) if ask.why else ()
    asked = title(ask, changed, look)
    if ask.kind == "plan":
        return Dialog(asked, why, _PLAN, hint="e edits the plan · Esc goes on planning", editable=True)
    rule = safe_line(ask.always) if changed is None else ""
    session = changed is None and bool(ask.session or ask.always)
    reason = "not for what you changed" if changed is not None else "not here"
    unsaved = safe_line(ask.unsaved) or "no rule would cover just this"
    none = f"Always ({reason})" if changed is not None else f"Always ({reason}: {unsaved})"
    choices: tuple[Choice, ...] = (
        Choice("Yes, once", keys="y"),
        Choice("Yes, for this session" if session else f"Yes, for this session ({reason})"),
        Choice(f"Always: {rule}" if rule else none),
        Choice("No, and tell it what to do instead", keys="n"),
    )
    if ask.others:
        choices += (Choice(f"Yes, and to all {len(ask.others) + 1} of this reply (shows the others first)", keys="a"),)
    if "prefix" in answers(ask, changed):
        rules = safe_line(", ".join(ask.prefixes))
        choices += (Choice(f"Always, with other arguments too: {rules} (you may edit it first)", keys="w"),)
    hint = f"1-{len(choices)}, y, n · e edits it first · Esc says no"
    return Dialog(asked, why, choices, 3, hint=hint, editable=True)


def answers(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> list[str]:
    """The answers that the choices of `question` stand for, in their order."""
    more = ["all"] if ask.others else []
    return ["once", "session", "always", "no", *more, *(["prefix"] if ask.prefixes and changed is None else [])]


def fits(question: Dialog, body: Sequence[str], size: Size, theme: Theme) -> bool:
    """True if the whole dialog and its body fit on the screen."""
    around, _ = dialog_lines(question, Edit(), size, theme)
    return len(around) + len(body) < size.rows


def editable(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> Text:
    """The part to edit: the command, a file's new text, or the whole input."""
    now = ask.call.input if changed is None else changed
    key = next((key for key in _TEXTS if isinstance(now.get(key), str)), "")
    if not key:
        return Text("", json.dumps(dict(now), indent=2, ensure_ascii=False), ".json")
    suffix = PurePath(str(now.get("file_path", ""))).suffix or ".txt"
    return Text(key, str(now[key]), {"command": ".sh", "plan": ".md"}.get(key, suffix))


def taken(ask: ApprovalRequest, changed: Mapping[str, Any] | None, part: Text, text: str) -> dict[str, Any]:
    """The input with the edited text. Raises ValueError for an invalid input."""
    if part.key:
        # Editors end a text with a newline; whether there was one is not theirs to say.
        text = text.rstrip("\n") + part.text[len(part.text.rstrip("\n")) :]
        return {**(ask.call.input if changed is None else changed), part.key: text}
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def _described(ask: ApprovalRequest) -> str:
    text = ask.call.input.get("description")
    return safe_line(text) if isinstance(text, str) else ""


def _change(given: Mapping[str, Any]) -> str:
    """Diff of an edited input: of the replaced text for an edit, of the whole for a file."""
    name = str(given.get("file_path", ""))
    new = given.get("content", given.get("new_string"))
    old = given.get("old_string", "")
    if not (isinstance(new, str) and isinstance(old, str)):
        return ""
    lines = unified_diff(old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    return "\n".join(lines)


_PLAN = (
    Choice("Yes, and let it edit without asking (auto-edit)", keys="y"),
    Choice("Yes, and ask before each change"),
    Choice("No, and tell it what to change", keys="n"),
)
