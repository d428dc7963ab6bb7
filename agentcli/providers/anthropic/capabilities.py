"""Names of optional fields in refusals of the Messages API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentcli.providers.refusals import Wording

FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "deferred_tools": Wording(r"defer_loading|tool[_ ]references?"),
        "compaction": Wording(r"compact[_-][\w-]*\d|compaction"),
        "context_editing": Wording(
            r"context[_-]management[\w.-]*|clear_(?:tool_uses|thinking)_\d+",
            r"[\"'`]?clear_(?:tool_uses|thinking)_\d+[\"'`]? does not match",
        ),
        "effort": Wording(r"output_config(?:\.effort)?|effort"),
        "thinking": Wording(
            r"(?:(?:adaptive|extended|interleaved) )?thinking(?:\.type)?(?:\.(?:enabled|adaptive))?(?:\.budget_tokens)?"
            r"|budget_tokens|interleaved-thinking[\w-]*"
        ),
        "cache": Wording(r"cache_control|ephemeral"),
        "system_messages": Wording(
            r"system messages?|roles?:? ['\"`]?system['\"`]?", r"\brole: input should be 'user' or 'assistant'"
        ),
        "result_images": Wording(
            r"images? in tool[_ ]results?", r"tool_result[\w.]*:? images?(?: blocks?)? (?:is|are) not (?:supported|permitted)"
        ),
        "images": Wording(r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?|urls?))?", r"at most 0 images?\b|is not a multimodal model"),
    }
)  # fmt: skip
"""The wordings of each capability; the specific ones first."""
