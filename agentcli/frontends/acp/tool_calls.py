"""Tool calls as the protocol describes them: kind, locations, content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    ImageContentBlock,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.tool import Effect, Traits
from agentcli.frontends.acp.diffs import FileText, patched
from agentcli.system.resolve import spelled

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
_KINDS: Mapping[Effect, ToolKind] = {"read": "read", "write": "edit", "run": "execute", "network": "fetch"}
_VERBATIM: frozenset[ToolKind] = frozenset({"read", "search", "execute"})
"""Kinds whose output is not Markdown, so it is sent in a fence."""


def kind_of(traits: Traits) -> ToolKind:
    """Return the protocol's kind of a tool, by which editors choose an icon."""
    if traits.behaviour.presents_plan:
        return "switch_mode"
    if traits.behaviour.delegates:
        return "think"
    if traits.searches or traits.behaviour.recalls:
        return "search"
    if traits.effect == "run" and not traits.subject.field:
        return "other"
    return _KINDS.get(traits.effect, "other")


def traits_of(call: ToolCall, tools: Mapping[str, Traits]) -> Traits:
    """Return the traits of the called tool; empty traits for a subagent's or the program's own tool."""
    return tools.get(call.name, Traits("none"))


def path_of(call: ToolCall, traits: Traits, cwd: Path) -> Path | None:
    """Return the file or folder that a call is about, or None."""
    given = traits.subject.of(call.input) if traits.effect in ("read", "write") else None
    return Path(spelled(cwd, given)) if isinstance(given, str) and given and "\0" not in given else None


def locations_of(call: ToolCall, traits: Traits, cwd: Path) -> list[ToolCallLocation]:
    """Return the place where an editor may follow the agent."""
    path = path_of(call, traits, cwd)
    offset = call.input.get("offset")
    line = offset if isinstance(offset, int) and traits.reads_files and offset > 0 else None
    return [ToolCallLocation(path=str(path), line=line)] if path else []


def text_content(text: str, kind: ToolKind = "other") -> Content:
    """Return text as content of a call."""
    text = replace_surrogates(text)
    shown = fenced(text) if kind in _VERBATIM and text else text
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=shown))


def diff_content(path: Path, before: FileText, after: FileText) -> Content | None:
    """Return an edit as content of a call; None if the texts are not available, or equal."""
    if not (before.usable and after.usable) or after.text is None or before.text == after.text:
        return None
    return FileEditToolCallContent(type="diff", path=str(path), old_text=before.text, new_text=after.text)


def proposed_content(path: Path, before: FileText, preview: str) -> Content:
    """Return a proposed edit as content, by its unified diff."""
    text = patched(before.text or "", preview) if before.usable else None
    proposed = diff_content(path, before, FileText(text)) if text is not None else None
    return proposed or text_content(fenced(preview, "diff"))


def result_content(result: ToolResult, kind: ToolKind) -> list[Content]:
    """Return the output of a finished call."""
    pictures: list[Content] = [
        ContentToolCallContent(
            type="content", content=ImageContentBlock(type="image", data=image.data, mime_type=image.mime)
        )
        for image in result.images
    ]
    ran = result.status == "success" or (kind == "execute" and result.status != "denied")
    verbatim: ToolKind = kind if ran else "other"
    return [*([text_content(result.output, verbatim)] if result.output else []), *pictures]


def raw_input(value: Any) -> Any:
    """Return a call's input as JSON for any reader: without halves of surrogate pairs, which a model may write."""
    match value:
        case str():
            return replace_surrogates(value)
        case Mapping():
            return {replace_surrogates(str(key)): raw_input(inner) for key, inner in value.items()}
        case list() | tuple():
            return [raw_input(inner) for inner in value]
        case _:
            return value


def fenced(text: str, language: str = "") -> str:
    """Return the text as a Markdown code block, with a fence longer than any in it."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
