"""The commands that start a session, and related ones."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agentcli.core.errors import UsageError
from agentcli.frontends.cli.arguments import contradiction
from agentcli.program.command_line.flags import taking_flags
from agentcli.program.options import LAST, Options


def _options(given: dict[str, Any], prompt: str | None, session: str | None) -> Options:
    """Return the flags of a run as one value. Raises UsageError if they contradict each other."""
    message = given["prompt"]
    if message is not None and prompt is not None:
        raise UsageError(
            f"There are two prompts, {message!r} and {prompt!r}. Put quotes around a prompt of several words."
        )
    printed = given["print"] or message is not None
    said = message if message is not None else prompt
    options = Options(**(given | {"prompt": said, "print": printed, "session": session}))
    if wrong := contradiction(options):
        raise UsageError(wrong)
    return options


@taking_flags()
def run(
    given: dict[str, Any],
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="first message")] = None,
    go_on: Annotated[bool, typer.Option("-c", "--continue", help="resume the newest session of this project")] = False,
) -> Options:
    """Open a session in the current folder, or answer one prompt with -p."""
    return _options(given, prompt, LAST if go_on else None)


@taking_flags()
def resume(
    given: dict[str, Any],
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")] = None,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="next message")] = None,
    last: Annotated[bool, typer.Option("--last", help="resume the newest session of this project")] = False,
) -> Options:
    """Resume a session."""
    if last and session is not None:
        if prompt is not None or len(session.split()) == 1:
            raise UsageError(
                f"Which session, the newest or {session!r}? Omit --last or {session!r}. "
                f'To send a message to the newest one: agentcli -c "{session}".'
            )
        prompt = session
    return _options(given, prompt, LAST if last else session or "")


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help="bash, zsh or fish; `install` writes the script and the man page")
    ],
) -> None:
    """Print or install a completion script for your shell.

    It completes commands, options, sessions, models and settings.
    """
    # Answered before this parser is loaded; declared here for the help and for mistyped forms.


@taking_flags("demo")
def demo(given: dict[str, Any]) -> Options:
    """Play a session with a scripted model; needs no key.

    It works on a temporary copy of a small broken project.
    """
    printed = given["print"] or given["prompt"] is not None
    return Options(**(given | {"prompt": None, "print": printed, "demo": True}))
