"""Installation: which tool installed this copy, and the commands that upgrade it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.system.probe import exists, is_dir


@dataclass(frozen=True, slots=True)
class Installation:
    """How a copy of the program was installed."""

    how: str
    """The tool and the source, such as `pipx, from /home/me/agentcli`."""
    upgrade: Sequence[Sequence[str]] = ()
    """Commands that upgrade it, in order; none if only the person knows where a newer version is."""


def installed() -> Installation:
    """Return how this copy was installed. Raises InputError if no package tool knows it."""
    try:
        return installation(distribution("agentcli"), Path(sys.prefix))
    except PackageNotFoundError:
        raise InputError("This copy was not installed by a package tool. Update it the way you got it.") from None


def run(commands: Sequence[Sequence[str]]) -> int:
    """Run the commands with their output shown; stop at the first that fails, and return its exit code.

    Raises InputError if a command cannot be started.
    """
    for command in commands:
        try:
            code = subprocess.run(command, check=False).returncode
        except OSError as error:
            raise InputError(f"Can't run {safe_line(command[0])}: {error.strerror}.") from error
        if code:
            print(f"Not updated: `{safe_line(shlex.join(command))}` failed.", file=sys.stderr)
            return code
    print("Updated. Running sessions keep the former version until they exit.")
    return 0


def installation(package: Distribution, prefix: Path) -> Installation:
    """Return how this package came into the environment at `prefix`.

    pipx and uv leave a file in the environment. pip leaves its name and the source (PEP 610) in the metadata.
    """
    source = _source(package)
    folder = _folder(source)
    pull = [["git", "-C", str(folder), "pull", "--ff-only"]] if folder and exists(folder / ".git") else []
    where = f", from {folder}" if folder else ""
    if exists(prefix / "pipx_metadata.json"):
        again = ["pipx", "install", "--force", str(folder)] if folder else ["pipx", "upgrade", "agentcli"]
        return Installation(f"pipx{where}", [*pull, again])
    if exists(prefix / "uv-receipt.toml"):
        again = ["uv", "tool", "upgrade", *(["--reinstall"] if folder else []), "agentcli"]
        return Installation(f"uv tool{where}", [*pull, again])
    tool = (package.read_text("INSTALLER") or "").strip()
    if tool not in ("pip", "uv"):
        return Installation(tool or "a package of the system")
    pip = (
        ["uv", "pip", "install", "--python", sys.executable]
        if tool == "uv"
        else [sys.executable, "-m", "pip", "install"]
    )
    if folder:
        editable = bool(source.get("dir_info", {}).get("editable"))
        return Installation(f"{tool}{where}", [*pull, [*pip, *(["-e"] if editable else []), str(folder)]])
    if "vcs_info" in source:
        version = source["vcs_info"].get("requested_revision")
        place = f"{source['vcs_info'].get('vcs', 'git')}+{source['url']}{f'@{version}' if version else ''}"
        return Installation(f"{tool}, from {place}", [[*pip, "--force-reinstall", "--no-deps", place], [*pip, place]])
    if source:
        return Installation(f"{tool}, from {source.get('url', 'a file')}")
    return Installation(tool, [[*pip, "--upgrade", "agentcli"]])


def _source(package: Distribution) -> Any:
    """Return what PEP 610 records: a folder, a repository or a file. It is empty for a package from an index."""
    try:
        found = json.loads(package.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _folder(source: Any) -> Path | None:
    """Return the folder that the package was installed from, if that still exists."""
    if "dir_info" not in source or not str(source.get("url", "")).startswith("file:"):
        return None
    folder = Path(unquote(urlsplit(source["url"]).path))
    return folder if is_dir(folder) else None
