"""Parts of a plugin that other features read: hooks and servers as plain values, unread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PluginHooks:
    """The files of hooks of a plugin, and the tables of hooks in its manifest. `gemini` is true for the format of Gemini CLI."""

    source: str
    """The plugin's name in messages."""
    files: Sequence[Path] = ()
    tables: Sequence[Any] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    gemini: bool = False


@dataclass(frozen=True, slots=True)
class PluginServers:
    """The text that defines the MCP servers of a plugin, its variables filled in; empty if it has none."""

    source: str
    """The plugin's name in messages."""
    text: str = ""
    gemini: bool = False
    """True if the text is in the format of Gemini CLI."""
    problem: str = ""
    """The reason why the text cannot be read."""
