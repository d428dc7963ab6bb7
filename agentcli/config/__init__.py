"""Configuration: one typed value merged from files, environment and flags, each setting knowing where it came from."""

from __future__ import annotations

import dataclasses
import os
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args, get_origin

from agentcli.agent.settings import AgentSettings, HookSettings, McpSettings, PermissionSettings
from agentcli.config.coerce import Layer, coerce, near
from agentcli.config.general import General
from agentcli.config.tables import TABLES, Tables, put, split
from agentcli.context.settings import PRESETS, BudgetSettings, ContextSettings
from agentcli.core.causes import in_words
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.tool import ToolLimits
from agentcli.providers.retrying import RetryPolicy
from agentcli.sessions.checkpoints.file_states import CheckpointLimits
from agentcli.sessions.retention import Retention
from agentcli.sessions.settings import SessionSettings
from agentcli.ui.settings import UiSettings

PREFIX = "AGENTCLI_"
FLAG = "--set"
"""Origin of the settings of the command line."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `providers` and `models` are free tables; `origins` says where each set value came from."""

    general: General = field(default_factory=General)
    agent: AgentSettings = field(default_factory=AgentSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    tools: ToolLimits = ToolLimits()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    checkpoints: CheckpointLimits = CheckpointLimits()
    retention: Retention = field(default_factory=Retention)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        """A value by its dotted key. Raises ConfigError, naming the near ones, for a key that does not exist."""
        values = dict(self.items())
        if _full(key) in values:
            return values[_full(key)]
        table, name = entry(key)
        if table and name in values[table]:
            return values[table][name]
        raise ConfigError(f"There is no setting {key!r}.{near(key, values)}")

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every key with its value in force, in the order of the sections."""
        for key in _places():
            yield key, _reach(self, _path(key))
        for table in TABLES:
            for name, values in getattr(self, table).items():
                for inner, value in values.items():
                    yield f"{table}.{name}.{inner}", value


SECTIONS = (
    "general",
    "agent",
    "context",
    "budget",
    "tools",
    "retry",
    "checkpoints",
    "retention",
    "sessions",
    "permissions",
    "hooks",
    "mcp",
    "ui",
)
SHORT = {"prune": "context.prune"}
"""Tables that may be written without the name of the section they belong to."""
LISTS = {"hooks": "hooks.commands"}
"""Settings that are an array of tables, `[[hooks]]`, under the name of their section."""
PROJECT_MAY_NOT = (
    "providers",
    "hooks",
    "retention",
    "general.sandbox",
    "general.sandbox_network",
    "general.mode",
    "permissions.allow",
    "permissions.destructive",
    "general.add_dirs",
    "tools.fetch_addresses",
    "ui.status_command",
)
"""Settings that a repository's own config must not decide: where keys go, what runs, and how much is allowed."""


def load(
    user: Path | None = None,
    project: Path | None = None,
    env: Mapping[str, str] = os.environ,
    flags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration. `project` is a trusted folder's file or None; `flags` are `key=value`; `more` wins over all.

    Raises ConfigError for a file that is not TOML or a value of the wrong type; unknown keys only warn.
    """
    warnings: list[str] = []
    lasting = [*_file_layer(user), *_project_layer(project, warnings), _environment_layer(env)]
    asked = [Layer(FLAG, dict(map(_flag, flags)), typed=False), Layer("flag", more or {})]
    return _merge([*lasting, *_preset_layer([*lasting, *asked]), *asked], warnings)


def choices(toggles: Sequence[str]) -> dict[str, Sequence[str]]:
    """Every setting with the values that it may take, where they are few; `toggles` are those of a switch."""
    few = {key: toggles if hint is bool else get_args(hint) for key, hint in _types().items()}
    return {key: [each for each in few[key] if isinstance(each, str) and each] for key in few}


def parsed(key: str, text: str) -> Any:
    """The value that a text gives to a setting. Raises ConfigError for a key that does not exist or a value that does not fit."""
    return _merge([Layer("", {key: text}, typed=False)], []).get(key)


def _merge(layers: Sequence[Layer], warnings: list[str]) -> Config:
    known = _places()
    config = Config()
    tables: Tables = {table: {} for table in TABLES}
    origins: dict[str, str] = {}
    for layer in layers:
        for given, raw in layer.values.items():
            key = _full(given)
            table, _, name = key.partition(".")
            if table in TABLES and name:
                if warning := put(tables, key, raw, layer):
                    _report_unknown(warning, layer, warnings)
                    continue
                key = ".".join((table, *split(name)[:2]))
            elif key in known:
                value = coerce(key, _type(key), raw, layer)
                if isinstance(value, Mapping):
                    value = {**_reach(config, _path(key)), **value}
                config = _changed(config, _path(key), value)
            elif entry(key)[0]:
                config = _with_entry(config, key, raw, layer)
                key = entry(key)[0]
            elif _is_section(key):
                raise ConfigError(f"{given}{layer.place(key)} must be a table, not {raw!r}.")
            else:
                _report_unknown(
                    f"Unknown setting {given!r} in {layer.origin} is ignored.{near(given, known)}", layer, warnings
                )
                continue
            origins[key] = layer.origin
    return dataclasses.replace(
        config, providers=tables["providers"], models=tables["models"], origins=origins, warnings=tuple(warnings)
    )


def _report_unknown(warning: str, layer: Layer, warnings: list[str]) -> None:
    """Warn of an unknown setting in a file or the environment. Raises ConfigError for one on the command line."""
    if layer.origin == FLAG:
        raise ConfigError(warning.replace(" is ignored", ""))
    warnings.append(warning)


def entry(key: str) -> tuple[str, str]:
    """The setting that is a table, and the name in it, of a key such as `context.compression_model.default`; else two empty texts."""
    full = _full(key)
    for table, hint in _types().items():
        if get_origin(hint) is Mapping and full.startswith(f"{table}."):
            return table, full.removeprefix(f"{table}.").strip("\"'")
    return "", ""


def steps(key: str) -> tuple[str, ...]:
    """The tables, outermost first, and the name under which a setting stands in a file."""
    table, name = entry(key)
    if table:
        return (*table.split("."), name)
    first, _, rest = _full(key).partition(".")
    return (first, *split(rest)) if first in TABLES else tuple(_full(key).split("."))


def _with_entry(config: Config, key: str, raw: Any, layer: Layer) -> Config:
    """The configuration with one name of such a table set; the others stay."""
    table, name = entry(key)
    value = coerce(key, get_args(_type(table))[1], raw, layer)
    changed: Config = _changed(config, _path(table), {**_reach(config, _path(table)), name: value})
    return changed


def _is_section(key: str) -> bool:
    return key in TABLES or any(name.startswith(f"{key}.") for name in _places())


def _changed(value: Any, path: Sequence[str], new: Any) -> Any:
    """The dataclass with one field, maybe of an inner one, set anew."""
    first, *rest = path
    return dataclasses.replace(value, **{first: _changed(getattr(value, first), rest, new) if rest else new})


def _reach(value: Any, path: Sequence[str]) -> Any:
    return _reach(getattr(value, path[0]), path[1:]) if path else value


def _file_layer(path: Path | None) -> Iterator[Layer]:
    if path is None:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {in_words(error)}. Make it a readable UTF-8 file or remove it."
        ) from error
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply. Make it flat.") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}. Fix that line.") from error
    yield Layer(str(path), dict(_flatten(tables)))


def _project_layer(path: Path | None, warnings: list[str]) -> Iterator[Layer]:
    if path is None or not os.path.lexists(path):
        return
    from agentcli.integrations.project_files import is_settings_file

    if not is_settings_file(path):
        warnings.append(f"{path} leads out of the repository: left out.")
        return
    for layer in _file_layer(path):
        refused = [key for key in layer.values if _belongs(key)]
        warnings.extend(
            f"{key!r} in {layer.origin} is ignored: a project may not set it. Put it into your own config."
            for key in refused
        )
        yield Layer(layer.origin, {key: value for key, value in layer.values.items() if key not in refused})


def _belongs(key: str) -> bool:
    path = _path(_full(key))
    return any(".".join(path[:depth]) in PROJECT_MAY_NOT for depth in range(1, len(path) + 1))


_FREE = tuple(f"{table}." for table in TABLES)


def _flatten(tables: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        key = prefix + name
        key = LISTS.get(key, key) if isinstance(value, list) else key
        whole = _full(key) in _places() or (depth == 2 and key.startswith(_FREE) and name != "prices")
        if isinstance(value, Mapping) and not whole:
            yield from _flatten(value, key + ".", depth + 1)
        else:
            yield key, value


def _environment_layer(env: Mapping[str, str]) -> Layer:
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    top = {item.name for item in dataclasses.fields(General)}
    for name, value in env.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX).lower().replace("__", ".")
        if "." in key or key in top:
            values[key] = value
            places[_full(key)] = f"the environment ({name})"
    switches = {"DISABLE_AUTOCOMPACT": "context.autocompact", "DISABLE_PRUNE": "context.prune.enabled"}
    for switch, key in switches.items():
        if env.get(PREFIX + switch, "").lower() not in ("", "0", "false", "no"):
            values[key] = "false"
    return Layer("environment", values, typed=False, places=places)


def _preset_layer(layers: Sequence[Layer]) -> Iterator[Layer]:
    """The settings of the preset that these layers name: above files and the environment, below the flags of a run."""
    given = [(layer, key) for layer in layers for key in layer.values if _full(key) == _PRESET]
    for layer, key in given[-1:]:
        if name := coerce(_PRESET, _type(_PRESET), layer.values[key], layer):
            yield Layer(f"preset {name}", {f"context.sliding.{field}": value for field, value in PRESETS[name].items()})


_PRESET = "context.preset"


def _flag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes key=value, not {text!r}.")
    return key.strip(), value.strip()


def _types() -> Mapping[str, Any]:
    return {key: _type(key) for key in _places()}


def _type(key: str) -> Any:
    owner, name = _places()[key]
    return _hints(owner)[name]


_hints = cache(partial(typing.get_type_hints, include_extras=True))


@cache
def _places() -> Mapping[str, tuple[type, str]]:
    """The class and the field that each setting is."""
    config = Config()
    return {_key(path): place for section in SECTIONS for path, place in _fields((section,), getattr(config, section))}


def _fields(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], tuple[type, str]]]:
    for item in dataclasses.fields(value):
        inner = getattr(value, item.name)
        if dataclasses.is_dataclass(inner):
            yield from _fields((*path, item.name), inner)
        else:
            yield (*path, item.name), (type(value), item.name)


def _key(path: Sequence[str]) -> str:
    return ".".join(path[1:] if path[0] == "general" else path)


def _path(key: str) -> list[str]:
    return key.split(".") if key.partition(".")[0] in (*SECTIONS, *TABLES) else ["general", *key.split(".")]


def _full(key: str) -> str:
    """The key with its short beginning, such as `prune.` for `context.prune.`, written out, and without quotes in it."""
    key = key.removeprefix("general.")
    table, _, rest = key.partition(".")
    if table in TABLES and split(rest)[0]:
        return ".".join((table, *split(rest)))
    short = next((short for short in SHORT if key.startswith(short + ".")), "")
    return SHORT[short] + key.removeprefix(short) if short else key
