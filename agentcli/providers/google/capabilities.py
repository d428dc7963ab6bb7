"""Names of optional fields in refusals of the Gemini API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "effort": r"thinking[_ ]?level|\beffort\b",
        "thinking": r"thinking[_ ]?(config|budget)?|include[_ ]?thoughts",
        "result_images": r"function[_ ]?responses?\b.*\b(parts|inline_?data|images?|multimodal)\b"
        r"|\b(parts|inline_?data|images?|multimodal)\b.*function[_ ]?responses?",
        "images": r"\b(images?|inline_?data)\b.*(support|accept|allow|permitted|unknown|unexpected|vision)"
        r"|(support|accept|allow|unknown|unexpected|vision).*\b(images?|inline_?data)\b",
    }
)
"""A pattern of each capability, in lower case; the specific ones first."""
