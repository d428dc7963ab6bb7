"""The environment in which commands of the agent run: nothing of a repository chooses a program, a pager or a prompt for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from agentcli.system.programs import trusted_path

GIT_CONFIG: tuple[tuple[str, str], ...] = (
    ("core.fsmonitor", "false"),
    ("safe.bareRepository", "explicit"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
)
"""Config of every git command, even one that a person allowed: looking at a repository starts nothing.

If asked for more of a submodule than its name, git starts a second git inside it, which does not know this config. An empty
`diff.external` would belong here, but git 2.39 tries to run it and dies: a repository that sets it needs approval.
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
"""Config for a git command that runs without approval: no repository chooses a program for it, not even a hook."""

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
"""The environment of every command: nothing pages, prompts or opens an editor."""


def git_settings(config: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return git config as variables, which override the config of every file."""
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
"""The hardened config, no pager, no editor, no prompt, no optional locks, no lazy fetch."""

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
"""Variables to unset for the bash tool: each can change what an approved command does."""


_GIT_KEPT = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
"""Beginnings of git's variables that stay; the others name repositories, programs, and files that git writes (`GIT_TRACE`)."""


def hardened(
    environment: Mapping[str, str], workspace: Iterable[Path] = (), git_config: Iterable[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the environment for a command that runs without approval: without variables that could change its meaning, with git
    kept from starting programs, and without programs from the workspace.

    The policy allows a command to read without approval only because it runs in this environment. `git_config` is additional config
    for git; the hardened config overrides it.
    """
    kept = {
        name: value for name, value in environment.items() if name not in SCRUBBED_VARIABLES and not _is_setting(name)
    }
    set_here = {key.lower() for key, _ in GIT_HARDENED_CONFIG}
    more = (pair for pair in git_config if pair[0].lower() not in set_here)
    config = git_settings([*more, *GIT_HARDENED_CONFIG])
    return kept | GIT_HARDENED_ENV | config | {"PATH": trusted_path(environment.get("PATH", ""), workspace)}


def _is_setting(name: str) -> bool:
    """Return True for functions that bash would import and for git's settings by environment."""
    return name.startswith("BASH_FUNC_") or (name.startswith("GIT_") and not name.startswith(_GIT_KEPT))
