"""The commands that start a session, and those that stand beside them."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.app.options import LAST, Options
from agentcli.cli.flags import (
    AddDir,
    AgentName,
    Allow,
    AppendPrompt,
    AppendPromptFile,
    Cwd,
    Deny,
    Fork,
    Format,
    Handoff,
    MaxCost,
    MaxTime,
    MaxTokens,
    MaxTurns,
    McpConfig,
    Mode,
    Model,
    NoSession,
    Output,
    Plain,
    Print,
    PromptText,
    SessionId,
    Set,
    SystemPrompt,
    SystemPromptFile,
    Trust,
    by_option,
    taking,
)
from agentcli.core.causes import in_words
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class SessionFlags:
    """The flags that every session takes."""

    prompt_flag: PromptText = None
    print: Print = False
    model: Model = ""
    mode: Mode = ""
    allow: Allow = None
    deny: Deny = None
    cwd: Cwd = ""
    add_dir: AddDir = None
    mcp_config: McpConfig = None
    output_format: Output = Format.text
    max_turns: MaxTurns = None
    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    max_time: MaxTime = None
    system_prompt: SystemPrompt = None
    system_prompt_file: SystemPromptFile = None
    append_system_prompt: AppendPrompt = ""
    append_system_prompt_file: AppendPromptFile = None
    agent: AgentName = ""
    settings: Set = None
    no_session: NoSession = False
    session_id: SessionId = ""
    fork: Fork = False
    handoff: Handoff = None
    trust: Trust = False
    plain: Plain = False


def _options(flags: SessionFlags, prompt: str | None, session: str | None) -> Options:
    """The flags of a run as one value; files named by flags are read here."""
    given = by_option(flags)
    message = given.pop("prompt_flag")
    if message is not None and prompt is not None:
        raise UsageError(
            f"There are two prompts, {message!r} and {prompt!r}. Put quotes around a prompt of several words."
        )
    for name in ("system_prompt", "append_system_prompt"):
        file = given.pop(f"{name}_file")
        given[name] = _read(file) if file else given[name]
    given["print"] = given["print"] or message is not None
    given["output_format"] = given["output_format"].value
    if given["fork"] and session is None:
        raise UsageError(
            "--fork needs a session to copy. "
            "Name one with `agentcli resume SESSION --fork`, or use the newest with `agentcli -c --fork`."
        )
    if given["session_id"] and session is not None:
        raise UsageError("--session-id is for a new session; to go on with one: agentcli resume ID.")
    if given["handoff"] is not None and (session is None or not given["print"]):
        raise UsageError(
            "--handoff needs a session and -p: agentcli resume SESSION --handoff TEXT -p PROMPT. "
            "In the terminal, use /handoff."
        )
    return Options(prompt=message if message is not None else prompt, session=session, **given)


@taking(SessionFlags, "flags")
def run(
    flags: SessionFlags,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="first message")] = None,
    go_on: Annotated[bool, typer.Option("-c", "--continue", help="resume the newest session of this project")] = False,
) -> Options:
    """Open a session in the current folder, or answer one prompt with -p."""
    return _options(flags, prompt, LAST if go_on else None)


@taking(SessionFlags, "flags")
def resume(
    flags: SessionFlags,
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")] = None,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="next message")] = None,
    last: Annotated[bool, typer.Option("--last", help="resume the newest session of this project")] = False,
) -> Options:
    """Resume a session."""
    if last and session is not None:
        if prompt is not None or len(session.split()) == 1:
            raise UsageError(
                f"Which session, the newest or {session!r}? Leave out --last or {session!r}. "
                f'To send a message to the newest one: agentcli -c "{session}".'
            )
        prompt = session
    return _options(flags, prompt, LAST if last else session or "")


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")]) -> None:
    """Print a completion script for your shell.

    It completes commands, options, sessions, models and settings.
    """
    # It is answered before this parser is loaded, and stands here for the help and for what is mistyped.


def demo(
    prompt_flag: PromptText = None,
    print: Print = False,
    output_format: Output = Format.text,
    plain: Plain = False,
) -> Options:
    """Play a session with a scripted model; needs no key.

    It works on a temporary copy of a small broken project.
    """
    return Options(print=print or prompt_flag is not None, output_format=output_format.value, plain=plain, demo=True)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Can't read {path}: {in_words(error)}.") from error
