"""Declaration of a setting: its default, its range, and the changes that a trusted project's config.toml may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, field
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

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
    """The permitted change, as text: `lower it`."""


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


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included unless it is `between` them; without `high` there is no upper end.

    `unit`: the word for the number, in the plural; empty for a share.
    """

    low: float = 0
    high: float | None = None
    between: bool = False
    unit: str = ""

    def __contains__(self, number: float) -> bool:
        if self.between and number in (self.low, self.high):
            return False
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low:g} or more"
        return f"between {self.low:g} and {self.high:g}" if self.between else f"from {self.low:g} to {self.high:g}"


NOT_NEGATIVE = Range()
"""The range of every number whose field states none."""
COST = Range(0, 1e9, unit="USD")
"""Cost that one record may have. A provider's price list or a server may state any number."""
PRICE = Range(0, 100_000, unit="USD per million tokens")
"""Prices that tokens may have; a larger number is a mistake in the list."""
Cost = Annotated[float, COST]
Share = Annotated[float, Range(0, 1)]
Part = Annotated[float, Range(0, 1, between=True)]
Positive = Annotated[int, Range(1)]
Tokens = Annotated[int, Range(unit="tokens")]
Bytes = Annotated[int, Range(unit="bytes")]
Lines = Annotated[int, Range(unit="lines")]
Messages = Annotated[int, Range(unit="messages")]
Calls = Annotated[int, Range(unit="calls")]
Requests = Annotated[int, Range(unit="requests")]
Turns = Annotated[int, Range(unit="turns")]
Sessions = Annotated[int, Range(unit="sessions")]
Seconds = Annotated[float, Range(high=1e9, unit="seconds")]
"""At most about 30 years: some timers of the system take no more."""
Days = Annotated[float, Range(high=1e6, unit="days")]
Dollars = Annotated[float, Range(unit="USD")]
