"""Configuration: one typed value merged from files, environment and flags, each setting with its origin."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from agentcli.context.settings import PRESETS
from agentcli.core.annotation import Table
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError, in_words
from agentcli.core.setting import ADDED, ENTRIES_ADDED
from agentcli.core.text.encodings import is_binary, readable
from agentcli.core.text.words import instead
from agentcli.program.config.coerce import Layer, coerce
from agentcli.program.config.general import General
from agentcli.program.config.schema import ALIASES, TABLES, Schema, Tables, put, split
from agentcli.program.files import is_settings_file

PREFIX = "AGENTCLI_"
FLAG = "--set"
"""Origin of the settings of the command line."""

Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a schema: `config[CLASS]` is the section of a class; a section without values has its defaults.

    `providers`, `models`, `aliases` and `extensions` are free tables; `origins` maps each value to its place.
    """

    schema: Schema
    sections: Mapping[type, Any] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The user's own names of models: `[models.aliases]`."""
    extensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of extensions by name: `[extensions.<name>]`."""
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __getitem__(self, section: type[Section]) -> Section:
        found: Section = self.sections[section] if section in self.sections else section()
        return found

    def get(self, key: str) -> Any:
        """Return a value by its dotted key. Raise ConfigError, with similar keys, for an unknown key."""
        values, full = dict(self.items()), self.schema.full(key)
        if full in values:
            return values[full]
        table, name = self.schema.entry(key)
        if table and name in values[table]:
            return values[table][name]
        if full in RETIRED:
            raise ConfigError(
                f"{key!r} is no longer a setting: agentcli uses a fixed value. Remove it from your config.toml."
            )
        raise ConfigError(f"Unknown setting {key!r}.{instead(key, values, '`agentcli config show` lists them.')}")

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield every key with its current value, in the order of the sections."""
        for key in self.schema.places:
            yield key, self.reach(key)
        for table in TABLES:
            for name, values in getattr(self, table).items():
                for inner, value in values.items():
                    yield f"{table}.{name}.{inner}", value
        for name, model in self.aliases.items():
            yield f"models.{ALIASES}.{name}", model

    def reach(self, key: str) -> Any:
        """Return the value of a setting by its full key."""
        section, path = self.schema.path(key)
        return reduce(getattr, path, self[section])

    def changed(self, key: str, value: Any) -> Config:
        """Return the configuration with another value of one setting."""
        section, path = self.schema.path(key)
        return dataclasses.replace(self, sections={**self.sections, section: _changed(self[section], path, value)})


LISTS = {"hooks": "hooks.commands"}
"""Settings that are an array of tables, `[[hooks]]`, under the name of their section."""


def load(
    schema: Schema,
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
    own = list(_file_layer(schema, user))
    lasting = [*own, *_project_layer(schema, project, own, warnings), _environment_layer(schema, env)]
    options = {key: f"--{key.rpartition('.')[2]}" for key in more or {}}
    asked = [Layer(FLAG, dict(map(_flag, flags)), typed=False), Layer("flag", more or {}, places=options)]
    return _merge(schema, [*lasting, *_preset_layer(schema, [*lasting, *asked]), *asked], warnings)


def parsed(schema: Schema, key: str, text: str) -> Any:
    """Return the value that a text gives to a setting. Raise ConfigError for an unknown key or an invalid value."""
    return _merge(schema, [Layer("", {key: text}, typed=False)], []).get(key)


def _merge(schema: Schema, layers: Sequence[Layer], warnings: list[str]) -> Config:
    merged = _Merged(Config(schema), warnings)
    for layer in layers:
        for given, raw in layer.values.items():
            if key := merged.set(given, raw, layer):
                merged.origins[key] = layer.origins.get(key, layer.origin)
    return merged.finished()


@dataclass(slots=True)
class _Merged:
    """Configuration of the layers so far; `retired` are former settings, each with its place."""

    config: Config
    warnings: list[str]
    tables: Tables = field(default_factory=lambda: {table: {} for table in TABLES})
    origins: dict[str, str] = field(default_factory=dict)
    retired: list[tuple[str, str]] = field(default_factory=list)

    def set(self, given: str, raw: Any, layer: Layer) -> str:
        """Set a value of a layer, and return the setting whose origin is now the layer.

        Return an empty text if the value is omitted.
        """
        schema = self.config.schema
        key = schema.full(given)
        table, _, name = key.partition(".")
        if table in TABLES and name:
            if warning := put(self.tables, key, raw, layer):
                self._report_unknown(warning, layer)
                return ""
            return ".".join((table, *split(table, name)[:2]))
        if key in schema.places:
            self._set_known(key, raw, layer)
            return key
        owner, inner = schema.entry(key)
        if owner:
            self._set_entry(owner, inner, key, raw, layer)
            self.origins[f"{owner}.{inner}"] = layer.origin
            return owner
        if key in RETIRED:
            self.retired.append((given, layer.place(key)))
        elif schema.is_section(key):
            raise ConfigError(f"{given}{layer.place(key)} must be a table, not {raw!r}.")
        else:
            hint = instead(given, schema.places)
            self._report_unknown(f"Unknown setting {given!r} in {layer.origin} is ignored.{hint}", layer)
        return ""

    def _set_known(self, key: str, raw: Any, layer: Layer) -> None:
        value = coerce(key, self.config.schema.kind(key), raw, layer)
        if isinstance(value, Mapping):
            self.origins |= {f"{key}.{name}": layer.origin for name in value}
            value = {**self.config.reach(key), **value}
        self.config = self.config.changed(key, value)

    def _set_entry(self, table: str, name: str, key: str, raw: Any, layer: Layer) -> None:
        """Set one name of a setting that is a table; other names stay."""
        kind = self.config.schema.kind(table)
        assert isinstance(kind, Table)
        value = coerce(key, kind.of, raw, layer)
        self.config = self.config.changed(table, {**self.config.reach(table), name: value})

    def _report_unknown(self, warning: str, layer: Layer) -> None:
        """Warn about an unknown setting in a file or the environment. Raise ConfigError for one on the command line."""
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
            extensions=self.tables["extensions"],
            origins=self.origins,
            warnings=tuple(self.warnings),
        )


def _changed(value: Any, path: Sequence[str], new: Any) -> Any:
    """Return the dataclass with a new value for one field, possibly of an inner dataclass."""
    first, *rest = path
    return dataclasses.replace(value, **{first: _changed(getattr(value, first), rest, new) if rest else new})


def _file_layer(schema: Schema, path: Path | None) -> Iterator[Layer]:
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
    yield Layer(str(path), dict(_flatten(schema, tables)))


def _project_layer(schema: Schema, path: Path | None, user: Sequence[Layer], warnings: list[str]) -> Iterator[Layer]:
    """Yield the settings of a project's file that may override the user's.

    For each other setting, add a warning with the reason.
    """
    if path is None or not os.path.lexists(path):
        return

    if not is_settings_file(path):
        warnings.append(f"{path} leads out of the repository: left out.")
        return
    own = _merge(schema, user, [])
    for layer in _file_layer(schema, path):
        values, origins = {}, {}
        for given, raw in layer.values.items():
            key = schema.full(given)
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
    """Return the value that a project gives to a setting, or why it may not."""
    from agentcli.program.config.toml import toml_value

    allowed = own.schema.access(key)
    if allowed.project == "never":
        return raw, "a project may not set it"
    if not allowed.tighter:
        return raw, ""
    mine, wanted = own.get(key), coerce(key, own.schema.kind(key), raw, layer)
    value = allowed.tighter.combine(mine, wanted)
    if value != wanted and allowed.tighter not in (ADDED, ENTRIES_ADDED):
        return raw, f"a project may only {allowed.tighter.allowed}, and it is {toml_value(mine)}"
    return list(value) if isinstance(value, tuple) else value, ""


_FREE = tuple(f"{table}." for table in TABLES)


def _flatten(schema: Schema, tables: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        key = prefix + name
        key = LISTS.get(key, key) if isinstance(value, list) else key
        whole = schema.full(key) in schema.places or (depth == 2 and key.startswith(_FREE) and name != "prices")
        if isinstance(value, Mapping) and not whole:
            yield from _flatten(schema, value, key + ".", depth + 1)
        else:
            yield key, value


def _environment_layer(schema: Schema, env: Mapping[str, str]) -> Layer:
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    top = {item.name for item in dataclasses.fields(General)}
    for name, value in env.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX).lower().replace("__", ".")
        if "." in key or key in top:
            values[key] = value
            places[schema.full(key)] = f"the environment ({name})"
    switches = {"DISABLE_AUTOCOMPACT": "context.autocompact", "DISABLE_PRUNE": "context.prune.enabled"}
    for switch, key in switches.items():
        if env.get(PREFIX + switch, "").lower() not in ("", "0", "false", "no"):
            values[key] = "false"
    return Layer("environment", values, typed=False, places=places)


def _preset_layer(schema: Schema, layers: Sequence[Layer]) -> Iterator[Layer]:
    """Yield the settings of the preset in these layers.

    They override files and the environment. A run's flags override them.
    """
    given = [(layer, key) for layer in layers for key in layer.values if schema.full(key) == _PRESET]
    for layer, key in given[-1:]:
        if name := coerce(_PRESET, schema.kind(_PRESET), layer.values[key], layer):
            yield Layer(f"preset {name}", {f"context.sliding.{field}": value for field, value in PRESETS[name].items()})


_PRESET = "context.preset"


def _flag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes key=value, not {text!r}.")
    return key.strip(), value.strip()


_BY_SECTION: Mapping[str, str] = {
    "agent": "max_pauses thinking_display",
    "budget": "tell_below pressure_from pressure_seconds",
    "checkpoints": "export_bytes files ignored_bytes ignored_files",
    "context": """
        preserve keep_recent_share keep_answer_tokens retry_growth fit keep_user_share keep_piece_share pins_share compact_floor
        compact_least compact_price output_reserve large_input_tokens large_input_share large_input_lines large_input_line exact_count_margin
        exact_count_seconds max_summary_calls
    """,
    "context.auto": "summary_share summary_least summary_most scratchpad air clipped",
    "context.cache": "milestone thrash",
    "context.gemini": "estimator summary_tokens pressure limit",
    "context.handoff": "tokens words files_read commands reports offered_after",
    "context.ledger": """
        files commands command_characters reports report_characters rules names names_each rule_characters
    """,
    "context.loss": """
        enabled half_life output_chance command_chance lookup_chance report_chance name_chance recall_price carry_price
        prompt_tokens token_rate names_tokens call_tokens recalled_tokens phase_share phases questions
    """,
    "context.native": "trigger_share thinking_turns",
    "context.opencode": "estimator summary_tokens output_reserve",
    "context.prune": """
        estimator auto_turns horizon patience smallest input_least least protect_share minimum_share
    """,
    "context.regions": "estimator aim ratio slack buffer large_output small_output",
    "context.sliding": "estimator summary_tokens task_budget temperature",
    "context.snapshot": """
        share rules_share knowledge_share files_read files_changed commands lookups item_characters goal_characters
        sentence_characters reply_tokens expected_tokens margin clips hard_clips cleared_characters struck_items
        struck_characters
    """,
    "context.tiktoken": "encodings rate",
    "mcp": "catalogue_tokens",
    "retention": "leftover_days",
    "retry": "short_patience jitter",
    "sessions": "save_every highlight doctor",
    "tools": """
        line_characters output_file recall_seconds entries fetch_bytes fetch_answer_seconds
    """,
    "ui": "notify_after tail_rows paste_lines paste_characters history",
}
RETIRED = frozenset(f"{section}.{name}" for section, names in _BY_SECTION.items() for name in names.split())
"""Keys in full."""


def retired_warning(found: Iterable[tuple[str, str]]) -> str:
    """Return one warning with these keys, each with the place that sets it, grouped by place."""
    by_place: dict[str, list[str]] = {}
    for key, place in found:
        by_place.setdefault(place, []).append(key)
    named = "; ".join(f"{', '.join(keys)}{place}" for place, keys in by_place.items())
    return f"These settings no longer have an effect: {named}. Remove them."
