"""The registry of slash commands of the whole program."""

from agentcli.app.features import FEATURES
from agentcli.ui.commands.registry import slash_commands

COMMANDS = slash_commands(FEATURES)
