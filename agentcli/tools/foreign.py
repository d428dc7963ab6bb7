"""Calls in other programs' terms, run as our tools if every parameter has a meaning here; never by guessing.

The names come from the tables in `core/aliases`; this module knows only values that need another form.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.aliases import PATCH, TALK, TEXT_EDITORS, meanings, own_name, own_parameter
from agentcli.core.dataclass import replace
from agentcli.core.message import ToolCall, unsigned
from agentcli.core.record import TodoItem
from agentcli.core.text.patch import moved_to
from agentcli.core.tool import Tool
from agentcli.tools.mending import with_range

Input = dict[str, Any]

_PROGRAM = r"(?:apply_patch|applypatch)"
_HEREDOC = re.compile(
    r"\s*(?:cd\s+(?P<folder>'[^']*'|\"[^\"$`]*\"|[^\s;&|<>'\"$`]+)\s*(?:&&|;|\n)\s*)?"
    rf"{_PROGRAM}\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n(?P<patch>.*\n)[ \t]*(?P=end)\s*",
    re.DOTALL,
)
_QUOTED = re.compile(
    rf"\s*(?:cd\s+(?P<folder>[^\s;&|<>'\"$`]+)\s*&&\s*)?{_PROGRAM}\s+(?P<patch>'[^']*'|\"[^\"$`\\]*\")\s*"
)
_SHELLS = ("bash", "sh", "zsh")


class ForeignCalls:
    """The calls of one reply in terms of the session's tools.

    `tools` are the session's own, `known` the names of everything it can call; `todo` is its list before the reply.
    """

    def __init__(
        self, tools: Mapping[str, Tool], known: Collection[str], cwd: Path, todo: Sequence[TodoItem] = ()
    ) -> None:
        self._tools, self._known, self._cwd = tools, known, cwd
        self._todo = [{"content": item.content, "status": item.status, "activeForm": item.active_form} for item in todo]

    def own(self, call: ToolCall) -> ToolCall:
        """Return the call as a call of our tools, with a remark if the tool differs.

        A call that corresponds to none of our tools is unchanged.
        """
        if call.unreadable:
            return replace(call, name=own_name(call.name, self._known))
        name, given = call.name, call.input
        if (own := own_name(name, self._known)) in self._known:
            return self._patch(self._renamed(call if own == name else replace(unsigned(call), name=own)))
        for tool, found in self._meant(name, given):
            taken = replace(unsigned(call), name=tool, input=found)
            patch = self._patch(taken)
            return patch if patch is not taken else taken.remarked(f"(as {tool})")
        return call

    def _renamed(self, call: ToolCall) -> ToolCall:
        """Return a call of our tool with its parameters named as ours: all that reads the record knows only these."""
        tool = self._tools.get(call.name)
        known = tool.takes["properties"] if tool is not None else {}
        names = {own_parameter(call.name, key, known): key for key in call.input if key not in known}
        ours = {key: own for own, key in names.items() if own in known and own not in call.input}
        if not ours:
            return call
        return replace(unsigned(call), input={ours.get(key, key): value for key, value in call.input.items()})

    def _patch(self, call: ToolCall) -> ToolCall:
        """Return a command that only applies a patch as a call of the patch tool."""
        command = call.input.get("command")
        if PATCH not in self._tools or call.name != "bash" or not isinstance(command, str):
            return call
        patch = patch_of(command)
        return (
            call
            if patch is None
            else replace(unsigned(call), name=PATCH, input={"input": patch}).remarked(f"(as {PATCH})")
        )

    def _meant(self, name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Input]]:
        if (todos := self._tasks(name, given)) is not None:
            yield "todo", {"todos": todos}
            return
        command = given.get("command")
        if name in TEXT_EDITORS and isinstance(command, str):
            name, given = command, {key: value for key, value in given.items() if key != "command"}
        for tool, parameters in meanings(name):
            if tool in self._tools and (found := self._mapped(tool, parameters, given)) is not None:
                yield tool, found

    def _mapped(self, tool: str, parameters: Mapping[str, str], given: Mapping[str, Any]) -> Input | None:
        """Return the input in our terms; None if a parameter has no meaning here."""
        found: Input = {}
        for key, value in given.items():
            own = parameters.get(key, key)
            if own and (value is not None):
                found[own] = value
        convert = _CONVERTED.get(tool)
        converted = convert(found, self._cwd) if convert is not None else found
        if converted is None:
            return None
        known = self._tools[tool].schema.parameters["properties"]
        for key in [*converted]:
            if key in known:
                continue
            if (ours := own_parameter(tool, key, known)) in known:
                if ours not in converted:
                    converted[ours] = converted.pop(key)
                continue
            if key not in TALK:
                return None
            del converted[key]
        return converted

    def _tasks(self, name: str, given: Mapping[str, Any]) -> list[Input] | None:
        """Return the list after a call that adds or changes an item; None for any other call.

        Items are numbered from 1.
        """
        if "todo" not in self._tools:
            return None
        if name == "TaskCreate" and isinstance(given.get("subject"), str):
            added = {"content": given["subject"], "status": "pending", "activeForm": str(given.get("activeForm") or "")}
            self._todo.append(added)
        elif name == "TaskUpdate" and (at := _number(given.get("taskId"))) in range(1, len(self._todo) + 1):
            item = {**self._todo[at - 1]}
            item["status"] = _STATUSES.get(given.get("status"), item["status"])
            item["content"] = given.get("subject") or item["content"]
            self._todo[at - 1] = item
        else:
            return None
        return [{**item} for item in self._todo]


def patch_of(command: str) -> str | None:
    """Return the patch that a command applies; None for any other command.

    Its paths are relative to the folder in which the command begins.
    """
    found = _HEREDOC.fullmatch(command) or _QUOTED.fullmatch(command)
    if found is None or "*** Begin Patch" not in found["patch"]:
        return None
    folder = (found["folder"] or "").strip("'\"")
    return moved_to(found["patch"].strip().strip("'\""), folder)


def _command(given: Input, cwd: Path) -> Input | None:
    """Return a command as one shell line, which enters its folder itself."""
    command = given.get("command")
    if isinstance(command, list | tuple):
        words = [str(word) for word in command]
        inner = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc")
        command = (
            f"{words[0]} <<'PATCH'\n{words[1]}\nPATCH\n"
            if len(words) == 2 and re.fullmatch(_PROGRAM, words[0])
            else words[2]
            if inner
            else shlex.join(words)
        )
    if not isinstance(command, str):
        return None
    folder = given.pop("cwd", None)
    if isinstance(folder, str) and folder.strip() and cwd / folder != cwd:
        command = f"cd {shlex.quote(folder)} && {command}"
    return {**given, "command": command}


def _read(given: Input, _: Path) -> Input | None:
    """Return the lines to read, as first line and number; None for a range of another form."""
    found = with_range(given)
    return None if "view_range" in found else found


def _output(given: Input, _: Path) -> Input | None:
    """Return a query of a running command's output; None for a call that types something."""
    typed = given.pop("chars", "") or ""
    job = str(given.get("id", ""))
    return {**given, "id": f"job-{job}" if job.isdecimal() else job} if not typed else None


_CONVERTED: Mapping[str, Callable[[Input, Path], Input | None]] = {
    "bash": _command,
    "read": _read,
    "bash_output": _output,
}
"""Form of a tool's values that differ beyond names."""
_STATUSES: Mapping[Any, str] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "deleted": "completed",
}


def _number(value: Any) -> int:
    text = str(value).strip().lstrip("#")
    return int(text) if text.isdecimal() else 0
