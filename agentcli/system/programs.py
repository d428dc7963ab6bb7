"""Programs that agentcli starts: found outside the workspace, in an environment that no file of the repository can
influence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.core.text.secrets import holds_secret

OWN_PROGRAM = (sys.executable, "-P", "-m", "agentcli")
"""Command of this program as another process. With `-P`, no module of the folder replaces one of ours."""

_given = ""
_cleaned: str | None = None
_workspace: set[Path] = set()


def leave_out(workspace: Iterable[Path]) -> None:
    """Hide these folders from every library of this process that starts a program by name.

    `search_path` still returns PATH as it was at start.
    """
    global _given, _cleaned
    _given = search_path()
    _workspace.update(workspace)
    _cleaned = os.environ["PATH"] = trusted_path(_given, _workspace)


def search_path() -> str:
    """Return PATH as it was at the start: commands that a person or a rule allowed find their programs there."""
    now = os.environ.get("PATH", "")
    return _given if _cleaned is not None and now == _cleaned else now


def trusted_path(path: str, workspace: Iterable[Path]) -> str:
    """Return a search path without empty and relative entries and without entries inside the workspace."""
    return path_outside(path, tuple(untrusted(workspace)))


def path_outside(path: str, closed: Sequence[str]) -> str:
    """Return a search path without empty and relative entries and without entries inside the closed folders."""
    kept = (entry for entry in path.split(os.pathsep) if os.path.isabs(entry) and not lies_in(entry, closed))
    # Some programs read an empty or missing PATH as the current folder.
    return os.pathsep.join(dict.fromkeys(kept)) or os.defpath


def find_program(name: str, workspace: Iterable[Path] = (), path: str | None = None) -> str:
    """Return the absolute path of a program outside the workspace, or an empty string. `path` replaces PATH."""
    outside = (*workspace, *_workspace)
    closed = tuple(untrusted(outside))
    entries = path_outside(search_path() if path is None else path, closed).split(os.pathsep)
    found = (located(name, entry, Path("/")) for entry in entries)
    return next((file for file in found if file and not lies_in(file, closed)), "")


def located(name: str, path: str, folder: Path) -> str:
    """Return the file that a shell in `folder` would start for a name, using `path`; empty if there is none."""
    for entry in path.split(os.pathsep):
        file = os.path.join(folder, entry, name)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return ""


def untrusted(workspace: Iterable[Path]) -> Iterator[str]:
    """Yield the folders from which no program is taken: the workspace, and the repository around each of its folders.

    A repository that contains the whole home folder is not among them: its programs are the user's own.
    """
    home = os.path.realpath(Path.home())
    for root in map(os.path.realpath, workspace):
        yield root
        above = (str(folder) for folder in (Path(root), *Path(root).parents))
        top = next((folder for folder in above if os.path.lexists(os.path.join(folder, ".git"))), root)
        if not lies_in(home, (top,)):
            yield top


def lies_in(path: str, folders: Iterable[str]) -> bool:
    """Return True if a path is inside one of the folders, as written or with its links resolved."""
    forms = {os.path.normpath(path), os.path.realpath(path)}
    return any(form == top or form.startswith(top.rstrip("/") + "/") for top in folders for form in forms)


GIT_CONFIG: tuple[tuple[str, str], ...] = (
    ("core.fsmonitor", "false"),
    ("safe.bareRepository", "explicit"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
)
"""Config of every git command, even an approved one: looking at a repository starts nothing.

If asked for more than a submodule's name, git starts a second git inside it, without this config. An empty
`diff.external` would belong here, but git 2.39 tries to run it and fails. A repository that sets it needs approval.
"""

GIT_HARDENED_CONFIG: tuple[tuple[str, str], ...] = (
    *GIT_CONFIG,
    ("core.hooksPath", os.devnull),
    ("core.pager", "cat"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
"""Config for a git command that runs without approval: the repository chooses no program for it, not even a hook."""

QUIET: dict[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "EDITOR": "true",
    "VISUAL": "true",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Environment of every command: nothing pages, prompts or opens an editor."""


def git_settings(config: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return git config as variables, which override the config of all files."""
    named = {
        f"GIT_CONFIG_{part}_{number}": text
        for number, pair in enumerate(config)
        for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(named) // 2), **named}


GIT_HARDENED_ENV: dict[str, str] = {
    **{name: text for name, text in QUIET.items() if name.startswith("GIT_") or name == "PAGER"},
    **git_settings(GIT_HARDENED_CONFIG),
    "GIT_NO_LAZY_FETCH": "1",
}
"""Hardened config, without pager, editor, prompt, optional locks and lazy fetches."""

SCRUBBED_VARIABLES: tuple[str, ...] = (
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "GREP_COLORS",
    "LESSOPEN",
    "TAR_OPTIONS",
    "POSIXLY_CORRECT",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_XTRACEFD",
    "BASH_LOADABLES_PATH",
    "EXECIGNORE",
    "PS4",
    "AWKPATH",
    "AWKLIBPATH",
)
"""Variables to unset for the bash tool: each can change the meaning of an approved command."""


_GIT_KEPT = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
"""Prefixes of git's variables to keep; the others name repositories, programs, and files that git writes (`GIT_TRACE`).
"""


def environment(base: Mapping[str, str], allowed: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of a command: no secrets except the `allowed` ones, and settings against prompts and
    pagers.
    """
    known = {name: value for name, value in base.items() if name in allowed or not holds_secret(name, value)}
    return known | QUIET | git_settings(GIT_CONFIG)


def hardened(
    environment: Mapping[str, str], workspace: Iterable[Path] = (), git_config: Iterable[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the environment for a command that runs without approval.

    It has no variables that could change the command's meaning. It stops git from starting programs, and finds no
    programs and no modules of Python in the workspace. The policy lets a command read without approval only because it runs in this environment.
    `git_config` is additional config for git; the hardened config overrides it.
    """
    kept = {
        name: value for name, value in environment.items() if name not in SCRUBBED_VARIABLES and not _is_setting(name)
    }
    set_here = {key.lower() for key, _ in GIT_HARDENED_CONFIG}
    more = (pair for pair in git_config if pair[0].lower() not in set_here)
    config = git_settings([*more, *GIT_HARDENED_CONFIG])
    path = {"PATH": trusted_path(environment.get("PATH", ""), workspace), "PYTHONSAFEPATH": "1"}
    return kept | GIT_HARDENED_ENV | config | path


def _is_setting(name: str) -> bool:
    """Return True for functions that bash would import and for git settings in variables."""
    return name.startswith("BASH_FUNC_") or (name.startswith("GIT_") and not name.startswith(_GIT_KEPT))
