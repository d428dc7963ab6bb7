"""Families of models in one table: for each, what differs in its tools, its system prompt and its reading of files.

A family is what a model was trained on, whatever server it is reached through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from agentcli.core.dataclass import dataclass

LineNumbers = Literal["ranges", "always", "never"]
"""Lines of a file that are read with their numbers: a range requested by its first line, all lines, or none."""


@dataclass(frozen=True, slots=True)
class Family:
    """Particulars of the models whose id matches `ids`, or whose provider is of a kind in `kinds`."""

    name: str
    ids: str = ""
    kinds: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    """A tool that is offered to this family alone, and the tool whose place it takes."""
    without: tuple[str, ...] = ()
    """Tools that are not offered to it: it was trained on another one for the same work, and may send several calls of that in a reply."""
    freeform: str = ""
    """The ids of the models that write the text of a tool without JSON, held to its grammar, if the wire has that."""
    prompt: str = ""
    """The page of `prompts` that is added to the system prompt."""
    line_numbers: LineNumbers = "ranges"

    def has(self, kind: str, model: str) -> bool:
        """Return True for a model of this family."""
        return kind in self.kinds or bool(self.ids and re.search(self.ids, model, re.IGNORECASE))


OTHER = Family("other")
FAMILIES: tuple[Family, ...] = (
    Family("Claude", r"claude|anthropic"),
    # Numbers of lines add 42 % of tokens for Gemini, which needs a token for each digit.
    Family(
        "Gemini",
        r"gemini|gemma",
        ("google",),
        without=("multi_edit",),
        prompt="system-gemini.md",
        line_numbers="never",
    ),
    # 296 of 296 recorded changes to files by GPT models were patches; other families fail with them in half of the cases.
    Family(
        "GPT",
        r"\bgpt\b|codex|\bo[1-9]\b|chatgpt",
        instead={"apply_patch": "multi_edit"},
        freeform=r"^(?!.*oss).*(?:\bgpt-?(?:[5-9]|\d\d)|codex)",
        prompt="system-gpt.md",
    ),
)
_OWN_TOOLS: Mapping[str, Family] = {tool: family for family in FAMILIES for tool in family.instead}


def family_of(kind: str, model: str) -> Family:
    """Return the family of a model by its provider's kind and its id."""
    return next((family for family in FAMILIES if family.has(kind, model)), OTHER)


def offers(family: Family, tool: str, available: frozenset[str]) -> bool:
    """Return True if a tool of the available ones is offered to a family."""
    if tool in family.without:
        return False
    if tool in _OWN_TOOLS:
        return tool in family.instead
    return all(left != tool or own not in available for own, left in family.instead.items())
