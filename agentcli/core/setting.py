"""Declaration of a setting: its default, and the changes that a trusted project's config.toml may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, field
from functools import partial
from typing import Any, Literal, TypeVar

from agentcli.core.dataclass import dataclass

T = TypeVar("T")
Project = Literal["free", "tighten", "never"]
"""A project's permission for a setting: set it, make it stricter, or neither."""


@dataclass(frozen=True, slots=True)
class Tighter:
    """The direction in which a setting becomes stricter."""

    combine: Callable[[Any, Any], Any]
    """(the user's value, the project's value) → the effective value."""
    allowed: str
    """The permitted change in words: `lower it`."""


def towards(*steps: Any) -> Tighter:
    """Return the direction of a setting with few values, listed with the strictest last."""
    last = str(steps[-1]).lower() if isinstance(steps[-1], bool) else f'"{steps[-1]}"'
    return Tighter(partial(max, key=steps.index), f"change it towards {last}")


def _lower_limit(own: float, given: float) -> float:
    return min(filter(None, (own, given)), default=0)


def _entries_added(own: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in given.items() if name not in own}


def _added(own: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    return (*own, *(each for each in given if each not in own))


LOWER = Tighter(min, "lower it")
LIMIT = Tighter(_lower_limit, "lower it")
"""The direction of a limit for which 0 means no limit."""
ADDED = Tighter(_added, "add to it")
ENTRIES_ADDED = Tighter(_entries_added, "add to it")
"""The direction of a table to which a project may add names; the user's entries stay."""


@dataclass(frozen=True, slots=True)
class Access:
    """A project's permission for a setting; `tighter` is the direction if the project may tighten it."""

    project: Project
    tighter: Tighter | None = None

    def __post_init__(self) -> None:
        if (self.project == "tighten") != (self.tighter is not None):
            raise TypeError("a setting has `tighter` if a project may tighten it, and only then")


NEVER = Access("never")


def setting(default: T, *, project: Project, tighter: Tighter | None = None) -> T:
    """Declare a dataclass field as a setting. Each instance gets a copy of a default that is a table."""
    metadata = {Access: Access(project, tighter)}
    declared: Any = (
        field(default_factory=partial(dict, default), metadata=metadata)
        if isinstance(default, Mapping)
        else field(default=default, metadata=metadata)
    )
    return declared  # type: ignore[no-any-return]


def access(declared: Field[Any]) -> Access | None:
    """Return a project's permission for the setting that a field declares; None for a constant, a field without
    `setting`.

    No file, variable or flag reaches a constant. Code that builds the dataclass, such as the context lab, may vary it.
    """
    found = declared.metadata.get(Access)
    return found if isinstance(found, Access) else None
