"""Configuration: one typed value merged from files, environment and flags, each setting with its origin."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from agentcli.agent.settings import AgentSettings, PermissionSettings
from agentcli.config.coerce import Layer, coerce, near
from agentcli.config.general import General
from agentcli.config.retired import RETIRED
from agentcli.config.retired import warning as retired_warning
from agentcli.config.tables import ALIASES, TABLES, Tables, put, split
from agentcli.config.toml_text import toml_value
from agentcli.context.settings import PRESETS, BudgetSettings, ContextSettings
from agentcli.core.annotation import Choice, Kind, Scalar, Table, fields_of
from agentcli.core.causes import in_words
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.setting import ADDED, ENTRIES_ADDED, NEVER, Access, access
from agentcli.core.text.encodings import is_binary, readable
from agentcli.core.tool import ToolLimits
from agentcli.hooks.settings import HookSettings
from agentcli.mcp.settings import McpSettings
from agentcli.providers.retry_policy import RetryPolicy
from agentcli.sessions.checkpoints.file_states import CheckpointLimits
from agentcli.sessions.retention import Retention
from agentcli.ui.settings import UiSettings

PREFIX = "AGENTCLI_"
FLAG = "--set"
"""Origin of the settings of the command line."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings: a field for each section, `general` for the top level, in the order in which they are listed.

    `providers`, `models` and `aliases` are free tables; `origins` says which place set each value.
    """

    general: General = field(default_factory=General)
    agent: AgentSettings = field(default_factory=AgentSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    tools: ToolLimits = ToolLimits()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    checkpoints: CheckpointLimits = CheckpointLimits()
    retention: Retention = field(default_factory=Retention)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The user's own names of models: `[models.aliases]`."""
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        """Return a value by its dotted key. Raise ConfigError, which names similar keys, for a key that does not exist."""
        values = dict(self.items())
        if _full(key) in values:
            return values[_full(key)]
        table, name = entry(key)
        if table and name in values[table]:
            return values[table][name]
        if _full(key) in RETIRED:
            raise ConfigError(
                f"{key!r} is no longer a setting: agentcli uses a fixed value. Remove it from your config.toml."
            )
        raise ConfigError(f"Unknown setting {key!r}.{near(key, values)}")

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield every key with its value in force, in the order of the sections."""
        for key in _places():
            yield key, _reach(self, _path(key))
        for table in TABLES:
            for name, values in getattr(self, table).items():
                for inner, value in values.items():
                    yield f"{table}.{name}.{inner}", value
        for name, model in self.aliases.items():
            yield f"models.{ALIASES}.{name}", model


SHORT = {"prune": "context.prune"}
"""Tables that may be written without the name of their section."""
LISTS = {"hooks": "hooks.commands"}
"""Settings that are an array of tables, `[[hooks]]`, under the name of their section."""


def load(
    user: Path | None = None,
    project: Path | None = None,
    env: Mapping[str, str] = os.environ,
    flags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Config:
    """Return the configuration. `project` is a trusted folder's file or None; `flags` are `key=value`; `more` overrides all.

    Raise ConfigError for a file that is not TOML or a value of the wrong type; unknown keys only warn.
    """
    warnings: list[str] = []
    own = list(_file_layer(user))
    lasting = [*own, *_project_layer(project, own, warnings), _environment_layer(env)]
    asked = [Layer(FLAG, dict(map(_flag, flags)), typed=False), Layer("flag", more or {})]
    return _merge([*lasting, *_preset_layer([*lasting, *asked]), *asked], warnings)


def choices(toggles: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return every setting with its possible values, if they are few; `toggles` are the values of a switch."""
    return {key: _few(kind, toggles) for key, kind in _kinds().items()}


def _few(kind: Kind, toggles: Sequence[str]) -> Sequence[str]:
    match kind:
        case Choice(values):
            return [each for each in values if isinstance(each, str) and each]
        case Scalar.FLAG:
            return toggles
        case _:
            return ()


def parsed(key: str, text: str) -> Any:
    """Return the value that a text gives to a setting. Raise ConfigError for an unknown key or an invalid value."""
    return _merge([Layer("", {key: text}, typed=False)], []).get(key)


def _merge(layers: Sequence[Layer], warnings: list[str]) -> Config:
    merged = _Merged(warnings)
    for layer in layers:
        for given, raw in layer.values.items():
            if key := merged.set(given, raw, layer):
                merged.origins[key] = layer.origins.get(key, layer.origin)
    return merged.finished()


@dataclass(slots=True)
class _Merged:
    """The configuration of the layers so far; `retired` are settings that are no longer any, each with its place."""

    warnings: list[str]
    config: Config = field(default_factory=Config)
    tables: Tables = field(default_factory=lambda: {table: {} for table in TABLES})
    origins: dict[str, str] = field(default_factory=dict)
    retired: list[tuple[str, str]] = field(default_factory=list)

    def set(self, given: str, raw: Any, layer: Layer) -> str:
        """Set a value of a layer; return the setting that has the layer as its origin now, empty if the value is left out."""
        key = _full(given)
        table, _, name = key.partition(".")
        if table in TABLES and name:
            if warning := put(self.tables, key, raw, layer):
                self._report_unknown(warning, layer)
                return ""
            return ".".join((table, *split(table, name)[:2]))
        if key in _places():
            self._set_known(key, raw, layer)
            return key
        if entry(key)[0]:
            self.config = _with_entry(self.config, key, raw, layer)
            self.origins[".".join(entry(key))] = layer.origin
            return entry(key)[0]
        if key in RETIRED:
            self.retired.append((given, layer.place(key)))
        elif _is_section(key):
            raise ConfigError(f"{given}{layer.place(key)} must be a table, not {raw!r}.")
        else:
            hint = near(given, _places())
            self._report_unknown(f"Unknown setting {given!r} in {layer.origin} is ignored.{hint}", layer)
        return ""

    def _set_known(self, key: str, raw: Any, layer: Layer) -> None:
        value = coerce(key, _kind(key), raw, layer)
        if isinstance(value, Mapping):
            self.origins |= {f"{key}.{name}": layer.origin for name in value}
            value = {**_reach(self.config, _path(key)), **value}
        self.config = _changed(self.config, _path(key), value)

    def _report_unknown(self, warning: str, layer: Layer) -> None:
        """Warn of an unknown setting in a file or the environment. Raise ConfigError for one on the command line."""
        if layer.origin == FLAG:
            raise ConfigError(warning.replace(" is ignored", ""))
        self.warnings.append(warning)

    def finished(self) -> Config:
        """Return the configuration of all layers."""
        if self.retired:
            self.warnings.append(retired_warning(self.retired))
        aliases = self.tables["models"].pop(ALIASES, {})
        return dataclasses.replace(
            self.config,
            providers=self.tables["providers"],
            models=self.tables["models"],
            aliases=aliases,
            origins=self.origins,
            warnings=tuple(self.warnings),
        )


def entry(key: str) -> tuple[str, str]:
    """Split a key such as `context.compression_model.default` into the setting that is a table and the name in it; else return two empty texts."""
    full = _full(key)
    for table, kind in _kinds().items():
        if isinstance(kind, Table) and full.startswith(f"{table}."):
            return table, full.removeprefix(f"{table}.").strip("\"'")
    return "", ""


def steps(key: str) -> tuple[str, ...]:
    """Return the tables, outermost first, and the name of a setting in a file."""
    table, name = entry(key)
    if table:
        return (*table.split("."), name)
    first, _, rest = _full(key).partition(".")
    return (first, *split(first, rest)) if first in TABLES else tuple(_full(key).split("."))


def _with_entry(config: Config, key: str, raw: Any, layer: Layer) -> Config:
    """Return the configuration with one name of such a table set; the others stay."""
    table, name = entry(key)
    kind = _kind(table)
    assert isinstance(kind, Table)
    value = coerce(key, kind.of, raw, layer)
    changed: Config = _changed(config, _path(table), {**_reach(config, _path(table)), name: value})
    return changed


def _is_section(key: str) -> bool:
    return key in TABLES or any(name.startswith(f"{key}.") for name in _places())


def _changed(value: Any, path: Sequence[str], new: Any) -> Any:
    """Return the dataclass with a new value for one field, maybe of an inner dataclass."""
    first, *rest = path
    return dataclasses.replace(value, **{first: _changed(getattr(value, first), rest, new) if rest else new})


def _reach(value: Any, path: Sequence[str]) -> Any:
    return _reach(getattr(value, path[0]), path[1:]) if path else value


def _file_layer(path: Path | None) -> Iterator[Layer]:
    if path is None:
        return
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"Can't read {path}: {in_words(error)}. Make it a readable file or remove it.") from error
    if is_binary(data):
        raise ConfigError(f"{path} is not text. Make it a text file in TOML or remove it.")
    text = readable(data)
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply. Make it flat.") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}. Fix that line.") from error
    yield Layer(str(path), dict(_flatten(tables)))


def _project_layer(path: Path | None, user: Sequence[Layer], warnings: list[str]) -> Iterator[Layer]:
    """Yield the settings of a project's file that are valid beside the user's; add a warning with the reason for each other one."""
    if path is None or not os.path.lexists(path):
        return
    from agentcli.project.files import is_settings_file

    if not is_settings_file(path):
        warnings.append(f"{path} leads out of the repository: left out.")
        return
    own = _merge(user, [])
    for layer in _file_layer(path):
        values, origins = {}, {}
        for given, raw in layer.values.items():
            key = _full(given)
            value, refusal = _permitted(key, raw, layer, own)
            if refusal:
                cure = f"To have it, set it in your own config.toml (agentcli config set {key} VALUE)."
                warnings.append(f"{given!r} in {layer.origin} is ignored: {refusal}. {cure}")
                continue
            values[given] = value
            if value != raw and key in own.origins:
                origins[key] = f"{own.origins[key]}, {layer.origin}"
        yield Layer(layer.origin, values, origins=origins)


def _permitted(key: str, raw: Any, layer: Layer, own: Config) -> tuple[Any, str]:
    """Return the value that a project gives to a setting, or the reason why it may not."""
    allowed = _access(key)
    if allowed.project == "never":
        return raw, "a project may not set it"
    if not allowed.tighter:
        return raw, ""
    mine, wanted = own.get(key), coerce(key, _kind(key), raw, layer)
    value = allowed.tighter.combine(mine, wanted)
    if value != wanted and allowed.tighter not in (ADDED, ENTRIES_ADDED):
        return raw, f"a project may only {allowed.tighter.allowed}, and it is {toml_value(mine)}"
    return list(value) if isinstance(value, tuple) else value, ""


def _access(key: str) -> Access:
    """Return the changes that a project may make to a setting: none to a provider or a model. An unknown key is reported elsewhere."""
    if key.partition(".")[0] in TABLES:
        return NEVER
    known = _places()
    place = known.get(key) or known.get(entry(key)[0])
    if not place:
        return Access("free")
    declared = next(each for each in dataclasses.fields(place[0]) if each.name == place[1])
    return access(declared) or NEVER


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
    """Yield the settings of the preset that these layers name: they override files and the environment, and the flags of a run override them."""
    given = [(layer, key) for layer in layers for key in layer.values if _full(key) == _PRESET]
    for layer, key in given[-1:]:
        if name := coerce(_PRESET, _kind(_PRESET), layer.values[key], layer):
            yield Layer(f"preset {name}", {f"context.sliding.{field}": value for field, value in PRESETS[name].items()})


_PRESET = "context.preset"


def _flag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes key=value, not {text!r}.")
    return key.strip(), value.strip()


@cache
def sections() -> Sequence[str]:
    """Return the names of all sections."""
    config = Config()
    return [one.name for one in dataclasses.fields(config) if dataclasses.is_dataclass(getattr(config, one.name))]


@cache
def _kinds() -> Mapping[str, Kind]:
    return {key: _kind(key) for key in _places()}


def _kind(key: str) -> Kind:
    owner, name = _places()[key]
    return next(slot.kind for slot in _slots(owner) if slot.name == name)


_slots = cache(fields_of)


@cache
def _places() -> Mapping[str, tuple[type, str]]:
    """Return the class and the field of each setting."""
    config = Config()
    return {
        _key(path): place for section in sections() for path, place in _fields((section,), getattr(config, section))
    }


def _fields(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], tuple[type, str]]]:
    for item in dataclasses.fields(value):
        inner = getattr(value, item.name)
        if dataclasses.is_dataclass(inner):
            yield from _fields((*path, item.name), inner)
        elif access(item):
            yield (*path, item.name), (type(value), item.name)


def _key(path: Sequence[str]) -> str:
    return ".".join(path[1:] if path[0] == "general" else path)


def _path(key: str) -> list[str]:
    return key.split(".") if key.partition(".")[0] in (*sections(), *TABLES) else ["general", *key.split(".")]


def _full(key: str) -> str:
    """Return the key in full, without quotes: a short beginning such as `prune.` becomes `context.prune.`."""
    key = key.removeprefix("general.")
    table, _, rest = key.partition(".")
    if table in TABLES and split(table, rest)[0]:
        return ".".join((table, *split(table, rest)))
    short = next((short for short in SHORT if key.startswith(short + ".")), "")
    return SHORT[short] + key.removeprefix(short) if short else key
