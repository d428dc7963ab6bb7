"""Whether a command failed because of the box it ran in, so that running it again outside may be offered."""

from __future__ import annotations

import re

_SIGNS: tuple[tuple[str, str], ...] = (
    (r"read-only file system|EROFS", "it wanted to write outside the workspace, or to a protected file in it"),
    (
        r"could not resolve host|temporary failure in name resolution|name or service not known|network is unreachable|ENOTFOUND"
        r"|EAI_AGAIN|ENETUNREACH|no address associated with hostname|failed to resolve|dns error|unable to connect to",
        "it wanted the network",
    ),
    (r"operation not permitted|permission denied|EACCES|EPERM", "it was refused a right that the sandbox withholds"),
)
_FOLLOWED = 4_000
"""Characters at the end of the output in which a reason is looked for."""


def blocked(output: str, exit_code: int | None) -> str:
    """Why a failed command may do better outside the sandbox, or the empty string. A guess from its last words."""
    if not exit_code:
        return ""
    last = output[-_FOLLOWED:]
    return next((why for sign, why in _SIGNS if re.search(sign, last, re.IGNORECASE)), "")
