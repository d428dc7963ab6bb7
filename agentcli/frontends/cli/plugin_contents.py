"""Contents of a plugin, in lines for the person who adds or updates it.

Each feature describes its part.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from agentcli.agent.project.instructions import MAX_BYTES
from agentcli.agent.project.places import find
from agentcli.agent.project.prompt_files import Skill, Template
from agentcli.context.tokens.estimators import Calibrated
from agentcli.core.sanitise import safe_line
from agentcli.features.checks.lsp.configured import parsed
from agentcli.features.extensions.sources import in_plugin
from agentcli.features.hooks.files import bundled_hooks
from agentcli.features.mcp.config import bundled_servers
from agentcli.program.prompt_files.agents import FORM as AGENT_FORM
from agentcli.program.prompt_files.commands import FORM as COMMAND_FORM
from agentcli.program.prompt_files.discover import catalogue
from agentcli.program.prompt_files.plugins import Plugin, hashes
from agentcli.program.prompt_files.skills import FORM as SKILL_FORM

LISTED = 30
"""Maximum changed files that an update lists."""
_RULE = Calibrated()


def contents(plugin: Plugin) -> Iterator[str]:
    """Yield lines about the parts of a plugin: everything that it would start in full, the rest by name."""
    notes: list[str] = []
    skills, _ = find(SKILL_FORM, plugin.places("skills"), notes)
    commands, _ = find(COMMAND_FORM, plugin.places("commands"), notes)
    agents, _ = find(AGENT_FORM, plugin.places("agents"), notes)
    for kind, found in (("skills", skills), ("commands", commands), ("agents", agents)):
        if found:
            yield f"{kind}: {', '.join(name.partition(':')[2] for name in found)}"
    both: list[Skill | Template] = [*skills.values(), *commands.values()]
    for one in both:
        if one.allowed:
            yield f"allowed without asking by {one.name.partition(':')[2]}: {safe_line(', '.join(one.allowed))}"
    for extension in in_plugin(plugin, notes):
        yield f"extension {extension.name}: {safe_line(extension.adds)}"
    hooks, servers = bundled_hooks(plugin.hooks), bundled_servers(plugin.servers)
    for hook in hooks.hooks:
        yield f"hook at {hook.event}: {safe_line(hook.line)}"
    for server in servers.servers.values():
        yield f"server {server.name}: {safe_line(server.starts)}"
    languages = parsed(plugin.lsp, f"plugin {plugin.name}", plugin.variables)
    for language in languages.servers:
        yield f"language server {language.name}, which runs if you set lsp = true: {safe_line(language.starts)}"
    brought = plugin.instructions(MAX_BYTES)
    for file in brought.files:
        yield f"instructions: {safe_line(file.path.name)}"
    listed = catalogue(skills, agents, sys.maxsize)
    text = "\n".join([listed, *(file.text for file in brought.files)])
    tokens = round(_RULE.size(text) * _RULE.rate)
    more = ", and the names of its servers' tools" if servers.servers else ""
    yield f"{f'about {tokens:,}' if tokens else 'no'} tokens in each request{more}"
    if plugin.excluded:
        yield f"denied tools: {safe_line(', '.join(plugin.excluded))}"
    yield from (*plugin.astray, *notes, *hooks.notes, *servers.problems, *languages.notes, *brought.notes)


def differences(former: Plugin | None, new: Plugin) -> Iterator[str]:
    """Yield lines about another version's changes to a plugin: its contents, with `+` and `-`, and its files."""
    before = list(contents(former)) if former else []
    after = list(contents(new))
    versions = [former.version if former else "", new.version]
    if versions[0] != versions[1]:
        yield f"version: {versions[0] or 'none'} → {versions[1] or 'none'}"
    root, fresh = str(former.folder if former else ""), str(new.folder)
    known = {line.replace(root, "") if root else line for line in before}
    yield from (
        f"- {line}" for line in before if line.replace(root, "") not in {one.replace(fresh, "") for one in after}
    )
    yield from (f"+ {line}" for line in after if line.replace(fresh, "") not in known)
    old, now = (hashes(plugin.folder) if plugin else {} for plugin in (former, new))
    names = sorted(name for name in {*old, *now} if old.get(name) != now.get(name))
    marks = {name: "+" if name not in old else "-" if name not in now else "±" for name in names}
    yield from (f"{marks[name]} file {safe_line(name)}" for name in names[:LISTED])
    if len(names) > LISTED:
        yield f"and {len(names) - LISTED:,} more files"
