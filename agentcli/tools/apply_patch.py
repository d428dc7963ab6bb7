"""The apply_patch tool: one patch that adds, changes, moves and deletes files, all or nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

_NAMED = 3
"""Maximum files that a title lists."""


async def apply_patch(ctx: ToolContext, call_id: str, input: str) -> ToolOutput:
    from agentcli.tools.lib.patching import apply

    return await asyncio.to_thread(apply, ctx, input)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Edit a.py, b.py`."""
    from agentcli.core.text.patch import PatchError, touched

    paths: tuple[str, ...] = ()
    text = given.get("input")
    with contextlib.suppress(PatchError):
        paths = touched(text) if isinstance(text, str) else ()
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"Edit {', '.join(paths[:_NAMED])}{more}" if paths else ""


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of all files of a patch, for approval. Raises ToolError if the patch is impossible."""
    from agentcli.tools.lib.patching import diff_of

    return diff_of(ctx, given["input"])


_GRAMMAR = r"""start: "*** Begin Patch" NL file+ "*** End Patch" NL?
file: added | deleted | updated
added: "*** Add File: " TEXT NL ("+" TEXT? NL)+
deleted: "*** Delete File: " TEXT NL
updated: "*** Update File: " TEXT NL moved? hunks?
moved: "*** Move to: " TEXT NL
hunks: (place | changed)+ ("*** End of File" NL)?
place: "@@" (" " TEXT)? NL
changed: /[-+ ]/ TEXT? NL
TEXT: /[^\r\n]+/
NL: /\n/
"""
"""The format as a Lark grammar, with which a provider can constrain the model."""
APPLY_PATCH = Entry(
    "apply_patch",
    apply_patch,
    title,
    Traits("write", Subject("input", "patch")),
    preview,
    grammar=_GRAMMAR,
)
