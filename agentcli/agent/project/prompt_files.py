"""Skills, slash commands and kinds of subagents as values: definitions in files of a project, its user or a plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from agentcli.agent.project.places import Place
from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line

STEPS = 100
"""Largest number of steps of a subagent."""
_SUMMARY = 120
_NOTED = 3
"""Maximum unusable files to list when a session opens."""
SKILLS = "# Skills"
"""First line of a system prompt's block with the list of skills."""
AGENTS = "# Agents"


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of subagent. `tools` and `denied` are names as in the file; without `tools` it has all tools of its
    parent.

    `prompt` begins its system text; `model` is a model, an alias, or empty for the configured one.
    """

    name: str
    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    max_steps: int = 0
    skills: tuple[str, ...] = ()
    background: bool = False
    worktree: bool = False
    file: Path | None = None
    place: Place | None = None
    only_looks: bool = False
    """True if it has only tools that read."""


BUILT_IN: Mapping[str, AgentKind] = {
    "general": AgentKind("general", "Has all tools."),
    "explore": AgentKind("explore", "Only reads.", only_looks=True),
}


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill from its front matter. `allowed` and `denied` are rules as in the file."""

    name: str
    description: str
    file: Path
    place: Place
    hint: str = ""
    names: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    agent: str = ""
    forks: bool = False
    for_model: bool = True
    for_person: bool = True

    @property
    def folder(self) -> Path:
        """The folder of the skill."""
        return self.file.parent


@dataclass(frozen=True, slots=True)
class Template:
    """A slash command defined in a file. Its text is read at each use. `allowed` are rules as in the file."""

    name: str
    description: str
    file: Path
    place: Place
    hint: str = ""
    allowed: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    agent: str = ""
    forks: bool = False

    @property
    def summary(self) -> str:
        """Its description in one line."""
        line = safe_line(" ".join(self.description.split()))
        return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """All prompt files found, sorted by name; `notes` describe the problems of others."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    commands: Mapping[str, Template] = field(default_factory=dict)
    agents: Mapping[str, AgentKind] = field(default_factory=dict)
    shadowed: tuple[Skill | Template | AgentKind, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> list[str]:
        """Notes about unusable files, the first few of them."""
        notes = [note for note in self.notes if note.endswith("left out.")]
        more = len(notes) - _NOTED
        return [*notes[:_NOTED], *([f"And {more} more: `agentcli doctor` lists them."] if more > 0 else [])]

    @property
    def readable(self) -> tuple[Path, ...]:
        """Folders of the skills, which may be read without asking."""
        return tuple(dict.fromkeys(skill.folder.resolve() for skill in self.skills.values()))


def listing_only(system: Sequence[str], *, skills: bool, agents: bool) -> tuple[str, ...]:
    """Return the blocks of a system prompt, without the list of skills or of agents unless requested."""
    blocks = []
    for block in system:
        if block.startswith((SKILLS, AGENTS)):
            head, _, tail = block.partition(f"{AGENTS}\n")
            parts = [head.rstrip("\n") if skills else "", f"{AGENTS}\n{tail}" if agents and tail else ""]
            block = "\n\n".join(filter(None, parts))
        blocks.append(block)
    return tuple(filter(None, blocks))
