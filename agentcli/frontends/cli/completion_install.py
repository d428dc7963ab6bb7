"""Install the completion script and the man page where the shell and `man` look for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentcli.core.errors import UsageError
from agentcli.system.paths import replace_file

_FILES = {
    "bash": ("data", "bash-completion/completions/agentcli"),
    "zsh": ("data", "zsh/site-functions/_agentcli"),
    "fish": ("config", "fish/completions/agentcli.fish"),
}
_NEXT = {
    "bash": "Open a new shell to use it. It needs the package bash-completion.",
    "zsh": "Put this line into ~/.zshrc, before compinit, and open a new shell: fpath=({folder} $fpath)",
    "fish": "Open a new shell to use it.",
}


def installed(shell: str, script: str, man: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Write a shell's script and the man page to the user's folders.

    Return lines that name the files and the next step. Raises OSError if a file is not writable.
    """
    home = Path(env.get("HOME") or "~").expanduser()
    folders = {
        "data": _folder(env.get("XDG_DATA_HOME"), home / ".local/share"),
        "config": _folder(env.get("XDG_CONFIG_HOME"), home / ".config"),
    }
    kind, name = _FILES[shell]
    completion, page = folders[kind] / name, folders["data"] / "man/man1/agentcli.1"
    replace_file(completion, script)
    replace_file(page, man)
    return [
        f"Wrote {completion} (completion for {shell}).",
        f"Wrote {page} (man page).",
        _NEXT[shell].format(folder=completion.parent),
    ]


def shell_of(env: Mapping[str, str] = os.environ) -> str:
    """Return the name of the user's shell. Raise UsageError if it is not one with completion."""
    name = Path(env.get("SHELL", "")).name
    if name not in _FILES:
        raise UsageError("Name your shell: agentcli completion install bash|zsh|fish.")
    return name


def _folder(given: str | None, otherwise: Path) -> Path:
    return Path(given) if given and os.path.isabs(given) else otherwise
