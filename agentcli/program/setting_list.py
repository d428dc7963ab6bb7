"""Settings for people: each with its value, its origin and its choices; changes go into the user's config.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agentcli.manual import page
from agentcli.program.config import parsed
from agentcli.program.config.edit import set_key
from agentcli.program.config.toml_text import toml_value
from agentcli.program.host import Setting
from agentcli.program.program import Program

BUILT_IN = "built-in"
_SWITCH = ("true", "false")


def settings(program: Program) -> Iterator[Setting]:
    """Every setting in force."""
    few, origins, about = program.config.schema.choices(_SWITCH), program.config.origins, descriptions()
    for key, value in program.config.items():
        origin = origins.get(key, BUILT_IN)
        yield Setting(key, toml_value(value), origin, tuple(few.get(key, ())), about.get(key, ""))


_DESCRIBED = re.compile(r"- `(?P<key>[\w.]+)` = `.*?`.*?: (?P<about>.*)")


def descriptions() -> Mapping[str, str]:
    """Return what each setting does, as the manual says it."""
    text = page("configuration")
    return {line["key"]: line["about"].replace("`", "") for line in map(_DESCRIBED.fullmatch, text.split("\n")) if line}


def change(program: Program, key: str, text: str) -> str:
    """Write a setting to the user's config.toml and read it again; return a line about the value in force.

    Raises ConfigError for a key that does not exist or a value that does not fit.
    """
    file, schema = program.dirs.config_file, program.config.schema
    wanted = parsed(schema, key, text)
    set_key(file, schema.steps(key), wanted)
    program.reload()
    now, origin = program.config.get(key), program.config.origins.get(key, BUILT_IN)
    if now != wanted:
        return f"{key} = {toml_value(wanted)} is in {file}, but {origin} has {toml_value(now)}, which wins."
    return f"{key} = {toml_value(wanted)}, written to {file}. New sessions have it (/new)."
