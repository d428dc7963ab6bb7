"""`agentcli doctor --from claude`: differences from Claude Code, as our readers of its files find them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from agentcli.agent.delegation.kinds import unknown_tools
from agentcli.agent.project.places import Place
from agentcli.agent.project.prompt_files import AgentKind, Skill, Template
from agentcli.agent.request_builder import keeps_model
from agentcli.core.aliases import own_rule
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.model import ModelSpec
from agentcli.core.sanitise import display_path, safe_line
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, read_json, table
from agentcli.extras.importers.config.import_run import ImportPlan, import_plan
from agentcli.features.hooks.files import DOES, EVENTS, FIELDS
from agentcli.features.hooks.loaded import project_hooks
from agentcli.features.mcp.run import servers_of
from agentcli.frontends.commands.prompt_files import shadowed
from agentcli.frontends.commands.registry import slash_commands
from agentcli.program.feature import tools_of
from agentcli.program.files import CLAUDE_FILES, label, project_files
from agentcli.program.program import Program
from agentcli.program.project_rules import project_rules

PROGRAM = ".claude"
_SHOWN_ONLY = frozenset({"type", "statusMessage"})
"""Fields of a hook that do not change its effect."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One item in Claude Code's files that works differently here, or not at all; `detail` explains how."""

    thing: str
    detail: str

    def __str__(self) -> str:
        return safe_line(f"{self.thing}: {self.detail}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences, and the number of items without any.

    `importable` items of the user take effect once they are imported.
    """

    differences: tuple[Difference, ...]
    same: int
    importable: int = 0


def differences(program: Program, name: str) -> Comparison:
    """Compare another program's files with what agentcli does.

    For Claude Code, those of the project count too. `program` must trust the folder for this run; nothing is started.
    """
    plan = import_plan(program, [name])
    if name != "claude":
        return _compared([*_user(program, plan)], plan)
    found = [*_user(program, plan), *_project_hooks(program), *_rules(program), *_servers(program)]
    found += [*_hook_fields(_own_folder(program) / "settings.json", "~/.claude/settings.json")]
    return _compared([*found, *_extensions(program), *_styles(program)], plan)


def _compared(found: Sequence[Compared], plan: ImportPlan) -> Comparison:
    told = dict.fromkeys(chain.from_iterable(each for _, each in found))
    return Comparison(tuple(told), sum(not each for _, each in found), len(plan.new))


Compared = tuple[str, Sequence[Difference]]
"""An item and its differences; none if it works the same."""


def _user(program: Program, plan: ImportPlan) -> Iterator[Compared]:
    """Yield what the import of the user's own files has taken over, and what it skips. The rest waits for it."""
    for step in plan.steps:
        if step.status == "same":
            yield str(step), ()
        elif step.status == "clash":
            yield str(step), [Difference(step.item.source, f"{step.item.key} differs from yours here, which counts")]
    for line in plan.skipped:
        source, _, why = line.partition(": ")
        yield line, [Difference(source, why)]


def _own_folder(program: Program) -> Path:
    return home_of("claude", Path(program.given_env.get("HOME") or Path.home()), program.given_env)


def _styles(program: Program) -> Iterator[Compared]:
    """Yield the output styles, which nothing here reads."""
    for folder in dict.fromkeys((_own_folder(program), program.cwd / PROGRAM)):
        for file in sorted((folder / "output-styles").glob("*.md")):
            yield (
                str(file),
                [Difference(f"output style {file.stem}", f"{display_path(file)} is not read; put it into AGENTS.md")],
            )


def _project_hooks(program: Program) -> Iterator[Compared]:
    found = project_hooks(program)
    for hook in found.hooks:
        if hook.source.endswith(tuple(CLAUDE_FILES)):
            yield f"{hook.source} {hook.event} {hook.line}", ()
    for note in found.notes:
        source, _, why = note.partition(": ")
        if PROGRAM in source:
            yield note, [Difference(f"hook in {source}", why)]
    for path in project_files(program.cwd, CLAUDE_FILES).paths:
        source = label(path, program.cwd)
        for event in table(read_json(path, Found()), "hooks"):
            if event not in EVENTS:
                yield event, [Difference(f"hook of {event} in {source}", "there is no such event here")]
        yield from _hook_fields(path, source)


def _hook_fields(path: Path, source: str) -> Iterator[Compared]:
    """Yield the fields of hooks in a file that have no effect here."""
    for event, groups in table(read_json(path, Found()), "hooks").items():
        entries = [entry for group in _objects(groups) for entry in _objects(group.get("hooks"))]
        fields = {name for entry in entries if entry.get("type", "command") in DOES for name in entry}
        if event in EVENTS and (idle := sorted(fields - {*FIELDS} - _SHOWN_ONLY)):
            yield source, [Difference(f"hook of {event} in {source}", f"no effect here: {', '.join(idle)}")]


def _rules(program: Program) -> Iterator[Compared]:
    """Yield the permission rules and the other settings of the project's files."""
    rules, unused = project_rules(program, program.traits)
    yield from ((str(rule), ()) for rule in (*rules.deny, *rules.ask))
    for line in unused:
        source, _, why = line.partition(": ")
        if PROGRAM in source:
            yield line, [Difference(source, why)]


def _servers(program: Program) -> Iterator[Compared]:
    found = servers_of(program).configured()
    yield from ((f"server {name}", ()) for name, one in found.servers.items() if one.source.endswith(".mcp.json"))
    yield from ((problem, [Difference("server", problem)]) for problem in found.problems)


def _extensions(program: Program) -> Iterator[Compared]:
    """Yield skills, commands and agents, each with the notes of its reader, its model and its tools."""
    found, model = program.prompt_files, _model(program)
    taken, tools = slash_commands(program).all, tools_of(program.features)
    notes = [*found.notes]
    kinds: Iterable[tuple[str, Mapping[str, Skill | Template | AgentKind]]] = (
        ("skill", found.skills),
        ("command", found.commands),
        ("agent", found.agents),
    )
    for kind, entries in kinds:
        for one in entries.values():
            if not _is_claudes(one.place):
                continue
            thing = f"{kind} {one.name}"
            said = [note for note in notes if note.startswith(f"{kind.capitalize()} {one.name}: ")]
            notes = [note for note in notes if note not in said]
            told = [note.partition(": ")[2] for note in said]
            told += [*_models(one.model, model), *_tools(one)]
            if isinstance(one, AgentKind):
                told += [f"lists tools that do not exist here: {name}" for name in unknown_tools(one, tools)]
            else:
                told += shadowed([one], taken)
            yield thing, [Difference(thing, each) for each in told]
    for hidden in found.shadowed:
        if _is_claudes(hidden.place) and hidden.file is not None:
            yield (
                hidden.name,
                [Difference(hidden.name, f"{display_path(hidden.file)} has no effect: another has its name")],
            )
    for note in (*notes, *program.instruction_files().notes):
        if f"{PROGRAM}{os.sep}" in note:
            yield note, [Difference("file", note)]


def _models(name: str, model: ModelSpec | None) -> Iterator[str]:
    if model is not None and name not in ("", "inherit") and keeps_model(name, model):
        yield f"asks for {name}: {model.name} is used, since the session runs with it"


def _tools(one: Skill | Template | AgentKind) -> Iterator[str]:
    rules = () if isinstance(one, AgentKind) else one.allowed
    if lacking := [rule for rule in rules if not own_rule(rule)]:
        yield f"allows tools that do not exist here: {', '.join(lacking)}"


def _model(program: Program) -> ModelSpec | None:
    try:
        return program.models.spec(program.selection.model_name())
    except AgentError:
        return None


def _is_claudes(place: Place | None) -> bool:
    return place is not None and place.program == PROGRAM


def _objects(value: Any) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
