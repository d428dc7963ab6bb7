"""Sessions of other programs, and our own exports, read into records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.sessions.importing import claude_code, codex, gemini_cli, own, pi
from agentcli.sessions.importing.imported import Format, Imported, Timed
from agentcli.sessions.importing.jsonl import reading
from agentcli.sessions.importing.planting import plant
from agentcli.sessions.importing.recognise import load, recognise

__all__ = ["Format", "Imported", "Timed", "plant", "read", "recognise"]

_READERS: Mapping[Format, Callable[[Iterable[str]], Imported]] = {
    "agentcli": own.read,
    "pi": pi.read,
    "claude-code": claude_code.read,
    "gemini-cli": gemini_cli.read,
    "codex": codex.read,
}


def read(path: Path) -> Imported:
    """The session in a file. Raises InputError with the file, the line and the reason when it cannot be taken over."""
    reader = _READERS[recognise(path)]
    try:
        with reading("the file"):  # what no line alone shows to be wrong
            imported = reader(load(path).split("\n"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if imported.format == "gemini-cli" and not imported.cwd:
        return replace(imported, cwd=gemini_cli.project_root(path))
    return imported
