"""The scripts that come with the program, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import Text, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request
from agentcli.core.text.words import one_of
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, load, say
from agentcli.system import probe


def scripted(spec: ModelSpec, *_settings: object) -> ScriptedModel:
    """Return the scripted model for `script:<name-or-path>`. Raises InputError for an unknown script."""
    name, _, argument = spec.id.partition(":")
    if name in BUILT_IN:
        return ScriptedModel(spec, BUILT_IN[name](argument))
    path = Path(spec.id).expanduser()
    if not probe.is_file(path):
        raise InputError(f"Unknown script {spec.id!r}: no file has this name.{one_of(spec.id, BUILT_IN)}")
    return ScriptedModel(spec, *load(path))


def echo(_: str = "") -> Callable[[Request], Reply]:
    """Make a script that answers with the user's last prompt."""
    return lambda request: say(last_prompt(request) or "(nothing)")


def long_reply(argument: str = "") -> Callable[[Request], Reply]:
    """Make a script with one long Markdown reply, its blocks tagged `#0000` and up.

    The argument is `BLOCKS` or `BLOCKS@RATE`, in characters per second.
    """
    blocks, _, rate = argument.partition("@")
    text = "\n\n".join(_block(number) for number in range(_number(blocks, 80)))
    return lambda _: say(text, rate=_number(rate, 4000))


def steps(argument: str = "") -> Callable[[Request], Reply]:
    """Make a script that takes N tool steps on each prompt, with the first available reading tool, and then ends."""
    wanted = _number(argument, 3)

    def reply(request: Request) -> Reply:
        done = _steps_since_prompt(request)
        if done >= wanted:
            return say(f"Done after {done} steps.")
        return say(f"Step {done + 1} of {wanted}.", _harmless_call(request, done))

    return reply


BUILT_IN: dict[str, Callable[[str], Callable[[Request], Reply]]] = {
    "echo": echo,
    "long-reply": long_reply,
    "steps": steps,
}


def last_prompt(request: Request) -> str:
    """Return the user's last prompt, without injected text."""
    for turn in reversed(request.messages):
        own = [part.text for part in turn.parts if isinstance(part, Text) and not part.synthetic]
        if turn.role == "user" and own:
            return "\n".join(own)
    return ""


def _block(number: int) -> str:
    tag = f"#{number:04}"
    match number % 5:
        case 0:
            return (
                f"## Section {tag}\n\nA paragraph of **some** length under its heading, with `code` and *stress* in it."
            )
        case 1:
            return f"- first item {tag}\n- second item with a [link](https://example.org/)\n  - a nested item"
        case 2:
            return f"```python\ndef block_{number}():\n    return {number}  # {tag}\n```"
        case 3:
            return f"| name | value |\n|---|---|\n| {tag} | {number} |\n| 日本語 | ✓ |"
        case _:
            return f"A plain paragraph {tag}. " + "Words that fill a few lines on any screen. " * 4


def _steps_since_prompt(request: Request) -> int:
    done = 0
    for turn in reversed(request.messages):
        if turn.role == "user":
            if any(isinstance(part, Text) and not part.synthetic for part in turn.parts):
                break
            done += any(isinstance(part, ToolResult) for part in turn.parts)
    return done


def _harmless_call(request: Request, number: int) -> ToolCall:
    names = {tool.name for tool in request.tools}
    unique = f"call_{len(request.messages):04}_{number:03}"
    if "glob" in names:
        return call("glob", unique, pattern=f"*{number}*")
    if "list" in names:
        return call("list", unique, path=".")
    return call("bash", unique, command=f"echo step {number + 1}")


def _number(text: str, default: int) -> int:
    if not text:
        return default
    if not text.isdigit():
        raise InputError(f"{text!r} is not a number.")
    return int(text)
