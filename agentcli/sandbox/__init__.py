"""A box around commands: what they may write, what they may see, and whether they reach the network."""

from agentcli.sandbox.box import Box, box_for, protected_since
from agentcli.sandbox.choose import Sandbox, Setting, choose, detect

__all__ = ["Box", "Sandbox", "Setting", "box_for", "choose", "detect", "protected_since"]
