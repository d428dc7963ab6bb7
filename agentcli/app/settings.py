"""Settings for people: each with its value, its origin and its choices; changes go into the user's config.toml."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.app.program import Program
from agentcli.config import choices, parsed, steps
from agentcli.config.edit import set_key
from agentcli.config.toml_text import toml_value
from agentcli.ui.host import Setting

BUILT_IN = "built-in"
_SWITCH = ("true", "false")


def settings(program: Program) -> Iterator[Setting]:
    """Every setting in force."""
    few, origins = choices(_SWITCH), program.config.origins
    for key, value in program.config.items():
        yield Setting(key, toml_value(value), origins.get(key, BUILT_IN), tuple(few.get(key, ())))


def change(program: Program, key: str, text: str) -> str:
    """Write a setting to the user's config.toml and read it again; return a line about the value in force.

    Raises ConfigError for a key that does not exist or a value that does not fit.
    """
    file = program.dirs.config_file
    wanted = parsed(key, text)
    set_key(file, steps(key), wanted)
    program.reload()
    now, origin = program.config.get(key), program.config.origins.get(key, BUILT_IN)
    if now != wanted:
        return f"{key} = {toml_value(wanted)} is in {file}, but {origin} has {toml_value(now)}, which wins."
    return f"{key} = {toml_value(wanted)}, written to {file}. New sessions have it (/new)."
