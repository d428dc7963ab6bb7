"""Presentation of a call that awaits approval: title, preview, question, editable part."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import CALL, PREFIX
from agentcli.core.sanitise import safe, safe_line
from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render import diff, spans
from agentcli.frontends.terminal.render.markdown import lines
from agentcli.frontends.terminal.render.markdown_blocks import Block
from agentcli.frontends.terminal.render.spans import written
from agentcli.frontends.terminal.render.syntax import coloured_command
from agentcli.frontends.terminal.style import Look
from agentcli.permissions.rules import (
    BY_SSH,
    IN_CONTAINER,
    NETWORK,
    OWN_PROJECT,
    READING_WITH,
    RUNNING_AT,
    SANDBOX,
    SERVICE_AT,
    WRITING_WITH,
    kind_of_place,
    parse_rule,
)
from agentcli.permissions.shell.effects.consequences import is_cautious
from agentcli.permissions.shell.effects.prefixes import runs_code
from agentcli.permissions.shell.programs.administration import BY_NUMBER
from agentcli.permissions.shell.programs.forge import REVIEW_THREADS
from agentcli.program.commands import Choice
from agentcli.system.cells import expand, wrap

_TEXTS = ("command", "content", "new_string", "plan")
"""Inputs that are a text to be changed as such; of any other call the whole input is."""

BOXED = "Always run commands here as mode auto does (in the sandbox, /undo reverts; also pushes of your branch)"
"""Label of the choice for every command that the sandbox contains."""
NO_CHANGE = "(the file stays as it is)"


@dataclass(frozen=True, slots=True)
class Text:
    """Editable part of a call; `key` is the input's name, or empty for the whole input as JSON."""

    key: str
    text: str
    ending: str


def needed(title: str) -> str:
    """Return a question as a separate line, for screens that only add lines."""
    return f"Permission needed: {title}"


def title(ask: ApprovalRequest, changed: Mapping[str, Any] | None, look: Look) -> str:
    """Return the question in one line."""
    named = look.near(safe_line(ask.title)) or ask.call.name
    if ask.kind == "input" and ask.call.name.startswith((PREFIX, CALL)):
        named = f"Call {named.partition('(')[0].removeprefix('Call ')}"  # the preview has the arguments
    asked = named if ask.kind == "plan" else f"{named}?"
    if (
        ask.kind == "command"
    ):  # the preview shows the call; a title that is a question asks for more, such as leaving the sandbox
        asked = named if named.endswith("?") and not named.startswith("$ ") else "Run this command?"
    return f"{asked} (changed by you)" if changed is not None and changed != ask.call.input else asked


def preview(ask: ApprovalRequest, columns: int, look: Look) -> list[str]:
    """Return the full preview of the call as lines of at most `columns` cells."""
    if ask.kind == "plan":
        return lines(Block(safe(ask.preview), gap=False), columns, look)
    if ask.kind == "diff" and ask.preview:
        return ["  " + row for row in diff.lines(ask.preview, columns - 2, look.theme, named=ask.title)]
    if ask.kind == "diff":
        return [look.theme.paint("dim", f"  {NO_CHANGE}")]
    if ask.kind == "command":
        description = _described(ask)
        header = [look.theme.paint("dim", "  " + row) for row in wrap(description, columns - 2)] if description else []
        code = coloured_command(expand(safe(ask.preview)), look.theme)
        rows = [written(row) for line in code for row in spans.wrap(line, columns - 4)]
        reasons = [
            ("    " if n else "  · ") + row for line in parts_of(ask) for n, row in enumerate(wrap(line, columns - 4))
        ]
        gap = [""] if reasons else []
        return [*header, *(("  $ " if n == 0 else "    ") + row for n, row in enumerate(rows)), *gap, *reasons]
    text = "\n".join(arguments(ask))
    return ["  " + row for row in wrap(expand(safe(text)), columns - 2)] if text else []


def arguments(ask: ApprovalRequest) -> list[str]:
    """Return the preview as lines.

    A JSON object has a line for each of its fields; further lines of a text are indented.
    """
    text = ask.preview.rstrip("\n")
    try:
        given = json.loads(text) if ask.kind == "input" else None
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return text.split("\n") if text.strip() else []
    return [line for name, value in given.items() for line in _field(safe_line(name), value)]


def _field(name: str, value: Any) -> list[str]:
    if not isinstance(value, str):
        return [f"{name}: {json.dumps(value, ensure_ascii=False)}"]
    lines = value.split("\n")
    return [f"{name}: {value}"] if len(lines) == 1 else [f"{name}:", *(f"    {line}" for line in lines)]


def question(ask: ApprovalRequest, changed: Mapping[str, Any] | None, look: Look) -> Dialog:
    """Return the dialog without the preview: its title, the reason for the question, and the possible choices.

    The cursor starts on yes, but on no for irreversible actions.
    """
    asked = title(ask, changed, look)
    if ask.kind == "plan":
        return Dialog(asked, (), _PLAN, hint="e edit the plan · Esc keep planning", editable=True)
    given = answers(ask, changed)
    labels = {
        "once": Choice("Yes", keys="y"),
        "session": Choice(for_session(ask), shortcut="s-tab" if ask.edits else ""),
        "folder": Choice(f"Yes, and add {added(ask, look)} to this session", keys="f"),
        "always": Choice(always(ask)),
        "prefix": Choice(f"Always allow {wider(ask.prefixes)}", keys="w"),
        "programs": Choice(always_programs(ask) if ask.programs else "", keys="p"),
        "boxed": Choice(BOXED, keys="s"),
        "everywhere": Choice("Always in every project…"),
        "no": Choice("No, tell it what to do instead", keys="n"),
        "all": Choice(f"Yes to {together(ask)} (shows the other{'s' * (len(ask.others) > 1)} first)", keys="a"),
    }
    why = "" if "\n" in ask.why else safe(ask.why.removesuffix(_OBVIOUS).rstrip())
    note = " · ".join(filter(None, (_size(ask), why, f"1 of {len(ask.others) + 1}" if ask.others else "")))
    start = given.index("no") if is_risky(ask) else 0
    return Dialog(
        asked, (), tuple(labels[each] for each in given), start,
        hint="e edit · Esc no" if ask.revise else "Esc no", editable=ask.revise is not None, note=note,
    )  # fmt: skip


def for_session(ask: ApprovalRequest) -> str:
    """Return the label of the choice that lasts for the session: all edits, or what its rules allow."""
    if ask.edits:
        return "Yes, and all edits in this session (Shift-Tab)"
    granted = " and ".join(map(covered, ask.grants))
    if granted:
        return f"Yes, and {granted} in this session"
    exact = bool(ask.session) and parse_rule(ask.session).tool == "bash"
    return "Yes, for this session" + " (exactly this command)" * exact


def parts_of(ask: ApprovalRequest) -> list[str]:
    """Return what each command of a line does; empty if one reason says it all."""
    return [safe_line(line) for line in ask.why.split("\n")] if "\n" in ask.why else []


def always(ask: ApprovalRequest) -> str:
    """Return the label of the choice that saves the exact rule: the calls that it allows, and for which project."""
    if ask.kind != "diff" or not ask.always:
        return f"Always allow {covered(ask.always) if ask.always else ''} in this project"
    path = parse_rule(ask.always).pattern.removeprefix("./")
    return f"Always allow edits of {_named_path(path)} in this project"


def _named_path(pattern: str) -> str:
    """Return the path in a pattern, without the escapes that make its letters literal."""
    return safe_line(re.sub(r"\[([*?[])\]", r"\1", pattern))


def wider(rules: Sequence[str]) -> str:
    """Return the calls that the wider rules allow, and where.

    Examples: `npm run …` in this project, or seq, echo here (sandboxed).
    """
    boxed = [rule for rule in rules if parse_rule(rule).tool == SANDBOX]
    named = ", ".join(safe_line(parse_rule(rule).pattern.removesuffix(" *")) for rule in boxed)
    others = ", ".join(covered(rule) for rule in rules if rule not in boxed)
    return ", ".join(filter(None, (others and f"{others} in this project", named and f"{named} here (sandboxed)")))


def always_programs(ask: ApprovalRequest) -> str:
    """Return the label of the choice that saves rules about whole programs, or about all changes elsewhere."""
    return f"Always allow here {all_covered(ask.programs)}"


def all_covered(rules: Sequence[str]) -> str:
    """Return what such rules allow, in a person's terms."""
    from agentcli.permissions.shell.effects.whole_programs import meaning  # 10 ms, only for such a question

    other = [covered(rule) for rule in rules if not rule.startswith("bash(")]
    named = meaning([parse_rule(rule).pattern for rule in rules if rule.startswith("bash(")])
    return "; ".join(filter(None, [*other, safe_line(named)]))


def added(ask: ApprovalRequest, look: Look) -> str:
    """Return the folders that an answer adds to the workspace."""
    return " and ".join(look.near(safe_line(str(folder))) for folder in ask.folders)


def covered(rule: str) -> str:
    """Return the calls that a rule allows, in a person's terms.

    These are a command, the beginning of a command, a host, or a server's tools. For anything else, return the rule
    itself.
    """
    parsed = parse_rule(rule)
    if parsed.tool == NETWORK:
        return _place(parsed.pattern)
    if server := _SERVER.fullmatch(parsed.tool):
        return f"every tool of the server {safe_line(server[1])}"
    if parsed.tool == "read" and parsed.pattern.startswith(("/", "./")):
        return f"reading {_named_path(parsed.pattern.removesuffix('**').removeprefix('./'))}"
    if named := _IN_WORDS.get(parsed.pattern):
        return named
    command = parsed.pattern.removesuffix(" *")
    if parsed.tool != "bash" or not command or _WILD.search(command):
        return safe_line(rule)
    if runs_code(parsed.pattern.split()) == parsed.pattern:
        return f"`{safe_line(command)}` with any code (it can do whatever you can)"
    more = " …" if command != parsed.pattern else ""
    return f"`{safe_line(_ESCAPED.sub(chr(92) + '1', command))}{more}`"


def _place(pattern: str) -> str:
    """Return the host that a rule opens, or what it allows in another place."""
    kind = kind_of_place(pattern)
    name = safe_line(pattern.removeprefix(kind))
    if (kind, name) == (IN_CONTAINER, OWN_PROJECT):
        return "building, starting and using the project's containers (with the network and mounted folders)"
    client, _, repository = name.partition("/")
    if kind == SERVICE_AT:
        return f"starting, stopping and reloading the service {repository} on {client}"
    if kind == RUNNING_AT:
        from agentcli.permissions.shell.effects.whole_programs import meaning  # 10 ms, only for such a question

        return f"{meaning([f'ssh {name} *'])}; also copies by `scp` between there and the workspace"
    told = {
        BY_SSH: f"reading {name} by ssh",
        IN_CONTAINER: f"using the container {name}",
        READING_WITH: f"reading with {name}",
        WRITING_WITH: f"writing and closing pull requests and issues of {repository or 'this repository'} with {client}",
    }
    return told.get(kind, name)


_IN_WORDS = {REVIEW_THREADS: "answering and resolving threads of reviews", BY_NUMBER: "`kill` of processes by number"}
_SERVER = re.compile(r"mcp__(.+)__\*")
_WILD, _ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\*"), re.compile(r"\\([*\\])")
"""A wildcard in a pattern, and an escaped character, which is not a wildcard."""


def answers(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> list[str]:
    """Return the names of the answers behind the choices of `question`, in order, without impossible ones."""
    lasting = {
        "session": may_last(ask),
        "folder": bool(ask.folders),
        "always": bool(ask.always),
        "prefix": bool(ask.prefixes) and ask.prefixes != ask.programs,
        "programs": bool(ask.programs),
        "boxed": bool(ask.boxes),
        "everywhere": bool(ask.always) and ask.kind != "diff",
    }
    rules = [name for name, offered in lasting.items() if offered and changed is None]
    first = rules[:1] if ask.lasting else []
    return [*first, "once", *rules[len(first) :], "no", *(["all"] if ask.others else [])]


def may_last(ask: ApprovalRequest) -> bool:
    """Return True if an answer may add rules to the session."""
    return bool(ask.session or ask.always or ask.grants) and not ask.folders


def is_risky(ask: ApprovalRequest) -> bool:
    """Return True if the shown reason needs caution, such as a deletion: a hasty Enter must not allow the call."""
    adds_folder = ask.lasting and bool(ask.folders)  # the first answer covers what is outside
    words = [word for word in _RISKY_REASONS if not (adds_folder and word == "outside")]
    return ask.kind == "input" or is_cautious(ask.why) or any(word in ask.why for word in words)


_OBVIOUS = "it changes a file"
"""The reason that the preview shows by itself."""
_RISKY_REASONS = ("outside", "network", "destroy", "destructive")


def together(ask: ApprovalRequest) -> str:
    """Return the words for all calls of the reply in question: `both` or `all 3`."""
    return "both" if len(ask.others) == 1 else f"all {len(ask.others) + 1}"


def _size(ask: ApprovalRequest) -> str:
    """Return how many lines a change adds and removes, such as `+3 −1`.

    Return an empty text if the change is not a diff.
    """
    if ask.kind != "diff":
        return ""
    rows = [row for row in ask.preview.split("\n") if not row.startswith(("+++ ", "--- "))]
    return f"+{sum(row.startswith('+') for row in rows)} −{sum(row.startswith('-') for row in rows)}"


def editable(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> Text:
    """Return the part to edit: the command, a file's new text, or the whole input."""
    now = ask.call.input if changed is None else changed
    key = next((key for key in _TEXTS if isinstance(now.get(key), str)), "")
    if not key:
        return Text("", _json(now), ".json")
    suffix = PurePath(str(now.get("file_path", ""))).suffix or ".txt"
    return Text(key, str(now[key]), {"command": ".sh", "plan": ".md"}.get(key, suffix))


def _json(given: Mapping[str, Any]) -> str:
    return json.dumps(dict(given), indent=2, ensure_ascii=False)


def taken(ask: ApprovalRequest, changed: Mapping[str, Any] | None, part: Text, text: str) -> dict[str, Any]:
    """Return the input with the edited text. Raises ValueError if the input is invalid."""
    if part.key:
        # Editors append a newline: restore the original end of the text.
        text = text.rstrip("\n") + part.text[len(part.text.rstrip("\n")) :]
        return {**(ask.call.input if changed is None else changed), part.key: text}
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    return value


async def revised(ask: ApprovalRequest, changed: Mapping[str, Any] | None) -> tuple[ApprovalRequest, str]:
    """Return the request for the changed input. If the call cannot work with it, show the input itself, and return the error too."""
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
    Choice("Compact, then carry out the plan (auto-edit)", keys="c"),
    Choice("No, tell it what to change", keys="n"),
)
PLAN: Sequence[Literal["session", "once", "compact", "no"]] = ("session", "once", "compact", "no")
"""Answers behind the choices about a plan, in order: "session" approves all its edits, "once" still asks about each."""
