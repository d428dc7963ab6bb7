"""Skills, slash commands, kinds of agents, and the plugins that bring them."""

PLUGINS_FILE = "plugins.json"
"""The file in the state folder that lists the plugins with the hashes of their files."""
