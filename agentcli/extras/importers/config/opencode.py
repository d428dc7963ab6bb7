"""Configuration of opencode: `~/.config/opencode/opencode.json` with its servers, commands, agents and permissions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agentcli.core.aliases import OPENCODE
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, Item, read_json, table

_NAME = re.compile(r"[\w.-]{1,60}")
_HEAD = {"description", "agent", "model", "subtask", "mode", "temperature"}


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of opencode for this user."""
    found = Found()
    folder = home_of("opencode", home, env)
    for name in ("opencode.json", "opencode.jsonc"):
        source = f"~/.config/opencode/{name}"
        raw = read_json(folder / name, found, comments=True)
        for server, given in table(raw, "mcp").items():
            found.server(server, _server(given) if isinstance(given, Mapping) else given, source)
        for kind, text in (("command", "template"), ("agent", "prompt")):
            for called, given in table(raw, kind).items():
                _file(f"{kind}s", called, given, text, source, found)
        _permissions(raw.get("permission"), source, found)
        if isinstance(model := raw.get("model"), str):
            found.items.append(Item("config.toml", "model", model, source))
        found.skip_others(raw, ("mcp", "command", "agent", "permission", "model"), source)
    found.file("AGENTS.md", folder / "AGENTS.md")
    return found


def _server(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    server: dict[str, Any] = {}
    match raw.get("command"):
        case [str(program), *arguments]:
            server |= {"command": program, "args": arguments}
        case str(program):
            server["command"] = program
        case _:
            pass
    server |= {ours: raw[theirs] for theirs, ours in _FIELDS.items() if theirs in raw}
    if raw.get("enabled") is False:
        server["disabled"] = True
    text = re.sub(r"\{env:(\w+)\}", r"${\1}", json.dumps(server))
    return dict(json.loads(text))


_FIELDS = {"environment": "env", "url": "url", "headers": "headers"}


def _file(folder: str, name: str, given: Any, text: str, source: str, found: Found) -> None:
    """Import a command or agent as a file of its own."""
    body = given.get(text) if isinstance(given, Mapping) else None
    if not isinstance(body, str) or not _NAME.fullmatch(name) or body.startswith("{file:"):
        found.skip(source, f"{folder[:-1]} {name}", f"it has no {text} of its own")
        return
    if given.get("mode") == "primary" or given.get("disable") is True:
        found.skip(source, f"{folder[:-1]} {name}", "only subagents that are not disabled are taken over")
        return
    head: dict[str, Any] = {
        key: value for key, value in given.items() if key in _HEAD and isinstance(value, str | bool | int | float)
    }
    if folder == "agents":
        head = {"name": name, **head, **{key: given[key] for key in ("tools", "permission") if key in given}}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    found.items.append(Item("file", f"{folder}/{name}.md", "\n".join(["---", *lines, "---", body]) + "\n", source))


def _permissions(raw: Any, source: str, found: Found) -> None:
    if isinstance(raw, str):
        raw = {"*": raw}
    for tool, given in raw.items() if isinstance(raw, Mapping) else ():
        rules = [*given.items()] if isinstance(given, Mapping) else [("*", given)]
        own = OPENCODE[tool][0] if tool in OPENCODE else ""
        for place, (pattern, kind) in enumerate(rules):
            about = f"{tool} {pattern}" if isinstance(given, Mapping) else tool
            if why := _objection(own, pattern, kind, rules[:place], rules[place + 1 :]):
                found.skip(source, f"permission {about}: {kind}", why)
                continue
            ending = "" if pattern == "*" else f"({pattern})"
            found.rule(kind, about, source, f"{own}{ending}" if own else "")
            if own == "edit" and kind != "allow":  # one permission covers all tools that change files
                found.rule(kind, about, source, f"write{ending}")


def _objection(own: str, pattern: str, kind: Any, before: _Rules, after: _Rules) -> str:
    """Return why a rule is not imported, or an empty string.

    In opencode the last matching rule wins. Here deny comes before ask, and ask before allow, in any order.
    """
    if kind not in ("allow", "ask", "deny"):
        return "it is not a decision"
    if kind == "allow":
        if any(other != "allow" and _covers(later, pattern) for later, other in after):
            return "a later rule takes its place"
        if pattern == "*" and own == "bash":
            return "permission to run every command is never copied"
        strict = [former for former, other in before if other == "deny" and _covers(former, pattern)]
        return f"the rule that denies {strict[-1]} goes before it here" if strict else ""
    excepted = any(other == "allow" and _covers(pattern, later) for later, other in after)
    open_before = [former for former, other in before if other == "allow" and not (own == "bash" and former == "*")]
    lifted = any(not _covers(pattern, former) for former in open_before)
    if kind == "ask" and own in _ASKED and not lifted and (pattern == "*" or excepted):
        return "mode ask asks about it anyway, and a rule would go before all that allow"
    return ""


def _covers(pattern: str, other: str) -> bool:
    """Return True if, judging by their texts, a pattern matches everything that the other one does."""
    return pattern == "*" or fnmatchcase(other, pattern)


_Rules = Sequence[tuple[str, Any]]
"""Patterns with their decisions, in the order of the file."""
_ASKED = frozenset({"bash", "edit", "write", "web_fetch"})
"""Tools that mode ask asks about unless a rule covers them."""
