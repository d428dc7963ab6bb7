"""Skills, slash commands, kinds of agents, and the plugins that contain them."""

PLUGINS_FILE = "plugins.json"
"""File in the state folder that lists the plugins with their files' hashes."""
EXTENSIONS = "extensions"
"""Folder of a plugin's extensions in Python."""
