"""Sandboxes for commands: limits on writing, reading and the network."""

from agentcli.sandbox.box import Box, box_for
from agentcli.sandbox.choose import Sandbox, Setting, choose, detect

__all__ = ["Box", "Sandbox", "Setting", "box_for", "choose", "detect"]
