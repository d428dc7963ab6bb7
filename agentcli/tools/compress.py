"""The compress tool: the model asks for a compaction before its next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Compressing:
    """The service that compacts the conversation between two steps."""

    ask: Callable[[str, str], str]
    """Requests a compaction before the next step; returns why there will be none, or an empty text.

    The arguments are the focus, and the id of a call whose result stays verbatim, or an empty id.
    """


async def compress(
    ctx: ToolContext, call_id: str, focus: Annotated[str, "what the summary must keep"] = ""
) -> ToolOutput:
    compressing = ctx.service(Compressing)
    why = compressing.ask(focus, "") if compressing is not None else "This session cannot be compacted here."
    if why:
        raise ToolError(why)
    return ToolOutput("The conversation is compacted before your next step.")


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Compress, keep the API decisions`."""
    return f"Compress, keep {given['focus']}" if given.get("focus") else "Compress"


COMPRESS = Entry("compress", compress, title, Traits("none", behaviour=Behaviour(announced=True)))
