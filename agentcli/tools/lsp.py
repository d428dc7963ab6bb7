"""The lsp tool: queries to a file's language server, and renames by it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry

Operation = Literal["definition", "references", "hover", "symbols", "rename"]


class LanguageServers(ABC):
    """The service that asks language servers."""

    @abstractmethod
    async def ask(
        self, call_id: str, operation: Operation, file_path: str, line: int, symbol: str, new_name: str
    ) -> ToolOutput:
        """Answer a query about a symbol in a line of a file, or rename it."""


async def lsp(
    ctx: ToolContext,
    call_id: str,
    operation: Operation,
    file_path: str,
    line: int = 0,
    symbol: Annotated[str, "The name as it stands in that line"] = "",
    new_name: str = "",
) -> ToolOutput:
    from agentcli.tools.lib.paths import locate

    servers = ctx.service(LanguageServers)
    if servers is None:
        raise ToolError("Language servers are off here. Use grep and read.")
    if operation != "symbols" and (line < 1 or not symbol):
        raise ToolError(f"{operation} needs line and symbol.")
    if operation == "rename" and not new_name:
        raise ToolError("rename needs new_name.")
    target = locate(ctx, file_path)
    return await servers.ask(call_id, operation, str(target.path), line, symbol, new_name)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Find references of total`."""
    symbol, file = given.get("symbol", ""), given.get("file_path", "")
    match given.get("operation"):
        case "symbols":
            return f"List symbols of {file}"
        case "rename":
            return f"Rename {symbol} to {given.get('new_name', '')}"
        case operation:
            return f"Find {operation} of {symbol}"


LSP = Entry("lsp", lsp, title, Traits("read", Subject("file_path", "file"), Behaviour(dispensable=True)))
