"""Parts of a plugin that other features read: hooks and servers as plain values, unread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PluginHooks:
    """Hook files of a plugin, and the hook tables in its manifest. `gemini` is true for Gemini CLI's format."""

    source: str
    """The plugin's name in messages."""
    files: Sequence[Path] = ()
    tables: Sequence[Any] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    gemini: bool = False


@dataclass(frozen=True, slots=True)
class PluginServers:
    """The text that defines a plugin's MCP servers, with variables filled in; empty if it has none."""

    source: str
    """The plugin's name in messages."""
    text: str = ""
    gemini: bool = False
    """True if the text is in the format of Gemini CLI."""
    problem: str = ""
    """The reason why the text cannot be read."""
