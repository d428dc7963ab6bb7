"""Tools of MCP servers: two that find and call any of them, and one for each tool that is loaded from the start."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

from agentcli.core.codec.encode import dumps
from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import CALL, MATCHED, PREFIX, SEARCH, Content, ServerAnswer, Servers, ServerTool
from agentcli.core.message import Image
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.tool import NO_OUTPUT, Behaviour, Tool, ToolContext, ToolOutput, ToolServer, Traits
from agentcli.tools.entry import Entry

FOUND = 5
"""Maximum tools that a search shows by default."""
NAMES = 50
"""Maximum tool names in the answer to a call of an unknown tool."""
DESCRIPTION = 2_048
"""Maximum characters of a tool's description that are shown."""
SEARCH_SECONDS = 10.0
"""Seconds that a search waits for servers that are connecting."""
DATA_BYTES = 25_000_000
"""Maximum bytes of a sound or other file from a server that is stored."""
KeepFile = Callable[[str, bytes, str], str]
"""A function that saves a file under an id, with its extension, and returns its path; empty if nothing is stored."""
_TITLE = 80
_NEAR, _FAR = 2_000, 1_000
"""Characters around the last value to search first for the next, and the maximum number of values to search in the
whole text.
"""


async def mcp_search(
    ctx: ToolContext,
    call_id: str,
    query: Annotated[str, "Words, or select:NAME,NAME"],
    limit: Annotated[int, f"Tools shown, by default {FOUND}"] = FOUND,
) -> ToolOutput:
    from agentcli.core.text.words import near_names

    servers = _servers(ctx)
    await servers.settle(SEARCH_SECONDS, again=True)
    found = servers.search(query, max(1, limit))
    if found:
        output = _cut(ctx, call_id, "\n\n".join(map(_described, found)), (), failed=False)
        return replace(output, metadata={"matches": len(found), MATCHED: [tool.name for tool in found]})
    names = [tool.name for tool in servers.tools()]
    near = near_names(query.removeprefix("select:"), names, 0.3) or names[:FOUND]
    lines = [f"No tool fits {query!r}."]
    lines += [f"Nearest: {', '.join(near)}."] if near else []
    lines += [state.sentence for state in servers.states() if state.status != "connected"]
    return ToolOutput("\n".join(lines), metadata={"matches": 0})


async def mcp_call(
    ctx: ToolContext,
    call_id: str,
    tool: Annotated[str, "mcp__server__tool"],
    arguments: dict[str, Any] | None = None,
) -> ToolOutput:
    # A session handles calls of a server's tool itself; all others end in this refusal.
    raise ToolError(no_server_tool({"tool": tool, "arguments": arguments}, _servers(ctx).tools()))


def no_server_tool(given: Mapping[str, Any], tools: Sequence[ServerTool]) -> str:
    """Return the answer to an `mcp_call` without a server's tool, or without an object for it."""
    from agentcli.core.text.words import did_you_mean, near_names

    tool = str(given.get("tool", ""))
    if tool.startswith(PREFIX):
        return f"The arguments of {tool} must be a JSON object."
    names = {own: each.name for each in tools for own in (each.tool, each.name, each.name.removeprefix(PREFIX))}
    near = dict.fromkeys(names[each] for each in near_names(tool, names))
    listed = ", ".join([each.name for each in tools][:NAMES]) or "none"
    more = f" and {len(tools) - NAMES} more" if len(tools) > NAMES else ""
    return (
        f"{tool!r} is not a tool of a server: its whole name is mcp__server__tool.{did_you_mean(list(near))} "
        f"There are: {listed}{more}. {SEARCH} describes them."
    )


def search_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Find tools: git status`."""
    return f"Find tools: {given.get('query', '')}"


def call_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Call mcp__git__git_status`."""
    return f"Call {given.get('tool', '')}"


def server_tool(found: ServerTool) -> Tool:
    """Make a built-in tool of a server's tool; only the server checks its input."""

    async def run(ctx: ToolContext, call_id: str, /, **given: Any) -> ToolOutput:
        answer = await _servers(ctx).call(found, given, lambda text: ctx.progress(call_id, text))
        return _output(ctx, call_id, answer)

    def title(given: Mapping[str, Any]) -> str:
        values = ", ".join(f"{name}: {value}" for name, value in given.items())
        text = safe_line(replace_surrogates(f"{found.server} {found.tool}({values})"))
        return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"

    schema = ToolSchema(found.name, found.description[:DESCRIPTION], found.parameters)
    server = ToolServer(found.server, found.reads, found.interacts, found.shadows)
    traits = Traits("run", server=server)
    return Tool(schema, run, traits, title, foreign=True)


def _servers(ctx: ToolContext) -> Servers:
    servers = ctx.service(Servers)
    if servers is None:
        raise ToolError("No MCP servers are configured here.")
    return servers


def _described(tool: ServerTool) -> str:
    text = tool.description.strip()
    text = text if len(text) <= DESCRIPTION else f"{text[:DESCRIPTION]}…"
    return replace_surrogates(f"{tool.name}: {text}\nParameters: {dumps(dict(tool.parameters))}")


def _output(ctx: ToolContext, call_id: str, answer: ServerAnswer) -> ToolOutput:
    """Return the answer as text and images; other data goes to files mentioned in the text."""
    lines: list[str] = []
    images: list[Image] = []
    for number, content in enumerate(answer.contents, 1):
        if (image := image_of(content)) is not None:
            images.append(image)
        elif content.kind == "link":
            lines.append(f"[resource {content.name}: {content.uri}]")
        elif content.kind == "text":
            lines.append(content.text)
        else:
            lines.append(kept_data(ctx.keep_output, f"{call_id}-{number}", content))
    texts = [content.text for content in answer.contents if content.kind == "text"]
    if answer.structured is not None and not _is_said(answer.structured, texts):
        lines.append(dumps(answer.structured))
    return _cut(ctx, call_id, "\n".join(lines), images, failed=answer.failed)


def _is_said(structured: Any, texts: Sequence[str]) -> bool:
    """Return True if the texts contain every value of the structure, as most servers repeat it there.

    Each value is searched near the previous one. A structure with many values elsewhere counts as missing: searching
    the whole text for each of them would take minutes.
    """
    said, at, far = "\n".join(texts), 0, 0
    for value in _values(structured):
        forms = dict.fromkeys((value, dumps(value)[1:-1], json.dumps(value)[1:-1]))
        end = _end_of(forms, said, max(0, at - _NEAR), at + _NEAR)
        if end < 0:
            far += 1
            end = _end_of(forms, said, 0, len(said)) if far <= _FAR else -1
        if end < 0:
            return False
        at = end
    return bool(said.strip())


def _end_of(forms: Collection[str], said: str, start: int, stop: int) -> int:
    """Return the end of the first match, beginning from `start` to `stop`, of any of the forms; -1 if there is none."""
    return next((at + len(form) for form in forms if (at := said.find(form, start, stop + len(form))) >= 0), -1)


def _values(structured: Any) -> Iterator[str]:
    """Yield the texts and numbers of a structure as a text would have them."""
    match structured:
        case dict():
            yield from chain.from_iterable(map(_values, structured.values()))
        case list():
            yield from chain.from_iterable(map(_values, structured))
        case str():
            yield structured
        case bool() | int() | float():
            yield dumps(structured)
        case _:
            pass


def _cut(ctx: ToolContext, call_id: str, text: str, images: Sequence[Image], *, failed: bool) -> ToolOutput:
    from agentcli.core.text.truncate import truncate_bytes
    from agentcli.tools.lib.truncate import whereabouts

    text = replace_surrogates(text) or ("" if images else NO_OUTPUT)
    text = text or f"({len(images)} image{'s' if len(images) > 1 else ''})"
    size, most, file = len(text.encode("utf-8", "replace")), ctx.limits.bash_output, ""
    if size > most:
        file = ctx.keep_output(call_id, text)
        text = truncate_bytes(
            text, most, f"{size - most:,} of {size:,} bytes left out here{whereabouts(file, call_id)}"
        )
    return ToolOutput(
        text, status="error" if failed else "success", truncated=bool(file), output_file=file, images=tuple(images)
    )


def image_of(content: Content) -> Image | None:
    """Return the image in a part of an answer, if models accept its type, judged by its first bytes, and it is
    complete.
    """
    from agentcli.core.images import ENDINGS, IMAGE_BYTES, damage_of, mime_of

    if content.kind not in ("image", "blob") or len(content.data) * 3 // 4 > IMAGE_BYTES:
        return None
    try:
        mime = mime_of(base64.b64decode(content.data[:32]))
    except (binascii.Error, ValueError):
        return None
    return Image(mime, content.data) if mime in ENDINGS and not damage_of(content.data) else None


def kept_data(keep: KeepFile, name: str, content: Content) -> str:
    """Return a line that replaces data that no model accepts, with the file that contains the data."""
    about = safe_line(" ".join(filter(None, [content.kind, content.mime, content.uri])))
    try:
        data = base64.b64decode(content.data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{about}: left out, since it is no valid base64]"
    if len(data) > DATA_BYTES:
        return f"[{about}: left out, since its {len(data):,} bytes are more than the {DATA_BYTES:,} that are kept]"
    file = keep(name, data, _ending(content.mime))
    return f"[{about}: {len(data):,} bytes, {f'in {file}' if file else 'not kept: this session is not stored'}]"


def _ending(mime: str) -> str:
    """Return the file extension for this type, from the type alone: names from a server are not trusted."""
    import mimetypes

    ending = mimetypes.guess_extension(mime.partition(";")[0].strip().lower()) or ""
    return ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) and ending != ".txt" else ".bin"


__all__ = [
    "CALL",
    "SEARCH",
    "call_title",
    "image_of",
    "kept_data",
    "mcp_call",
    "mcp_search",
    "search_title",
    "server_tool",
]


MCP_SEARCH = Entry("mcp_search", mcp_search, search_title, Traits("none", behaviour=Behaviour(gate=True)))
MCP_CALL = Entry("mcp_call", mcp_call, call_title, Traits("run", behaviour=Behaviour(gate=True)))
