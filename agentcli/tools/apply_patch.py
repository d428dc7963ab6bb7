"""The apply_patch tool: one patch that adds, changes, moves and deletes files, all or nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Annotated, Any

from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

_NAMED = 3
"""Maximum files that a title lists."""


_FORMAT = (
    "Between `*** Begin Patch` and `*** End Patch` stand sections: `*** Add File: path` with lines that begin with +, "
    "`*** Delete File: path`, or `*** Update File: path`, perhaps `*** Move to: path`, and hunks: @@, then lines that "
    "begin with a space (context), - or +."
)
"""Describes the format for models that do not get the grammar."""


async def apply_patch(ctx: ToolContext, call_id: str, input: Annotated[str, _FORMAT]) -> ToolOutput:
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
file: "*** Add File: " TEXT NL ("+" TEXT? NL)+ | "*** Delete File: " TEXT NL | "*** Update File: " TEXT NL ("*** Move to: " TEXT NL)? (hunk+ ("*** End of File" NL)?)?
hunk: ("@@" (" " TEXT)? | /[-+ ]/ TEXT?) NL
TEXT: /[^\r\n]+/
NL: /\n/
"""
"""The format as a Lark grammar, with which a provider can constrain the model. Each character is in every request."""
APPLY_PATCH = Entry(
    "apply_patch",
    apply_patch,
    title,
    Traits("write", Subject("input", "patch")),
    preview,
    grammar=_GRAMMAR,
)
