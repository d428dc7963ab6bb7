"""All settings: the sections with the class of each, and what follows from them about a key."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from agentcli.core.annotation import Choice, Kind, Scalar, Table, fields_of
from agentcli.core.setting import NEVER, Access, access
from agentcli.program.config.general import General
from agentcli.program.config.tables import TABLES, split

GENERAL = "general"
"""Name of the section whose settings are at the top level."""
SHORT = {"prune": "context.prune"}
"""Tables that may be written without their section's name."""

_Place = tuple[type, str]
"""Class and field of a setting."""


class Schema:
    """Sections of a configuration by name, in the order of listings, in addition to the free tables."""

    def __init__(self, sections: Mapping[str, type]) -> None:
        self.sections: Mapping[str, type[Any]] = {GENERAL: General, **sections}

    @cached_property
    def places(self) -> Mapping[str, _Place]:
        """The class and the field of each setting."""
        return {
            ".".join(path[1:] if path[0] == GENERAL else path): place
            for name, section in self.sections.items()
            for path, place in _fields((name,), section())
        }

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of each setting's value."""
        slots = {owner: {slot.name: slot.kind for slot in fields_of(owner)} for owner, _ in self.places.values()}
        return {key: slots[owner][name] for key, (owner, name) in self.places.items()}

    def choices(self, toggles: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return every setting with its possible values, if they are few; `toggles` are the values of a switch."""
        return {key: _few(kind, toggles) for key, kind in self.kinds.items()}

    def entry(self, key: str) -> tuple[str, str]:
        """Split a key such as `context.compression_model.default` into the table setting and the name in it.

        Return two empty texts for other keys.
        """
        full = self.full(key)
        for table, kind in self.kinds.items():
            if isinstance(kind, Table) and full.startswith(f"{table}."):
                return table, full.removeprefix(f"{table}.").strip("\"'")
        return "", ""

    def steps(self, key: str) -> tuple[str, ...]:
        """Return the tables, outermost first, and the name of a setting in a file."""
        table, name = self.entry(key)
        if table:
            return (*table.split("."), name)
        first, _, rest = self.full(key).partition(".")
        return (first, *split(first, rest)) if first in TABLES else tuple(self.full(key).split("."))

    def full(self, key: str) -> str:
        """Return the full key, without quotes: a short prefix such as `prune.` becomes `context.prune.`."""
        key = key.removeprefix(f"{GENERAL}.")
        table, _, rest = key.partition(".")
        if table in TABLES and split(table, rest)[0]:
            return ".".join((table, *split(table, rest)))
        short = next((short for short in SHORT if key.startswith(short + ".")), "")
        return SHORT[short] + key.removeprefix(short) if short else key

    def path(self, key: str) -> tuple[type, Sequence[str]]:
        """Return the class of a setting's section, and the fields that lead to the setting from there."""
        first, _, rest = key.partition(".")
        return (self.sections[first], rest.split(".")) if first in self.sections else (General, key.split("."))

    def is_section(self, key: str) -> bool:
        """Return True for a name that must be a table in a file."""
        return key in TABLES or any(name.startswith(f"{key}.") for name in self.places)

    def access(self, key: str) -> Access:
        """Return the changes that a project may make to a setting: none to a provider or a model.

        Unknown keys are reported elsewhere.
        """
        if key.partition(".")[0] in TABLES:
            return NEVER
        place = self.places.get(key) or self.places.get(self.entry(key)[0])
        if not place:
            return Access("free")
        declared = next(each for each in dataclasses.fields(place[0]) if each.name == place[1])
        return access(declared) or NEVER


def _fields(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], _Place]]:
    for item in dataclasses.fields(value):
        inner = getattr(value, item.name)
        if dataclasses.is_dataclass(inner):
            yield from _fields((*path, item.name), inner)
        elif access(item):
            yield (*path, item.name), (type(value), item.name)


def _few(kind: Kind, toggles: Sequence[str]) -> Sequence[str]:
    match kind:
        case Choice(values):
            return [each for each in values if isinstance(each, str) and each]
        case Scalar.FLAG:
            return toggles
        case _:
            return ()
