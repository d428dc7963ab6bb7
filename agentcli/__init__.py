"""agentcli, a coding agent for the terminal whose context engine never forgets what matters."""

__version__ = "0.1.0"
