"""Import other programs' sessions, and our own exports, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions import claude_code, codex, gemini_cli, opencode, opencode_database, own, pi
from agentcli.extras.importers.sessions.jsonl import reading
from agentcli.extras.importers.sessions.recognise import holds_database, lines, recognise
from agentcli.sessions.imported import Format, Imported, Shown, Timed, unshown

__all__ = ["Format", "Imported", "Timed", "read", "read_all", "recognise"]

_READERS: Mapping[Format, Callable[[Iterable[str]], Imported]] = {
    "agentcli": own.read,
    "pi": pi.read,
    "claude-code": claude_code.read,
    "gemini-cli": gemini_cli.read,
    "codex": codex.read,
    "opencode": opencode.read,
}


def read(path: Path) -> Imported:
    """Read the session in a file, or the oldest one of a database; `read_all` also reads the others.

    Raises InputError with the file, the line and the reason if it cannot be imported.
    """
    return next(read_all(path))


def read_all(
    path: Path, chosen: str = "", format: Format | None = None, through: Shown = unshown
) -> Iterator[Imported]:
    """Read the sessions in a file. A database yields all, or the one whose id or title is `chosen`; another file yields
    one.

    `format` is the format, if known. The lines of a text pass `through`. Raises InputError if a session cannot be
    imported, after yielding all others. The error names the file, the line and the reason.
    """
    format = format or recognise(path)
    try:
        if holds_database(path):
            yield from opencode_database.read_database(path, chosen)
        elif chosen:
            raise InputError("it has only one session, so --session does not apply")
        else:
            with reading("the file"):  # errors that no single line shows
                imported = _READERS[format](through(lines(path), 0))
            if imported.format == "gemini-cli" and not imported.cwd:
                imported = replace(imported, cwd=gemini_cli.project_root(path))
            yield imported
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
