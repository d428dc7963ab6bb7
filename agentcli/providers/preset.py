"""Presets: providers that can be used by name without configuration, though their wire format is another's."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """A server of a known program or service.

    `key_variable` is the environment variable of its key, empty for a server on this machine; `start` is the command
    that starts such a server.
    """

    name: str
    title: str
    base_url: str
    key_variable: str = ""
    start: str = ""

    @property
    def is_local(self) -> bool:
        """True for a server that the user runs on this machine."""
        return bool(self.start)
