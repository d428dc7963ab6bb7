"""Public API of extensions: one Python file adds tools, slash commands and reactions to events.

`agentcli help extensions` explains it with examples. Names that are not listed in `__all__` may change at any time.
"""

from __future__ import annotations

from agentcli.core.costs import money
from agentcli.core.errors import AgentError
from agentcli.core.message import Usage
from agentcli.core.model import Source
from agentcli.extension.events import (
    EVENTS,
    Changed,
    Compaction,
    Decision,
    FileChanged,
    Idle,
    Prompt,
    Reply,
    Request,
    SessionEnd,
    SessionStart,
    Status,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from agentcli.extension.marks import around_turn, command, on, search_engine, settings
from agentcli.extension.values import Answer, Cause, Completed, Context, Ended, Fetched, Said, Turn, TurnCost, Ui
from agentcli.tools.function_tool import tool

__all__ = [
    "API",
    "EVENTS",
    "AgentError",
    "Answer",
    "Cause",
    "Changed",
    "Compaction",
    "Completed",
    "Context",
    "Decision",
    "Ended",
    "Fetched",
    "FileChanged",
    "Idle",
    "Prompt",
    "Reply",
    "Request",
    "Said",
    "SessionEnd",
    "SessionStart",
    "Source",
    "Status",
    "ToolCall",
    "ToolResult",
    "Turn",
    "TurnCost",
    "TurnEnd",
    "Ui",
    "Usage",
    "around_turn",
    "command",
    "money",
    "on",
    "search_engine",
    "settings",
    "tool",
]

API = 1
"""Version of this module. A change that breaks an extension raises it."""
