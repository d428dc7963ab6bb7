"""Sources of plugins: a folder or a git address.

In it a plugin is a folder, or the name of an entry in its marketplace.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.project.places import read_text
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.system import probe
from agentcli.system.programs import find_program, hardened
from agentcli.system.regular_file import Unusable

SCHEMES = ("https://", "http://", "ssh://", "git@", "file://")
MARKETPLACE = ".claude-plugin/marketplace.json"
_CLONE_SECONDS = 120
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Found:
    """The folder of a plugin, and its marketplace entry; an empty entry if the folder was given directly."""

    folder: Path
    entry: Mapping[str, Any]


def found_at(source: str, place: Path) -> Found:
    """Return the plugin at `PATH`, `URL` or `URL@REF`, with `#FOLDER` or `#NAME` for one of several. A repository is cloned below `place`.

    Raises InputError if there is none.
    """
    address, _, part = source.partition("#")
    folder = _cloned(address, place / "1") if address.startswith(SCHEMES) else Path(address).expanduser()
    if not probe.is_dir(folder):
        raise InputError(f"{address} is neither a folder nor a git address (https://…, ssh://…, git@…).")
    folder = folder.resolve()
    if not part:
        return Found(folder, {})
    try:
        entries = marketplace(folder)
    except Unusable as why:
        raise InputError(f"{why}.") from why
    if part in entries:
        return _entry(entries[part], folder, place)
    inside = _inside(folder, part)
    if inside is not None and inside != folder:
        return Found(inside, {})
    more = instead(part, entries or ())
    raise InputError(f"{address} has no folder and lists no plugin {safe_line(part)}.{more}")


def canonical(source: str) -> str:
    """Return the source with an absolute path, so that it can be found from any folder."""
    address, mark, part = source.partition("#")
    return source if address.startswith(SCHEMES) else f"{Path(address).expanduser().resolve()}{mark}{part}"


def marketplace(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the plugins that a folder's marketplace lists, by name; none without one. Raises Unusable for a damaged one."""
    file = folder / MARKETPLACE
    if not probe.is_file(file):
        return {}
    try:
        listed = json.loads(read_text(file, Path(os.path.realpath(folder)))).get("plugins")
    except Unusable as why:
        raise Unusable(f"{file.name}: {why}") from why
    except (ValueError, AttributeError, RecursionError) as error:
        raise Unusable(f"{file.name} is not the valid JSON of a marketplace ({safe_line(str(error))})") from error
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {one["name"]: one for one in entries if isinstance(one.get("name"), str)}


def _entry(entry: Mapping[str, Any], folder: Path, place: Path) -> Found:
    """Return the plugin of a marketplace entry; if it is in another repository, clone that at the entry's commit."""
    match entry.get("source"):
        case str(path):
            inside = _inside(folder, path)
            if inside is None:
                raise InputError(f"The marketplace names a folder that it does not have: {safe_line(path)}.")
            return Found(inside, entry)
        case {"source": "github", "repo": str(repository), **more}:
            return _elsewhere(f"https://github.com/{repository}.git", more, entry, place)
        case {"source": "url" | "git" | "git-subdir", "url": str(address), **more} if address.startswith(SCHEMES):
            return _elsewhere(address, more, entry, place)
        case other:
            raise InputError(f"The marketplace names a source that is not supported: {safe_line(str(other))[:200]}.")


def _inside(folder: Path, path: str) -> Path | None:
    """Return the folder at a path in a resolved folder, following links.

    Return None if there is none, or if it leads outside.
    """
    inside = None if "\0" in path else (folder / path).resolve()
    return inside if inside is not None and probe.is_dir(inside) and inside.is_relative_to(folder) else None


def _elsewhere(address: str, more: Mapping[Any, Any], entry: Mapping[str, Any], place: Path) -> Found:
    ref, commit, path = (str(more.get(name) or "") for name in ("ref", "sha", "path"))
    top = _cloned(address, place / "2", ref, commit).resolve()
    inside = _inside(top, path)
    if inside is None:
        raise InputError(f"{address} has no folder {safe_line(path)}, which the marketplace names.")
    return Found(inside, entry)


def _cloned(source: str, place: Path, ref: str = "", commit: str = "") -> Path:
    """Clone a git repository at its newest state, at `@REF` or at a commit.

    Its hooks, submodules and credential programs do not run.
    """
    place.mkdir(parents=True, exist_ok=True)
    address, at, given = source.rpartition("@")
    if ref or not at or "/" in given or ":" in given or "/" not in address:
        address, given = source, ref
    name = address.rstrip("/").rpartition("/")[2].removesuffix(".git") or "plugin"
    target = place / name
    if _COMMIT.fullmatch(commit):
        _git(["init", "-q", "--", str(target)], place, address)
        _git(["-C", str(target), "fetch", "-q", "--depth", "1", "--", address, commit], place, address)
        _git(["-C", str(target), "checkout", "-q", "--detach", "FETCH_HEAD"], place, address)
    else:
        branch = ["--branch", given] if given else []
        _git(["clone", "-q", "--depth", "1", *branch, "--", address, str(target)], place, address)
    return target


def _git(arguments: Sequence[str], place: Path, address: str) -> None:
    program = find_program("git", [place])
    if not program:
        raise InputError("git is not installed, so a plugin can only be added from a folder.")
    options = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null"]
    environment = {**hardened(os.environ, [place]), "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            [program, *options, *arguments],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_CLONE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{address} could not be cloned: {error}") from error
    if done.returncode:
        raise InputError(f"{address} could not be cloned: {safe_line(done.stderr.strip()[-300:])}")
