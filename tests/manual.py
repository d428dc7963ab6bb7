"""`python -m tests.manual`: write the page of the manual that lists all settings, from the settings themselves."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from agentcli.config import SECTIONS, Config
from agentcli.config.toml_text import toml_value
from agentcli.manual import FOLDER

PAGE = FOLDER / "configuration.md"
HEAD = """\
# Configuration

Where settings come from, how to change them, and the reference of all of them with their defaults.

## Files and precedence

Your settings are in `config.toml` in `$XDG_CONFIG_HOME/agentcli` (on Linux `~/.config/agentcli`); `agentcli config path` prints the path.
From low to high: built-in defaults, your config.toml, a trusted project's `.agentcli/config.toml`, the environment
(`AGENTCLI_SECTION__KEY`), `--set KEY=VALUE`, flags.

    agentcli config show --origin              # every setting, and where it comes from
    agentcli config get context.policy
    agentcli config set ui.theme dark          # comments in the file stay
    AGENTCLI_UI__THEME=light agentcli
    agentcli --set agent.effort=high

A project's file may not set providers, hooks, retention, the mode, the sandbox, allow rules or added folders. A key that does not exist is
a warning with the nearest name, on the command line an error; a value of the wrong type is an error.

Providers and models are described in tables of their own: see `agentcli help models`.

## Example

    model = "sonnet"
    mode = "ask"

    [context]
    soft = 0.6

    [permissions]
    allow = ["bash(npm test)", "edit(src/**)"]
    deny = ["bash(git push *)"]

    [ui]
    theme = "dark"
"""


def text() -> str:
    """The page."""
    parts = [HEAD]
    for section in SECTIONS:
        parts += _section("" if section == "general" else section, getattr(Config(), section))
    return "\n".join(parts)


def _section(name: str, value: Any, about: str = "") -> Iterator[str]:
    title = f"[{name}]" if name else "Top level"
    yield f"## {title}\n\n{about or _about(type(value))}\n"
    inner = []
    rows = []
    for field in dataclasses.fields(value):
        each = getattr(value, field.name)
        if dataclasses.is_dataclass(each):
            inner.append((f"{name}.{field.name}", each, _described(type(value)).get(field.name, "")))
        else:
            key = f"{name}.{field.name}".lstrip(".")
            meaning = _described(type(value)).get(field.name, "")
            rows.append(f"| `{key}` | `{toml_value(each)}` | {_cell(meaning)} |")
    yield "\n".join(["| key | default | meaning |", "|---|---|---|", *rows, ""])
    for below in inner:
        yield from _section(*below)


def _about(kind: type) -> str:
    """The class's docstring without the name of its table."""
    first, *rest = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    line = " ".join(first.split())
    head, colon, tail = line.partition(": ")
    line = tail[:1].upper() + tail[1:] if colon and head.startswith("`") else line
    return "\n\n".join([line, *(" ".join(each.split()) for each in rest)])


@cache
def _described(kind: type) -> dict[str, str]:
    """The text below each field of a dataclass."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            found[field.target.id] = ast.literal_eval(after.value)
    return found


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
