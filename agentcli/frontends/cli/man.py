"""The man page, generated from the commands' help and the manual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentcli import __version__, manual

_ROW = re.compile(r"\| ([0-9, ]+) \| (.+) \|")
"""A row of the table of exit codes."""


def man_page(group: Any) -> str:
    """Return the page agentcli(1) in roff."""
    session = group.commands["run"]
    commands = [(name, each) for name, each in sorted(group.commands.items()) if name != "run"]
    lines = [
        f'.TH AGENTCLI 1 "" "agentcli {__version__}" "User Commands"',
        *(".SH NAME", r"agentcli \- a coding agent for the terminal"),
        *(".SH SYNOPSIS", r".B agentcli", r"[\fIOPTIONS\fR] [\fIPROMPT\fR]", ".br"),
        *(r".B agentcli", r"\fICOMMAND\fR [\fIARGS\fR]..."),
        *(".SH DESCRIPTION", _text(group.help)),
        *(".SH OPTIONS", *_options(session)),
        *(".SH COMMANDS", *(line for name, each in commands for line in _command(name, each))),
        *(".SH EXIT STATUS", *_exit_codes()),
        *(".SH FILES", ".TP", r".I $XDG_CONFIG_HOME/agentcli/config.toml", "Settings."),
        *(".TP", r".I $XDG_DATA_HOME/agentcli/sessions", "Sessions."),
        *(".TP", r".I $XDG_STATE_HOME/agentcli", "History and logs."),
        *(".SH SEE ALSO", r"The manual: \fBagentcli help\fR. Its topics: " + ", ".join(manual.TOPICS) + "."),
    ]
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    """Yield the lines of a command with its options, or of its subcommands."""
    inner = getattr(command, "commands", None)
    if inner:
        for below, each in inner.items():
            yield from _command(f"{name} {below}", each)
        return
    arguments = " ".join(
        rf"\fI{_text(each.metavar or each.name.upper())}\fR" for each in command.params if _named(each)
    )
    yield f".SS {_text(name)} {arguments}".rstrip()
    yield _text(" ".join((command.help or "").split()))
    if name != "resume":  # its options are a session's, listed above
        yield from _options(command)


def _named(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _options(command: Any) -> Iterator[str]:
    for option in command.params:
        if _named(option) or option.hidden or "--help" in option.opts:
            continue
        names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.opts)
        value = "" if option.is_flag else rf" \fI{_text(option.metavar or option.name.upper())}\fR"
        yield from (".TP", names + value, _text(option.help or ""))


def _exit_codes() -> Iterator[str]:
    for code, meaning in _ROW.findall(manual.page("scripting")):
        yield from (".TP", rf"\fB{code.strip()}\fR", _text(meaning))


def _text(text: str) -> str:
    """Return text in which roff finds no commands."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
