"""Names of optional fields in refusals of the Messages API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "deferred_tools": r"\bdefer_loading\b|\btool[_ ]references?\b",
        "compaction": r"\S*compact_\d+\S*.*|\bcompaction\b.*",
        "context_editing": r"\S*context[_-]management\S*|\S*clear_(tool_uses|thinking)_\d+\S*.*",
        "effort": r"output_config\S*|\beffort\b",
        "thinking": r"\bthinking\b|budget_tokens|interleaved-thinking",
        "cache": r"cache_control|\bephemeral\b",
        "system_messages": r"\broles?\b.*\bsystem\b|\bsystem\b.*\broles?\b|system messages?\b|\brole\b.*\buser\b.*\bassistant\b",
        "result_images": r"tool_result.*\bimages?\b|\bimages?\b.*tool[_ ]results?",
        "images": r"\bimages?\b.*(support|accept|allow|permitted|unknown|unexpected|expected|vision)"
        r"|(support|accept|allow|unknown|unexpected|vision).*\bimages?\b",
    }
)
"""A pattern of each capability, in lower case; the specific ones first."""
