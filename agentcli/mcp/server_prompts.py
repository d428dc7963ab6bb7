"""Offers of servers to the person: prompts as `/server:prompt`, resources as `@server:uri`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from agentcli.agent.ports import Prompt
from agentcli.core.errors import InputError, ToolError
from agentcli.core.mcp_servers import PREFIX, Content, ServerPrompt, Servers
from agentcli.core.message import TYPED, File, Part, Text
from agentcli.core.sanitise import safe_line
from agentcli.tools.mcp import KeepFile, image_of, kept_data

MENTION = re.compile(r"""(?:^|(?<=[\s("']))@([A-Za-z0-9_-]{1,40}):([^\s"')]+)""")
"""The mention of a resource of a server: `@server:uri`."""


def prompt_of(servers: Servers | None, text: str) -> ServerPrompt | None:
    """Return the server prompt that a line names, as `/server:prompt` or `/mcp__server__prompt`; None if it names none."""
    if servers is None or not text.startswith("/"):
        return None
    name = text[1:].split(None, 1)[0] if text[1:].split() else ""
    return next((one for one in servers.prompts() if name in (one.command, f"{PREFIX}{one.server}__{one.name}")), None)


async def with_prompt(servers: Servers, found: ServerPrompt, prompt: Prompt, keep: KeepFile) -> Prompt:
    """Return the prompt with the texts that the server makes of it. Raises InputError if an argument is missing, or the server fails."""
    line = prompt.text
    try:
        contents = await servers.prompt(found.server, found.name, _arguments(found, line))
    except ToolError as error:
        raise InputError(str(error)) from error
    parts = [_part(content, found.command, keep) for content in contents]
    if not parts:
        raise InputError(f"The prompt {found.command} is empty.")
    first = next((part for part in parts if isinstance(part, Text)), None)
    marked = (
        replace(part, meta={TYPED: {"line": line}}) if part is first and isinstance(part, Text) else part
        for part in parts
    )
    before = (part for part in prompt.parts if part != Text(line))
    return replace(prompt, parts=(*before, *marked))


async def with_resources(
    servers: Servers | None, prompt: Prompt, keep: KeepFile, check: Callable[[str], None] = lambda _: None
) -> Prompt:
    """Return the prompt, preceded by every resource that it mentions as `@server:uri`.

    Raises InputError for a resource that cannot be read, and what `check` raises for an address.
    """
    if servers is None or ":" not in prompt.text:
        return prompt
    names = {state.name for state in servers.states()}
    found: list[Part] = []
    for server, uri in dict.fromkeys((match[1], match[2].rstrip(".,;!?")) for match in MENTION.finditer(prompt.text)):
        if server not in names:
            continue
        check(uri)
        try:
            answer = await servers.read(server, uri)
        except ToolError as error:
            raise InputError(f"@{server}:{safe_line(uri)} cannot be read: {error}") from error
        found += [_part(content, f"{server}:{uri}", keep, file=True) for content in answer.contents]
    return replace(prompt, parts=(*found, *(prompt.parts or (Text(prompt.text),)))) if found else prompt


def _arguments(found: ServerPrompt, line: str) -> Mapping[str, str]:
    """Assign the arguments by position; the last one takes all the remaining words."""
    try:
        words = shlex.split(line.partition(" ")[2])
    except ValueError as error:
        raise InputError(f"The arguments of /{found.command} cannot be read: {error}.") from error
    names = [name for name, _ in found.arguments]
    if names and len(words) > len(names):
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    given = dict(zip(names, words, strict=False))
    missing = [name for name, required in found.arguments if required and name not in given]
    if missing:
        form = " ".join(name.upper() if required else f"[{name.upper()}]" for name, required in found.arguments)
        raise InputError(f"/{found.command} needs {', '.join(missing)}. Use /{found.command} {form}.")
    return given


def _part(content: Content, name: str, keep: KeepFile, *, file: bool = False) -> Part:
    """Turn a piece of a server's answer into a part of a prompt; data that no model takes is kept as a file that the text names."""
    if (image := image_of(content)) is not None:
        return image
    if content.kind == "text":
        return File("text/plain", name, content.text) if file or content.uri else Text(content.text)
    if content.kind == "link":
        return Text(f"[resource {content.name}: {content.uri}]", True)
    text = kept_data(keep, re.sub(r"[^A-Za-z0-9_-]+", "_", name), content)
    return File("text/plain", name, text) if file else Text(text, True)
