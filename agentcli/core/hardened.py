"""The environment in which commands of the agent run: nothing of a repository chooses a program, a pager or a prompt for them."""

from __future__ import annotations

import os
from collections.abc import Mapping

GIT_HARDENED_CONFIG: tuple[tuple[str, str], ...] = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.pager", "cat"),
    ("safe.bareRepository", "explicit"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
"""Config that every git command of the agent runs with, so that no repository chooses a program for it.

An empty `diff.external` would belong here, but git 2.39 tries to run it and dies: a repository that sets it is asked about.
"""

GIT_HARDENED_ENV: dict[str, str] = {
    "GIT_CONFIG_COUNT": str(len(GIT_HARDENED_CONFIG)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(GIT_HARDENED_CONFIG)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(GIT_HARDENED_CONFIG)},
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": "true",
}
"""The environment for the bash tool: the hardened config, no pager, no editor, no prompt, no optional locks, no lazy fetch."""

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
"""What git may still be told by environment; the rest names repositories, programs and files that it writes (`GIT_TRACE`)."""


def hardened(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command: without what could change its meaning, with git kept from starting programs.

    The policy lets git read unasked only because commands run in it.
    """
    kept = {
        name: value for name, value in environment.items() if name not in SCRUBBED_VARIABLES and not _is_setting(name)
    }
    return kept | GIT_HARDENED_ENV


def _is_setting(name: str) -> bool:
    """Functions that bash would import, and git's settings by environment."""
    return name.startswith("BASH_FUNC_") or (name.startswith("GIT_") and not name.startswith(_GIT_KEPT))
