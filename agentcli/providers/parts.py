"""Parts of a request that a server may refuse: images, tools, outputs of tools.

Each can be found in the request's body, and omitted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.mcp_servers import PREFIX
from agentcli.core.message import Image, Part, Text, ToolResult
from agentcli.core.model import Request, RequestMessage

URL_SAFE = str.maketrans("+/", "-_")
"""Base64 as Google's wire has it."""


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part of a request: an image by its content, a tool by its name, an output by its call.

    `title` is its name for people.
    """

    kind: Literal["image", "tool", "output"]
    key: int | str
    title: str = field(default="", compare=False)


def image_part(image: Image) -> NamedPart:
    """Return the image as a part; equal images are one part."""
    return NamedPart("image", hash(image.data), f"the image {image.path}" if image.path else "an image")


def images_of(request: Request) -> list[tuple[int, Image]]:
    """Return the images of a request, oldest first, each with the number of its message."""
    return [(number, image) for number, message in enumerate(request.messages) for image in images_in(message)]


def named_parts(answer: str, request: Request, body: Any) -> set[NamedPart]:
    """Return the parts that a refusal identifies by a place in the body or a tool's name."""
    from agentcli.providers.refusals import places, tools_named

    names = [tool.name for tool in (*request.tools, *request.deferred)]
    found = {_tool(name) for name in tools_named(answer, names)}
    for steps in places(answer):
        if steps[0] != "system":
            found |= _at(steps, request, body, names)
    return found


def without_parts(request: Request, parts: Collection[NamedPart]) -> Request:
    """Return the request without these parts.

    A note for the model replaces each; for tools, it is at the end of the system prompt.
    """
    if not parts:
        return request
    tools = sorted(str(part.key) for part in parts if part.kind == "tool")
    messages = tuple(_without(message, parts) for message in request.messages)
    if not tools:
        return replace(request, messages=messages)
    kept, deferred = (
        tuple(tool for tool in each if tool.name not in tools) for each in (request.tools, request.deferred)
    )
    note = f"Not available now, because the provider refused their definitions: {', '.join(tools)}."
    return replace(request, messages=messages, tools=kept, deferred=deferred, system=(*request.system, note))


def oversized(messages: Iterable[RequestMessage], kind: str) -> set[NamedPart]:
    """Return the images of these messages that are larger than the provider takes."""
    if not (images := [image for message in messages for image in images_in(message)]):
        return set()
    from agentcli.core.images import LIMITS, excess

    limits = LIMITS.get(kind)
    return {image_part(image) for image in images if limits is not None and excess(image.data, limits)}


def guesses(request: Request, proven: Collection[NamedPart]) -> Iterator[set[NamedPart]]:
    """Yield guesses which images to omit if a refusal is about images but identifies none.

    Images in answered requests are innocent. First come images with a broken format, then only the newest. Two, four
    and so on before it follow, finally all.
    """
    from agentcli.core.images import damage_of

    parts = {image_part(image): image for _, image in images_of(request)}
    unproven = [part for part in reversed(parts) if part not in proven]
    broken = {part for part in unproven if damage_of(parts[part].data)}
    if broken:
        yield broken
    size, at = 1, 0
    while at < len(unproven):
        yield {*unproven[at : at + size]}
        at, size = at + size, max(1, at + size)
    if unproven and len(unproven) > 1:
        yield {*unproven}
    yield from too_many(request)


def unanswered(request: Request, proven: Collection[NamedPart]) -> Iterator[set[NamedPart]]:
    """Yield the images that were never answered, for a refusal without details, as some APIs give for images."""
    found = {image_part(image) for _, image in images_of(request)} - {*proven}
    if found:
        yield found


def too_many(request: Request) -> Iterator[set[NamedPart]]:
    """Yield the images to omit from a request that is too large: all except the newest message's, then all."""
    images = images_of(request)
    newest = images[-1][0] if images else 0
    old = {image_part(image) for number, image in images if number < newest}
    if old:
        yield old
    if images:
        yield {image_part(image) for _, image in images}


def images_in(message: RequestMessage) -> Iterator[Image]:
    """Yield the images of a message and of its tool results."""
    for part in message.parts:
        match part:
            case Image():
                yield part
            case ToolResult():
                yield from part.images
            case _:
                pass


def _tool(name: str) -> NamedPart:
    server, _, tool = name.removeprefix(PREFIX).partition("__") if name.startswith(PREFIX) else ("", "", "")
    return NamedPart("tool", name, f"the tool {tool} of the MCP server {server}" if tool else f"the tool {name}")


def _at(steps: Sequence[str], request: Request, body: Any, names: Collection[str]) -> set[NamedPart]:
    """Return the parts at a place in the body.

    They are the deepest value on the way that is a part, or the images in it.
    """
    from agentcli.providers.refusals import nodes

    images = {image_part(image): image.data for _, image in images_of(request)}
    results = [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]
    for value in nodes(body, steps):
        if isinstance(value, list) or (isinstance(value, Mapping) and "role" in value and not _is_result(value)):
            return set()
        texts = [*_texts(value)]
        if held := {part for part, data in images.items() if any(_carries(text, data) for text in texts)}:
            return held
        if isinstance(value, Mapping) and steps[0] == "tools" and (name := _name(value)) in names:
            return {_tool(name)}
        if _is_result(value) and (output := next((each for each in results if _answers(each, texts)), None)):
            return {NamedPart("output", output.call_id, f"the output of {output.name}")}
    return set()


def _name(tool: Mapping[str, Any]) -> str:
    inner = tool.get("function")
    return str((inner if isinstance(inner, Mapping) else tool).get("name"))


def _is_result(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        str(value.get("type")).endswith(("tool_result", "call_output")) or value.get("role") == "tool" or "functionResponse" in value
    )  # fmt: skip


def _answers(result: ToolResult, texts: Collection[str]) -> bool:
    return result.call_id in texts and bool(result.output)


def _carries(text: str, data: str) -> bool:
    """Return True if a text of the body is an image's data, or a data URL with it."""
    if not data or len(text) < len(data):
        return text == data
    return text.endswith((data, data.translate(URL_SAFE)))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            return


def _without(message: RequestMessage, parts: Collection[NamedPart]) -> RequestMessage:
    changed = tuple(_bare(part, parts) for part in message.parts)
    same = all(new is old for new, old in zip(changed, message.parts, strict=True))
    return message if same else replace(message, parts=changed)


def _bare(part: Part | ToolResult, parts: Collection[NamedPart]) -> Part | ToolResult:
    match part:
        case Image() if image_part(part) in parts:
            return Text(_left_out(part))
        case ToolResult():
            return _bare_result(part, parts)
        case _:
            return part


def _bare_result(result: ToolResult, parts: Collection[NamedPart]) -> ToolResult:
    if NamedPart("output", result.call_id) in parts:
        result = replace(result, output="[The output was left out: the provider refused it.]")
    gone = [image for image in result.images if image_part(image) in parts]
    if not gone:
        return result
    notes = "\n".join(map(_left_out, gone))
    kept = tuple(image for image in result.images if image not in gone)
    return replace(result, output=f"{result.output}\n{notes}".lstrip("\n"), images=kept)


def _left_out(image: Image) -> str:
    name = f"The image {image.path}" if image.path else "An image"
    return f"[{name} was left out: the provider did not take it. If it matters, look at the file with bash, or make a smaller or a valid copy.]"
