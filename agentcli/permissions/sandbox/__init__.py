"""Sandboxes for commands: limits on writing, reading and the network."""

from agentcli.permissions.sandbox.box import Box, box_for
from agentcli.permissions.sandbox.choose import Sandbox, Setting, choose, detect

__all__ = ["Box", "Sandbox", "Setting", "box_for", "choose", "detect"]
