"""Names of optional fields in refusals of OpenAI's API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentcli.providers.refusals import Wording

FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "stream_options": Wording(r"stream_options(?:\.include_usage)?|include_usage"),
        "max_tokens": Wording(r"max_tokens", r"max_tokens\b.{0,80}\buse ['\"`]?max_completion_tokens"),
        "call_ids": Wording(
            r"tool[_ ]?call[_ ]?ids?|call_ids?", r"(?:tool[_ ]?call[_ ]?ids?|call_ids?)\b.{0,80}\b(?:length of 9|a-z, a-z, 0-9)"
        ),
        "compaction": Wording(r"compaction"),
        "summaries": Wording(
            r"reasoning[._]summary|reasoning summar(?:y|ies)", r"must be verified to generate reasoning summar"
        ),
        "thoughts": Wording(r"reasoning_content|reasoning_details"),
        "effort": Wording(r"reasoning[_.]effort|(?:reasoning )?effort"),
        "thinking": Wording(r"reasoning(?:\.encrypted_content)?|thinking|encrypted[ _]content"),
        "cache": Wording(r"prompt_cache_\w+|cache_control"),
        "result_images": Wording(
            r"images? in tool (?:message|result|output)s?",
            r"only allowed for messages with role ['\"`]user['\"`], but this message with role ['\"`]tool",
        ),
        "images": Wording(
            r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?|urls?))?|image_url|input_image",
            r"at most 0 images?\b|is not a multimodal model|no endpoints found that support image",
        ),
    }
)  # fmt: skip
"""The wordings of each capability; the specific ones first."""
