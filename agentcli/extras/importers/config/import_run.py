"""Import other programs' configuration: plan the writes, then execute the plan. Nothing is ever overwritten."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError, CredentialsError, in_words
from agentcli.core.sanitise import safe_line
from agentcli.core.text.secrets import SECRET, mask
from agentcli.core.text.words import plural
from agentcli.extras.importers import config as foreign
from agentcli.extras.importers.config import HOMES, PROGRAMS
from agentcli.extras.importers.config.found import Found, Item, Target
from agentcli.features.hooks.files import DOES
from agentcli.features.hooks.loaded import USER_FILE
from agentcli.features.mcp.config import parsed
from agentcli.permissions.rules import Rules, in_own_names, parse_rule
from agentcli.program.config.toml import add_to_list, set_key
from agentcli.program.program import Program
from agentcli.system import probe
from agentcli.system.locked_file import update

SERVERS_FILE = "mcp.json"


@dataclass(frozen=True, slots=True)
class Step:
    """One found entry and its fate. `new` is written, and `same` exists already. In a `clash` the existing or first one
    stays.
    """

    item: Item
    status: Literal["new", "same", "clash"]
    program: str = ""

    def __str__(self) -> str:
        item = self.item
        about = f"{item.key} {item.value}" if item.to == "config.toml" else item.key
        if item.to == "hooks.json":
            about = f"{item.key}: {', '.join(map(_line, item.value.get('hooks', ())))}"
        if item.to == SERVERS_FILE:
            about = f"{item.key}: {_starts(item)}"
        target = "" if item.to == "file" else f"{item.to}: "
        more = f" (set {', '.join(item.secrets)} in your environment)" if item.secrets else ""
        return safe_line(f"{item.source} → {target}{about}{more}")


def _line(hook: Mapping[str, Any]) -> str:
    """Return the command line of a hook of a plan, or what another hook does."""
    command = str(hook.get(DOES.get(str(hook.get("type", "command")), "command")))
    return shlex.join([command, *map(str, hook["args"])]) if hook.get("args") else command


def _starts(item: Item) -> str:
    """Return what a server of a plan would start or connect to, with the variables that it sets."""
    read = parsed(json.dumps({"mcpServers": {item.key: item.value}}), SERVERS_FILE)
    return ", ".join([*(server.starts for server in read.servers.values()), *read.problems])


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """Everything that an import would write, and everything that it skips, with the reason."""

    steps: tuple[Step, ...]
    skipped: tuple[str, ...]

    @property
    def new(self) -> Sequence[Step]:
        """The steps that write something."""
        return [step for step in self.steps if step.status == "new"]


def import_plan(program: Program, names: Sequence[str]) -> ImportPlan:
    """Plan an import from these programs. Raises ConfigError if a file of agentcli is unreadable."""
    home = Path(program.given_env.get("HOME") or Path.home())
    present = _Present(program.dirs.config)
    steps: list[Step] = []
    skipped: list[str] = []
    for name in names:
        found: Found = import_module(f"{foreign.__name__}.{name}").read(home, program.cwd, program.given_env)
        for item in found.items:
            if why := _objection(program, item):
                skipped.append(
                    safe_line(f"{item.source}: {item.key} {item.value if item.to == 'config.toml' else ''}: {why}")
                )
            else:
                steps.append(Step(item, present.take(item), name))
        skipped += found.skipped
    return ImportPlan(tuple(steps), tuple(skipped))


def carry_out(plan: ImportPlan, config: Path) -> None:
    """Write the new entries. Raises ConfigError and StoreError; a file that cannot be changed stays as it was."""
    items = [step.item for step in plan.new]
    servers = {item.key: item.value for item in items if item.to == "mcp.json"}
    groups = [item for item in items if item.to == "hooks.json"]
    if servers:
        _change(config / SERVERS_FILE, "mcpServers", lambda known: {**servers, **known})
    if groups:
        _change(config / USER_FILE, "hooks", lambda known: _with_groups(known, groups))
    for item in items:
        if item.to == "file":
            path = config / item.key
            update(path, lambda present, text=item.value: present or text)  # type: ignore[misc]
        elif item.to == "config.toml":
            _set(config / "config.toml", item)


class _Present:
    """The present content of our files, with the plan's additions."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._servers = dict(_json(config / SERVERS_FILE).get("mcpServers") or {})
        hooks = _json(config / USER_FILE).get("hooks")
        self._hooks = {event: [*groups] for event, groups in hooks.items()} if isinstance(hooks, Mapping) else {}
        self._settings = _toml(config / "config.toml")
        self._files: dict[str, str] = {}

    def take(self, item: Item) -> Literal["new", "same", "clash"]:
        """Return the status of an item, which exists from then on."""
        match item.to:
            case "mcp.json":
                return _put(self._servers, item.key, item.value)
            case "hooks.json":
                groups = self._hooks.setdefault(item.key, [])
                if item.value in groups:
                    return "same"
                groups.append(item.value)
                return "new"
            case "file":
                path = self._config / item.key
                if probe.exists(path) and item.key not in self._files:
                    self._files[item.key] = path.read_text(encoding="utf-8", errors="replace")
                return _put(self._files, item.key, item.value)
            case "config.toml" if item.key.startswith("permissions."):
                rules = self._settings.setdefault("permissions", {}).setdefault(item.key.partition(".")[2], [])
                if item.value in rules:
                    return "same"
                rules.append(item.value)
                return "new"
            case _:
                *tables, name = item.key.split(".")
                inner = self._settings
                for each in tables:
                    inner = inner.setdefault(each, {})
                return _put(inner, name, item.value)


def _put(known: dict[str, Any], key: str, value: Any) -> Literal["new", "same", "clash"]:
    if key not in known:
        known[key] = value
        return "new"
    return "same" if known[key] == value else "clash"


def _objection(program: Program, item: Item) -> str:
    """Return why an item cannot be imported; empty if it can."""

    try:
        if item.key.startswith("permissions."):
            in_own_names(Rules(deny=(parse_rule(item.value),)), program.traits)
        if item.to == "config.toml" and item.key == "model":
            obstacle = program.models.obstacle(item.value)
            # Import the default model even without a key for it, unless the current default has one.
            if isinstance(obstacle, CredentialsError) and not program.models.default:
                return ""
            return str(obstacle).splitlines()[0] if obstacle is not None else ""
    except AgentError as error:
        return str(error).splitlines()[0]
    if item.to == "hooks.json" and SECRET in mask(json.dumps(item.value)):
        return "its command contains a secret"
    return ""


def _set(path: Path, item: Item) -> None:
    if item.key.startswith("permissions."):
        add_to_list(path, "permissions", item.key.partition(".")[2], item.value)
    else:
        set_key(path, item.key, item.value)


def _with_groups(known: Mapping[str, Any], items: Sequence[Item]) -> Mapping[str, Any]:
    hooks = {event: [*groups] for event, groups in known.items()}
    for item in items:
        groups = hooks.setdefault(item.key, [])
        if item.value not in groups:
            groups.append(item.value)
    return hooks


def _change(path: Path, key: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Change one object in a JSON file; everything else stays."""

    def changed(text: str) -> str:
        whole = _parsed(text, path)
        return json.dumps({**whole, key: change(whole.get(key) or {})}, indent=2, ensure_ascii=False) + "\n"

    update(path, changed)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        return _parsed(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Can't read {path}: {in_words(error)}. Fix it first.") from error


def _parsed(text: str, path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}. Fix it first.") from error
    if not isinstance(value, dict) or not all(isinstance(value.get(key, {}), dict) for key in ("mcpServers", "hooks")):
        raise ConfigError(f"{path} has an unexpected form. Fix it first.")
    return value


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"Can't read {path}: {in_words(error)}. Fix it first.") from error


def lines(plan: ImportPlan) -> Iterator[str]:
    """Yield the lines that describe the plan to people."""
    for title, status in (
        ("To write:", "new"),
        ("Already there:", "same"),
        ("Not written, since yours or one above differs:", "clash"),
    ):
        found = [str(step) for step in plan.steps if step.status == status]
        if found:
            yield from (title, *(f"  {line}" for line in found))
    if plan.skipped:
        yield from ("Left out:", *(f"  {line}" for line in plan.skipped))
    if not plan.steps and not plan.skipped:
        yield "Nothing was found."


def in_brief(plan: ImportPlan) -> list[str]:
    """Return one line for each program that says what would be written."""
    names = dict.fromkeys(step.program for step in plan.new)
    return [f"{HOMES[name][0]}: {_counted([step.item for step in plan.new if step.program == name])}" for name in names]


def _counted(items: Sequence[Item]) -> str:
    """Return how many entries of each kind there are, and the names of the settings and files."""
    counts: Counter[str] = Counter()
    for item in items:
        folder, _, file = item.key.partition("/")
        if item.to in _KINDS:
            counts[_KINDS[item.to]] += len(item.value["hooks"]) if item.to == USER_FILE else 1
        elif item.to == "file" and file:
            counts[folder.removesuffix("s")] += 1
        elif item.key.startswith("permissions."):
            counts["permission rule"] += 1
        else:
            counts[item.key if item.to == "file" else _SAID.get(item.key, item.key.rpartition(".")[2])] = 0
    return ", ".join(plural(count, kind) if count else kind for kind, count in counts.items())


_KINDS: Mapping[Target, str] = {"mcp.json": "server", "hooks.json": "hook"}
_SAID = {
    "ui.vi": "vi keys",
    "ui.notify": "notices",
    "ui.status_command": "status line",
    "add_dirs": "folders",
    "sandbox_network": "network",
}


def doctor_rows(program: Program) -> Iterator[tuple[str, bool, str]]:
    """Yield a row for each program whose configuration can be imported, completely or in part."""
    for name in PROGRAMS:
        with suppress(ConfigError):  # our own files have separate rows
            if new := len(import_plan(program, [name]).new):
                detail = f"can be taken over ({new}): `agentcli import-config {name}` lists it and asks"
                yield f"configuration of {name}", True, detail
