"""Lines that a person keeps in instruction files, in a separate section."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.errors import InputError, in_words
from agentcli.sessions.project import project_root, read_repository
from agentcli.system.locked_file import update
from agentcli.system.paths import AppDirs

HEADING = "## Notes"
"""The section that added lines go to."""
LOCAL = "AGENTS.local.md"
"""The instruction file of one person in one project."""


def own_instructions(dirs: AppDirs) -> Path:
    """Return the path of the user's instruction file for all projects."""
    return dirs.config / "AGENTS.md"


def with_line(text: str, line: str) -> str:
    """Return the text with `- LINE` at the end of its section for notes, added if it is missing."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    if HEADING not in lines:
        return "\n".join([*lines, *([""] if lines else []), HEADING, "", f"- {line}"]) + "\n"
    first = lines.index(HEADING) + 1
    end = next((n for n in range(first, len(lines)) if lines[n].startswith("#")), len(lines))
    while end > first and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], *([""] if end == first else []), f"- {line}", *lines[end:]]) + "\n"


def present_text(file: Path) -> str:
    """Return the text of an instruction file, empty without a file. Raises InputError."""
    try:
        return file.read_bytes().decode("utf-8") if file.exists() else ""
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read {file}: {in_words(error)}. Add the line yourself.") from error


def keep_out_of_git(cwd: Path, lock: Path) -> None:
    """Make git ignore the local file, using the repository's own list, which is never committed."""
    repository = read_repository(project_root(cwd))
    if repository is None:
        return

    def with_name(present: str) -> str:
        gap = "" if not present or present.endswith("\n") else "\n"
        return present if LOCAL in present.split("\n") else f"{present}{gap}{LOCAL}\n"

    file = Path(repository.common, "info", "exclude")
    file.parent.mkdir(exist_ok=True)
    update(file, with_name, lock=lock)
