"""Trust in folders, and the files that each would load. No such file is loaded or run before the folder is trusted."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.program.files import SETTINGS_BYTES
from agentcli.sessions.project import main_worktree
from agentcli.system.locked_file import update
from agentcli.system.regular_file import Unusable, read_regular

Kind = Literal["settings", "hooks", "servers", "rules", "skills", "commands", "agents", "allow", "extensions"]

_EFFECTS: Mapping[Kind, str] = {
    "settings": "changes how agentcli works",
    "hooks": "can run commands; each is asked about first",
    "servers": "MCP servers: can start programs and open connections; each is asked about first",
    "extensions": "Python code that runs in agentcli; each is asked about first",
    "rules": "gives the model instructions",
    "skills": "gives the model instructions and scripts",
    "commands": "adds slash commands",
    "agents": "defines subagents",
    "allow": "has rules that allow calls, which apply only if you save them",
}
_LOADED: Mapping[Kind, Sequence[str]] = {
    "settings": (".agentcli/config.toml",),
    "hooks": (".agentcli/hooks.json", ".claude/settings.json", ".claude/settings.local.json"),
    "servers": (".agentcli/mcp.json", ".mcp.json", ".gemini/settings.json"),
    "extensions": (".agentcli/extensions",),
    "rules": (".claude/rules",),
    "skills": (
        ".agentcli/skills",
        ".agents/skills",
        ".claude/skills",
        ".codex/skills",
        ".gemini/skills",
        ".opencode/skills",
        ".pi/skills",
    ),
    "commands": (
        ".agentcli/commands",
        ".claude/commands",
        ".gemini/commands",
        ".opencode/commands",
        ".pi/prompts",
    ),
    "agents": (".agentcli/agents", ".claude/agents", ".gemini/agents", ".opencode/agents"),
}
"""Paths that are loaded only with trust, relative to each folder from the repository's root down. Instruction files need no trust."""
_KEYS: Mapping[Kind, str] = {"hooks": "hooks", "servers": "mcpServers"}
"""Keys of the files that hold what starts programs."""
_STARTS: Collection[Kind] = ("hooks", "servers", "extensions")
"""Kinds of items that would start programs or open connections."""


@dataclass(frozen=True, slots=True)
class Loadable:
    """A file or folder that agentcli would load once its folder is trusted; `effect` describes the consequence."""

    kind: Kind
    path: Path
    effect: str

    def __str__(self) -> str:
        return f"{safe_line(str(self.path))} ({self.kind}: {self.effect})"


def is_trusted(folder: Path, file: Path) -> bool:
    """Return True if the user trusted this folder, or one above it within the same repository.

    A repository inside a trusted folder is not trusted with it: it may have been cloned there later. A worktree is
    trusted if its repository is. `file` lists the trusted folders; if it is unreadable, or others may write it, nothing
    is trusted.
    """
    try:
        trusted = _read(file)
    except ConfigError:
        return False
    reach = _reach(_resolved(folder))
    main = main_worktree(reach[-1])
    twin = [] if main == reach[-1] else _reach(main / _resolved(folder).relative_to(reach[-1]))
    return any(str(place) in trusted for place in (*reach, *twin))


def trust(folder: Path, file: Path) -> None:
    """Remember that the user trusts a folder.

    Raises ConfigError if the file there is unreadable, and StoreError if it is not writable; then it stays unchanged.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _edit(file, lambda folders: folders | {str(_resolved(folder)): now})


def what_it_would_load(folder: Path) -> tuple[Loadable, ...]:
    """Find what agentcli would load from a folder once it is trusted.

    Files of hooks or servers without any are omitted. Settings count in the folder itself. Everything else also counts
    in its parents, up to the repository's root.
    """
    places = _reach(_resolved(folder))
    found = (
        (kind, place / name)
        for kind, names in _LOADED.items()
        for place in (places[:1] if kind == "settings" else reversed(places))
        for name in names
    )
    held = ((kind, path, _held(kind, path, places[-1])) for kind, path in found if os.path.lexists(path))
    return tuple(Loadable(one, path, _EFFECTS[one]) for kind, path, one in held if one is not None)


def _held(kind: Kind, path: Path, root: Path) -> Kind | None:
    """Return what a file gives agentcli.

    This is its kind, "allow" if it only has allow rules, or None if it has nothing. A file that is not readable as JSON
    may have anything.
    """
    from agentcli.core.text.json_comments import without_comments

    if kind not in _KEYS or path.suffix != ".json":
        return kind
    try:
        content = json.loads(without_comments(read_regular(path, SETTINGS_BYTES, root).decode("utf-8-sig", "replace")))
    except (Unusable, ValueError, RecursionError):
        return kind
    if not isinstance(content, dict):
        return kind
    if content.get(_KEYS[kind]) or (content and not path.name.startswith("settings")):
        return kind
    rules = content.get("permissions")
    return "allow" if kind == "hooks" and isinstance(rules, dict) and rules.get("allow") else None


def not_read(folder: Path, servers: Sequence[str] = ()) -> str:
    """Return an unattended run's warning about an untrusted folder whose files would start something.

    `servers` are the names of the servers in its files.
    """
    root = repository(folder)
    found = [one for one in what_it_would_load(folder) if one.kind in _STARTS]
    files = [safe_line(os.path.relpath(one.path, root)) for one in found]
    if not files:
        return ""
    named = f" (servers: {', '.join(map(safe_line, servers))})" if servers else ""
    kinds = [kind for kind in _STARTS if any(one.kind == kind for one in found)]
    return (
        f"{' and '.join(kinds).capitalize()} were not read, since this folder is not trusted: {', '.join(files)}{named}. "
        "Trust it in a session, or run with --trust."
    )


def repository(folder: Path) -> Path:
    """Return the root of the folder's repository; without one, the folder itself. Links are followed."""
    return _reach(_resolved(folder))[-1]


def _reach(folder: Path) -> list[Path]:
    """Return the folder and its parents in the same repository; without a repository, only the folder."""
    places = [folder, *folder.parents]
    top = next((number for number, place in enumerate(places) if os.path.lexists(place / ".git")), 0)
    return places[: top + 1]


def _resolved(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def read_own(file: Path, otherwise: str) -> str | None:
    """Read the text of a file that allows programs to run; None if it does not exist.

    Raises ConfigError if it is unreadable or others may write it; `otherwise` describes the consequence.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"Can't read {file}: {error.strerror}. {otherwise}.") from error
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise ConfigError(f"{file} can be changed by others. {otherwise}; make it yours with mode 0600.")
        return stream.read()


def _read(file: Path) -> dict[str, str]:
    text = read_own(file, "No folder counts as trusted")
    return {} if text is None else _parsed(text, file)


def _parsed(text: str, file: Path) -> dict[str, str]:
    try:
        folders = json.loads(text)["folders"]
        return {str(name): str(since) for name, since in folders.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged, so no folder is trusted. Fix or remove it.") from error


def _edit(file: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    def changed(_: str) -> str:
        # Read again, with the checks for files that allow programs to run.
        return json.dumps({"schema": 1, "folders": change(_read(file))}, indent=1, ensure_ascii=True) + "\n"

    update(file, changed)
