"""Commands that only fetch: with a proxy that lets through hosts on a list, the sandbox can hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.permissions.shell.programs.known_programs import word_set

_FETCHING = word_set(
    "npm pnpm yarn bun npx bunx pnpx pip pip3 uv uvx poetry pdm pipenv cargo go gem bundle composer mix curl wget"
)
_TELLING = word_set("""
publish unpublish login logout adduser whoami owner access dist-tag token team ping star unstar deprecate undeprecate push upload yank
signin signout hook profile org hex.publish cert owners
""")
"""Subcommands that tell a server something, or act on it in the person's name."""
_CURL = re.compile(r"-[sSfLkOJIiv#gN46]+|--(?:silent|show-error|fail|fail-with-body|location|remote-name|remote-header-name|head|include|compressed|progress-bar|no-progress-meter|globoff|ipv4|http1\.1)|--(?:retry|max-time|connect-timeout|max-redirs)=?\d*|-[mo]|--output|\d+")  # fmt: skip
_WGET = re.compile(
    r"-[qcNSOP46]+|-nv|-nc|--(?:quiet|no-verbose|continue|timestamping|no-clobber|spider)|--(?:tries|timeout)=\d+|-[tT]|\d+"
)
_URL = re.compile(r"https?://[\w.-]+(?::(?:443|80))?(?:/[^\s?]*)?")
"""Addresses without a query, which could carry data away."""


def may_fetch(line: str) -> bool:
    """Return False for a line that surely names none of these programs."""
    return any(program in line for program in _FETCHING)


def only_fetches(words: Sequence[str]) -> bool:
    """Return True for a command that sends nothing but its request.

    Package managers, curl and wget are known.
    """
    program, *arguments = words
    if program not in _FETCHING:
        return False
    if program in ("curl", "wget"):
        options = _CURL if program == "curl" else _WGET
        named = [word for word in arguments if _URL.fullmatch(word)]
        return bool(named) and all(
            _URL.fullmatch(word)
            or options.fullmatch(word)
            or (before in ("-o", "--output", "-O", "-P") and "/" not in word[:1])
            for before, word in zip(("", *arguments), arguments, strict=False)
        )
    return _TELLING.isdisjoint(arguments)
