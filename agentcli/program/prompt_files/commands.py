"""Slash commands in files of Claude Code, Gemini CLI, opencode, pi and agentcli itself, read into one form."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from agentcli.agent.project import frontmatter
from agentcli.agent.project.places import Form, Found, Place, read_text
from agentcli.agent.project.prompt_files import Template
from agentcli.core.sanitise import display_path, safe_line
from agentcli.program.prompt_files.template import parse
from agentcli.system.regular_file import Unusable

if TYPE_CHECKING:
    from agentcli.program.prompt_files.template import Part, Syntax

COMMANDS = 1_000
"""Largest number of commands."""
DEPTH = 4
"""Maximum levels of folders; names below the first level are part of the command's name."""
_SYNTAX: dict[str, Syntax] = {".claude": "claude", ".gemini": "gemini", ".opencode": "opencode", ".pi": "pi"}
_WITHOUT_EFFECT = ("hooks", "disallowed-tools", "disable-model-invocation")
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class InvalidToml(Unusable):
    """A file that is not valid TOML, with the line of the error."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


def load(found: Found, notes: list[str]) -> Template | None:
    """Return the command that a file defines, or None after a note if it is unusable."""
    path, place = found.path, found.place
    name = found.inner.removesuffix(_suffix(place)).replace("/", ":")
    if not all(letter.isalnum() or letter in "-_.:" for letter in name):
        notes.append(f"{display_path(path)}: {safe_line(name)} is not a valid name of a command: left out.")
        return None
    try:
        if _syntax(place) == "gemini":
            return _from_toml(found, place.named(name))
        parsed = frontmatter.read(read_text(path, place.within))
    except InvalidToml as why:
        notes.append(f"{display_path(path)} {why} — left out.")
        return None
    except Unusable as why:
        notes.append(f"{display_path(path)}: {why}: left out.")
        return None
    if parsed.trouble:
        notes.append(f"{display_path(path)}: {parsed.trouble}.")
    notes += parsed.without_effect(_WITHOUT_EFFECT, f"Command {place.named(name)}")
    return Template(
        name=place.named(name),
        description=parsed.text("description") or _first_line(parsed.body),
        file=path,
        place=place,
        hint=parsed.text("argument-hint"),
        allowed=parsed.items("allowed-tools"),
        model=parsed.text("model"),
        effort=parsed.text("effort"),
        agent=parsed.text("agent"),
        forks=parsed.flag("subtask") or parsed.text("context") == "fork",
    )


def _from_toml(found: Found, name: str) -> Template:
    head, _ = _toml(read_text(found.path, found.place.within))
    described = head.get("description")
    return Template(name, described if isinstance(described, str) else "", found.path, found.place)


def body_of(command: Template) -> tuple[Part, ...]:
    """Return the parts of a command's text, reading the file again. Raise Unusable."""
    text, syntax = read_text(command.file, command.place.within), _syntax(command.place)
    body = _toml(text)[1] if syntax == "gemini" else frontmatter.read(text).body.strip()
    return parse(body, syntax)


def ending(command: Template, arguments: str) -> str:
    """Return the text that adds the arguments to a command whose own text has no place for them."""
    if not arguments:
        return ""
    match _syntax(command.place):
        case "gemini":
            return f"\n\n/{command.name} {arguments}"
        case "opencode" | "pi":
            return f"\n\n{arguments}"
        case "claude" | "own":
            return f"\n\nARGUMENTS: {arguments}"


def _suffix(place: Place) -> str:
    return ".toml" if _syntax(place) == "gemini" else ".md"


def _syntax(place: Place) -> Syntax:
    return _SYNTAX.get(place.program, "own")


def _toml(text: str) -> tuple[dict[str, object], str]:
    """Return the fields of a TOML file, and its prompt. Raise Unusable, with the line."""
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.search(str(error))
        why = safe_line(str(error)[: found.start()] if found else str(error))
        raise InvalidToml(int(found[1]) if found and found[1] else text.count("\n") + 1, why) from error
    except (ValueError, RecursionError) as error:
        raise Unusable("it is not usable TOML") from error
    prompt = fields.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise Unusable("it has no prompt")
    return fields, prompt


def _first_line(body: str) -> str:
    return next((line.strip("# ") for line in body.splitlines() if line.strip("# ")), "")


FORM = Form("commands", load, most=COMMANDS, depth=DEPTH, endings={".gemini": ".toml"})
