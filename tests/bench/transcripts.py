"""Commands out of transcripts that other agents wrote: Claude Code, Codex, Copilot CLI, Gemini CLI, opencode, Pi.

A folder holds one file for each session, in any of these formats, told apart by their content.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Half = Literal["tuning", "unseen"]
_RUNNERS = {
    "Bash",
    "bash",
    "shell",
    "exec_command",
    "run_shell_command",
    "local_shell",
    "container.exec",
    "shell_command",
}
_FILE_KEYS = ("file_path", "filePath", "path", "notebook_path")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One command as a model gave it, the model, and the folder in which it ran."""

    command: str
    model: str
    folder: str
    branch: str = ""
    """The git branch there, `HEAD` if none is checked out; empty if nothing tells."""


@dataclass(slots=True)
class Transcript:
    """One session: its commands in order, the folder that it began in, and the files that its other calls named."""

    session: str
    folder: str = ""
    commands: list[Recorded] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    entered: dict[str, None] = field(default_factory=dict)
    """Folders to which the person moved the session: the agent reported them as its own, no command of a model chose them."""

    @property
    def half(self) -> Half:
        """The half of the corpus that the session belongs to, by a hash of its id."""
        return "unseen" if hashlib.sha256(self.session.encode()).digest()[0] & 1 else "tuning"


def transcripts(folder: Path) -> Iterator[Transcript]:
    """Every readable session of a folder, in the order of its files' names."""
    for file in sorted(folder.glob("*.json*")):
        found = _read(file)
        if found.commands and found.folder:
            yield found


def _read(file: Path) -> Transcript:
    found = Transcript(file.stem)
    seen: set[str] = set()
    model = branch = ""
    known = {"main", "master"}
    for entry in _entries(file.read_text(encoding="utf-8", errors="replace")):
        model = _model(entry) or model
        branch = _branch(entry) or branch
        folder = _folder(entry)
        found.folder = found.folder or folder
        if folder and (entry.get("cwd") or entry.get("type") in ("turn_context", "session_meta")):
            found.entered[folder] = None
        for call_id, name, given in _calls(entry):
            if call_id in seen:
                continue
            seen.add(call_id)
            if name in _RUNNERS:
                command, place = _command(given)
                if command:
                    where = os.path.join(folder or found.folder, place) if place else folder
                    found.commands.append(Recorded(command, model, where or found.folder, branch))
                    known |= {branch, named := _switched(command, known)}
                    branch = named or branch
            else:
                found.files.update({given[key]: None for key in _FILE_KEYS if isinstance(given.get(key), str)})
    return found


def _entries(text: str) -> Iterator[Mapping[str, Any]]:
    """The entries of a session: its lines, or the messages of one document."""
    try:
        whole = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry
        return
    if isinstance(whole, dict):
        head = whole.get("info") or {}
        yield {"directory": head.get("directory", "")}
        for message in whole.get("messages", []):
            if isinstance(message, dict):
                yield message


def _model(entry: Mapping[str, Any]) -> str:
    for place in (entry, entry.get("info"), entry.get("message"), entry.get("payload"), entry.get("data")):
        if isinstance(place, dict):
            for key in ("modelID", "modelId", "model", "newModel", "selectedModel"):
                if isinstance(name := place.get(key), str) and name and not name.startswith("<"):
                    return name
    return ""


def _branch(entry: Mapping[str, Any]) -> str:
    """Return the branch that an entry records, or that Codex found as a session began."""
    payload = entry.get("payload")
    if entry.get("type") == "session_meta" and isinstance(payload, dict) and isinstance(payload.get("git"), dict):
        return str(payload["git"].get("branch") or "HEAD")
    return str(entry.get("gitBranch") or "")


_SWITCH = re.compile(r"(?:^|[;&\n])\s*git (?:switch|checkout) (?:(-[cCbB]|--create|--detach) )?([\w./-]+)(?=\s|$)")


def _switched(command: str, known: set[str]) -> str:
    """Return the branch that a command makes or, if it is a `known` one, switches to; empty if it stays."""
    found = [] if re.search(r"\bcd\s|mktemp", command) else _SWITCH.findall(command)
    names = ["HEAD" if how == "--detach" else name for how, name in found if how or name in known]
    return names[-1] if names else ""


def _folder(entry: Mapping[str, Any]) -> str:
    context = entry.get("data", {}).get("context", {}) if isinstance(entry.get("data"), dict) else {}
    for place in (entry, entry.get("payload"), context):
        if isinstance(place, dict):
            for key in ("cwd", "directory"):
                if isinstance(name := place.get(key), str) and name.startswith("/"):
                    return name
    return ""


def _calls(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The calls of an entry: id, name of the tool, input."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield str(part.get("id")), str(part.get("name")), _given(part.get("input"))
        elif isinstance(part, dict) and part.get("type") == "toolCall":
            yield str(part.get("id")), str(part.get("name")), _given(part.get("arguments"))
    for part in entry.get("parts") or []:
        if isinstance(part, dict) and part.get("type") == "tool":
            yield str(part.get("callID")), str(part.get("tool")), _given((part.get("state") or {}).get("input"))
    for call in entry.get("toolCalls") or []:
        if isinstance(call, dict):
            yield str(call.get("id")), str(call.get("name")), _given(call.get("args"))
    payload = entry.get("payload")
    if isinstance(payload, dict) and payload.get("type") in ("function_call", "local_shell_call"):
        given = payload.get("arguments") or payload.get("action")
        yield str(payload.get("call_id")), str(payload.get("name") or "local_shell"), _given(given)
    if isinstance(payload, dict) and payload.get("type") == "custom_tool_call" and payload.get("name") == "exec":
        yield from _code_calls(str(payload.get("call_id")), str(payload.get("input") or ""))
    data = entry.get("data")
    if entry.get("type") == "tool.execution_start" and isinstance(data, dict):
        yield str(data.get("toolCallId")), str(data.get("toolName")), _given(data.get("arguments"))


_IN_CODE = re.compile(
    r"""tools\.(exec_command|shell|shell_command)\(\{\s*"?(?:cmd|command)"?\s*:\s*("(?:[^"\\\n]|\\.)*")([^}]*)\}"""
)
_WORKDIR = re.compile(r"""\b"?workdir"?\s*:\s*("(?:[^"\\\n]|\\.)*")""")


def _code_calls(call_id: str, code: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The commands in JavaScript that Codex runs, as far as they are plain strings."""
    for number, found in enumerate(_IN_CODE.finditer(code)):
        place = _WORKDIR.search(found[3])
        with suppress(ValueError):
            given = {"cmd": json.loads(found[2]), "workdir": json.loads(place[1]) if place else ""}
            yield f"{call_id}#{number}", found[1], given


def _given(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _command(given: Mapping[str, Any]) -> tuple[str, str]:
    """The command of a call, and the folder that it names."""
    found = given.get("command") or given.get("cmd") or ""
    if isinstance(found, list):
        shell = len(found) == 3 and re.search(r"(?:^|/)(?:ba|z)?sh$", str(found[0])) and str(found[1]).startswith("-")
        found = found[2] if shell else " ".join(map(str, found))
    place = given.get("workdir") or given.get("working_directory") or ""
    return (found, place if isinstance(place, str) else "") if isinstance(found, str) else ("", "")
