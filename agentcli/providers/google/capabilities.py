"""Names of optional fields in refusals of the Gemini API and of servers with its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentcli.providers.refusals import Wording

FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "effort": Wording(r"thinking[_ ]?level|effort"),
        "thinking": Wording(r"thinking(?:[_ ]?(?:config|budget))?|include[_ ]?thoughts"),
        "result_images": Wording(
            r"(?:multimodal|image)s? (?:in )?function[_ ]?responses?",
            r"unknown name [\"']parts[\"'] at \S*function_?response",
        ),
        "images": Wording(r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?))?|inline_?data"),
    }
)
"""The wordings of each capability; the specific ones first."""
