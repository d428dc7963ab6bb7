"""Definitions of MCP servers in the format of Gemini CLI: comments are allowed, and `$VAR` is a variable like `${VAR}`."""

from __future__ import annotations

import json
import re
from typing import Any

from agentcli.core.text.json_comments import without_comments

_VARIABLE = re.compile(r"\$\{[^}]*\}|\$([A-Za-z_][A-Za-z0-9_]*)")


def read_gemini(text: str) -> Any:
    """Return the value of a file of Gemini CLI, with variables as in other files. Raise ValueError if it is broken."""
    return with_braces(json.loads(without_comments(text)))


def with_braces(value: Any) -> Any:
    """Return the value with `$VAR` written as `${VAR:-$VAR}`, which stays unchanged if the variable is not set."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: f"${{{found[1]}:-{found[0]}}}" if found[1] else found[0], value)
        case list():
            return [with_braces(item) for item in value]
        case dict():
            return {key: with_braces(item) for key, item in value.items()}
        case _:
            return value
