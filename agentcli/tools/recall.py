"""The recall tool: everything ever in this session, including cleared, summarised or truncated texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from agentcli.core.schema import Unlisted, WireName
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


async def recall(
    ctx: ToolContext,
    call_id: str,
    id: Annotated[str, "of a call or record"] = "",
    pattern: Annotated[
        str, "rare words, other wordings after ` | `, or a regular expression; lower case ignores case"
    ] = "",
    role: Literal["user", "assistant", "input", "output", "summary"] | None = None,
    since: Annotated[int, WireName("from"), "first record"] = 1,
    until: Annotated[int, WireName("to")] = 0,
    offset: Annotated[int, Unlisted()] = 1,
    limit: Annotated[int, Unlisted()] = 0,
) -> ToolOutput:
    from agentcli.tools.lib.session_search import recalled

    return await recalled(ctx, call_id, id, pattern, role or "", since, until, offset, limit)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Recall call_7 "Error"`."""
    pattern = f' "{given["pattern"]}"' if given.get("pattern") else ""
    return f"Recall {given.get('id') or given.get('role') or 'session'}{pattern}"


RECALL = Entry("recall", recall, title, Traits("none", behaviour=Behaviour(recalls=True)))
