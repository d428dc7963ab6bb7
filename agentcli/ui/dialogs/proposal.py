"""Presentation of a call that awaits approval: title, preview, question, editable part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ToolError
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

NO_CHANGE = "(the file stays as it is)"


@dataclass(frozen=True, slots=True)
class Text:
    """Editable part of a call; `key` is the input's name, or empty for the whole input as JSON."""

    key: str
    text: str
    ending: str


def title(ask: ApprovalRequest, changed: Mapping[str, Any] | None, look: Look) -> str:
    """The question, in one line."""
    named = look.near(safe_line(ask.title)) or ask.call.name
    asked = f"{named}?"
    if ask.kind == "command":  # its preview names it; a title that is a question asks for more, such as no sandbox
        asked = named if named.endswith("?") and not named.startswith("$ ") else "Run this command?"
    return f"{asked} (changed by you)" if changed is not None and changed != ask.call.input else asked


def preview(ask: ApprovalRequest, columns: int, look: Look) -> list[str]:
    """Full preview of the call as lines of at most `columns` cells."""
    if ask.kind == "plan":
        from agentcli.ui.render.markdown import lines

        return lines(Block(safe(ask.preview), gap=False), columns, look)
    if ask.kind == "diff" and ask.preview:
        return ["  " + row for row in diff.lines(ask.preview, columns - 2, look.theme, named=ask.title)]
    if ask.kind == "diff":
        return [look.theme.paint("dim", f"  {NO_CHANGE}")]
    if ask.kind == "command":
        description = _described(ask)
        header = [look.theme.paint("dim", "  " + row) for row in wrap(description, columns - 2)] if description else []
        rows = wrap(expand(safe(ask.preview)), columns - 4)
        return [*header, *(("  $ " if n == 0 else "    ") + row for n, row in enumerate(rows))]
    return ["  " + row for row in wrap(expand(safe(ask.preview)), columns - 2)]


def question(ask: ApprovalRequest, changed: Mapping[str, Any] | None, look: Look) -> Dialog:
    """The dialog without the preview: its title, why it asks, and the choices that there are.

    It starts on yes, but on no for what cannot be taken back.
    """
    asked = title(ask, changed, look)
    if ask.kind == "plan":
        return Dialog(asked, (), _PLAN, hint="e edit the plan · Esc keep planning", editable=True)
    given = answers(ask, changed)
    labels = {
        "once": Choice("Yes, once", keys="y"),
        "session": Choice("Yes, for this session"),
        "always": Choice(f"Always: {safe_line(ask.always)}"),
        "prefix": Choice(f"Always, {wider(ask.prefixes)}: {safe_line(', '.join(ask.prefixes))}", keys="w"),
        "no": Choice("No, tell it what to do instead", keys="n"),
        "all": Choice(f"Yes to {together(ask)} (shows the other{'s' * (len(ask.others) > 1)} first)", keys="a"),
    }
    why = safe(ask.why.removesuffix(_OBVIOUS).rstrip())
    note = " · ".join(filter(None, (_size(ask), why, f"1 of {len(ask.others) + 1}" if ask.others else "")))
    start = given.index("no") if is_risky(ask) else 0
    return Dialog(
        asked, (), tuple(labels[each] for each in given), start,
        hint="e edit · Esc no" if ask.revise else "Esc no", editable=ask.revise is not None, note=note,
    )  # fmt: skip


def wider(rules: Sequence[str]) -> str:
    """The calls that wider rules allow beside the one that is asked about, in words."""
    server = all(rule.startswith("mcp__") and rule.endswith("__*") for rule in rules)
    return "every tool of the server" if server else "also with other arguments"


def answers(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> list[str]:
    """The answers that the choices of `question` stand for, in their order; those that cannot be given are left out."""
    lasting = {"session": bool(ask.session or ask.always), "always": bool(ask.always), "prefix": bool(ask.prefixes)}
    rules = [name for name, offered in lasting.items() if offered and changed is None]
    return ["once", *rules, "no", *(["all"] if ask.others else [])]


def is_risky(ask: ApprovalRequest) -> bool:
    """True for what deletes, uses the network or leaves the workspace: a hasty Enter must not allow it."""
    if any(word in ask.why for word in _RISKY_REASONS):
        return True
    if ask.kind == "command":
        return not _RISKY_PROGRAMS.isdisjoint(re.findall(r"[\w.-]+", ask.preview))
    return ask.kind == "input"


_OBVIOUS = "it changes a file"
"""The reason that the preview shows by itself."""
_RISKY_REASONS = ("outside", "network", "delete", "destroy")
_RISKY_PROGRAMS = frozenset(
    [
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "dd",
        "mkfs",
        "truncate",
        "find",
        "curl",
        "wget",
        "ssh",
        "scp",
        "sftp",
        "rsync",
        "nc",
        "ncat",
        "push",
        "reset",
        "clean",
        "checkout",
        "restore",
        "sudo",
        "su",
        "kill",
        "killall",
        "pkill",
        "chmod",
        "chown",
        "mv",
        "docker",
        "kubectl",
        "terraform",
        "npm",
        "pip",
        "publish",
    ]
)


def together(ask: ApprovalRequest) -> str:
    """All calls of the reply that are asked about, in words."""
    return "both" if len(ask.others) == 1 else f"all {len(ask.others) + 1}"


def _size(ask: ApprovalRequest) -> str:
    """Lines that a change adds and removes."""
    if ask.kind != "diff":
        return ""
    rows = [row for row in ask.preview.split("\n") if not row.startswith(("+++ ", "--- "))]
    return f"+{sum(row.startswith('+') for row in rows)} −{sum(row.startswith('-') for row in rows)}"


def fits(question: Dialog, body: Sequence[str], size: Size, theme: Theme) -> bool:
    """True if the whole dialog and its body fit on the screen."""
    around, _ = dialog_lines(question, Edit(), size, theme)
    return len(around) + len(body) < size.rows


def editable(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> Text:
    """The part to edit: the command, a file's new text, or the whole input."""
    now = ask.call.input if changed is None else changed
    key = next((key for key in _TEXTS if isinstance(now.get(key), str)), "")
    if not key:
        return Text("", _json(now), ".json")
    suffix = PurePath(str(now.get("file_path", ""))).suffix or ".txt"
    return Text(key, str(now[key]), {"command": ".sh", "plan": ".md"}.get(key, suffix))


def _json(given: Mapping[str, Any]) -> str:
    return json.dumps(dict(given), indent=2, ensure_ascii=False)


def taken(ask: ApprovalRequest, changed: Mapping[str, Any] | None, part: Text, text: str) -> dict[str, Any]:
    """The input with the edited text. Raises ValueError for an invalid input."""
    if part.key:
        # Editors end a text with a newline; whether there was one is not theirs to say.
        text = text.rstrip("\n") + part.text[len(part.text.rstrip("\n")) :]
        return {**(ask.call.input if changed is None else changed), part.key: text}
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


async def revised(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> tuple[ApprovalRequest, str]:
    """The request as the changed input would have it. Where the call cannot work with that: the input itself, and why."""
    if changed is None or ask.revise is None:
        return ask, ""
    try:
        now = await ask.revise(changed)
    except ToolError as error:
        return replace(ask, title="", preview=_json(changed), kind="input"), safe(str(error))
    return replace(ask, title=now.title, why=now.why, preview=now.preview, unsaved=now.unsaved), ""


def _described(ask: ApprovalRequest) -> str:
    text = ask.call.input.get("description")
    return safe_line(text) if isinstance(text, str) else ""


_PLAN = (
    Choice("Yes, and let it edit without asking (auto-edit)", keys="y"),
    Choice("Yes, and ask before each change"),
    Choice("No, tell it what to change", keys="n"),
)
