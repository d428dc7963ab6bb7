"""Definitions in a project that start a program or connect to an address: a person must approve each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line

Kind = Literal["hook", "server", "plugin", "check", "extension"]


@dataclass(frozen=True, slots=True)
class Definition:
    """One hook, server, plugin, check or extension in a file of the project.

    `content` is the file's JSON value, with variables not expanded. `starts` is the exact command line or URL.
    """

    kind: Kind
    name: str
    file: str
    """Name of the defining file, for people: `.mcp.json`."""
    starts: str
    content: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of name and content: any change gives a different one."""
        text = json.dumps([self.name, self.content], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __str__(self) -> str:
        return safe_line(f"{self.kind} {self.name} of {self.file}")
