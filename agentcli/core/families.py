"""Families of models in one table: their differences in tools, system prompt and reading of files.

A family is the training of a model, whatever server it is reached through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from agentcli.core.dataclass import dataclass

LineNumbers = Literal["ranges", "always", "never"]
"""When lines of a file are numbered: in ranges requested by first line, always, or never."""


@dataclass(frozen=True, slots=True)
class Family:
    """Properties of the models whose id matches `ids`, or whose provider has a kind in `kinds`."""

    name: str
    ids: str = ""
    kinds: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    """A tool that only this family gets, and the tool that it replaces."""
    without: tuple[str, ...] = ()
    """Tools that it does not get: it was trained on another tool for the same work, and may call that one several times
    in a reply.
    """
    freeform: str = ""
    """Ids of models that write a tool's text without JSON, constrained by its grammar, if the wire format supports
    that.
    """
    prompt: str = ""
    """The page of `prompts` that is added to the system prompt."""
    line_numbers: LineNumbers = "ranges"

    def has(self, kind: str, model: str) -> bool:
        """Return True for a model of this family."""
        return kind in self.kinds or bool(self.ids and re.search(self.ids, model, re.IGNORECASE))


OTHER = Family("other")
FAMILIES: tuple[Family, ...] = (
    Family("Claude", r"claude|anthropic"),
    # Line numbers add 42 % of tokens for Gemini, which needs a token for each digit.
    Family(
        "Gemini",
        r"gemini|gemma",
        ("google",),
        without=("multi_edit",),
        prompt="system-gemini.md",
        line_numbers="never",
    ),
    # In recordings, 296 of 296 file changes by GPT models were patches; other families fail with patches half of the
    # time.
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
    """Return True if a family gets one of the available tools."""
    if tool in family.without:
        return False
    if tool in _OWN_TOOLS:
        return tool in family.instead
    return all(left != tool or own not in available for own, left in family.instead.items())
