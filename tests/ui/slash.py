"""The registry of slash commands of the whole program."""

from agentcli.app.feature import slash_commands
from agentcli.app.features import FEATURES

COMMANDS = slash_commands(FEATURES)
