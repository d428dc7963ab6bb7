"""The registry of slash commands of the whole program."""

from agentcli.frontends.commands.registry import slash_commands
from agentcli.frontends.features import FEATURES

COMMANDS = slash_commands(FEATURES)
