"""The compress tool: the model asks for a compaction before its next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


class Compressing(Protocol):
    """The service that compacts the conversation between two steps."""

    def ask(self, focus: str, plan: str = "") -> str:
        """Request a compaction before the next step; return why there will be none, or an empty text.

        `plan` is the id of a call whose result stays verbatim.
        """
        ...


async def compress(
    ctx: ToolContext, call_id: str, focus: Annotated[str, "what the summary must keep"] = ""
) -> ToolOutput:
    compressing = ctx.service(Compressing)
    why = compressing.ask(focus) if compressing is not None else "This session cannot be compacted here."
    if why:
        raise ToolError(why)
    return ToolOutput("The conversation is compacted before your next step.")


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Compress, keep the API decisions`."""
    return f"Compress, keep {given['focus']}" if given.get("focus") else "Compress"


COMPRESS = Entry("compress", compress, title, Traits("none", behaviour=Behaviour(announced=True)))
