"""A command to start inside a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Boxed:
    """The argv to start, and the contents of further descriptors: `files` by their numbers, of at most 60 KB each."""

    argv: Sequence[str]
    files: Mapping[int, bytes] = field(default_factory=dict)
