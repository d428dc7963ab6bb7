"""Configuration of other programs, with one module for each."""

from collections.abc import Mapping
from pathlib import Path

from agentcli.system import probe

HOMES: Mapping[str, tuple[str, str, str]] = {
    "claude": ("Claude Code", "CLAUDE_CONFIG_DIR", ".claude"),
    "gemini": ("Gemini CLI", "", ".gemini"),
    "antigravity": ("Antigravity", "", ".gemini"),
    "codex": ("Codex", "CODEX_HOME", ".codex"),
    "opencode": ("opencode", "", ".config/opencode"),
    "pi": ("pi", "PI_CODING_AGENT_DIR", ".pi/agent"),
    "copilot": ("Copilot CLI", "COPILOT_HOME", ".copilot"),
}
"""Programs by their module: the name for people, the variable with the folder, and the folder in the home."""
PROGRAMS = tuple(HOMES)
"""Names of the programs and of their modules."""


def home_of(name: str, home: Path, env: Mapping[str, str]) -> Path:
    """Return the folder of a program's configuration, which may not exist."""
    _, variable, usual = HOMES[name]
    if name == "opencode" and (config := env.get("XDG_CONFIG_HOME")):
        return Path(config) / "opencode"
    return Path(env.get(variable) or home / usual)


def present(home: Path, env: Mapping[str, str]) -> list[str]:
    """Return the programs whose folder exists; nothing in it is read."""
    return [name for name in HOMES if probe.is_dir(home_of(name, home, env))]
