"""Names of optional fields in refusals of OpenAI's API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "stream_options": r"stream_options\S*|include_usage",
        "max_tokens": r"'?max_tokens'?.*max_completion_tokens|\bmax_tokens\b.*(unsupported|not supported|unknown|unrecogni[sz]ed)",
        "call_ids": r"(tool[_ ]?call[_ ]?ids?|call_ids?|tool_calls\S*\.id\b).*(length|alphanumeric|a-z|pattern|too long)",
        "compaction": r"\bcompaction\b.*",
        "summaries": r"reasoning[._]summary|reasoning summar(y|ies)",
        "thoughts": r"reasoning_content|reasoning_details|messages\S*\breasoning\b",
        "effort": r"reasoning[_.]effort|\beffort\b",
        "thinking": r"\breasoning\b|\bthinking\b|encrypted[ _]content is not supported",
        "cache": r"prompt_cache_\w+|cache_control",
        "result_images": r"(function_call_output|tool (message|result|output)s?|role\W+tool)\b.*\b(input_image|image_url|images?)\b"
        r"|\b(input_image|image_url|images?)\b.*(function_call_output|tool (message|result|output)s?|role\W+tool)\b",
        "images": r"\b(images?|image_url|input_image|vision|multimodal)\b.*(support|accept|allow|permitted|unknown|unexpected|expected|enabled|not)"
        r"|(support|accept|allow|unknown|unexpected|vision|not)\b.*\b(images?|image_url|input_image)\b",
    }
)
"""A pattern of each capability, in lower case; the specific ones first."""
