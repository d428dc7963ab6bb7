"""Type annotations as values: one reader for tool schemas, types of settings, flags and records."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from agentcli.core.dataclass import dataclass


class Scalar(Enum):
    """A value that is not a collection."""

    TEXT = str
    WHOLE = int
    NUMBER = float
    FLAG = bool
    ANYTHING = Any


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few values: `Literal`."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list, tuple, set or sequence; `of` is None if its items have no type, or several."""

    of: Kind | None
    container: type


@dataclass(frozen=True, slots=True)
class Table:
    """A table of values by name."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Fields:
    """A dataclass; `fields_of` reads its fields."""

    owner: type


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value or None."""

    of: Kind


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of one of several types; `hint` is their union."""

    kinds: tuple[Kind, ...]
    hint: Any


@dataclass(frozen=True, slots=True)
class Noted:
    """A type with metadata: `Annotated`."""

    of: Kind
    notes: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """An annotation that none of the other kinds describes."""

    hint: Any


Kind = Scalar | Choice | Items | Table | Fields | Maybe | OneOf | Noted | Unread


@dataclass(frozen=True, slots=True)
class Slot:
    """A field or parameter with its annotation. `default` has no meaning if the field is required."""

    name: str
    hint: Any
    required: bool
    default: Any

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return read(self.hint)

    @property
    def is_list(self) -> bool:
        """True if it is declared as a list."""
        return list in (self.hint, get_origin(self.hint))


def read(hint: Any) -> Kind:
    """Return the kind of values that an annotation describes; never fails."""
    if isinstance(hint, type) and hint in _SCALARS:
        return _SCALARS[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Noted(read(inner[0]), inner[1:])
    if origin is Literal:
        return Choice(inner)
    if _is_union(hint):
        return _union(hint, inner)
    container = origin or hint
    if container in _CONTAINERS:
        items = [each for each in inner if each is not Ellipsis]
        return Items(read(items[0]) if len(items) == 1 else None, container)
    if container in (dict, Mapping):
        return Table(read(inner[1]) if len(inner) == 2 else Scalar.ANYTHING)
    return Fields(hint) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else Unread(hint)


def bare(kind: Kind) -> Kind:
    """Return the kind without metadata, and without None if it is optional."""
    return bare(kind.of) if isinstance(kind, Noted | Maybe) else kind


def unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation without metadata, and without None if it is optional; also return the metadata, outermost
    first.
    """
    if get_origin(hint) is Annotated:
        inner, notes = unwrapped(get_args(hint)[0])
        return inner, (*get_args(hint)[1:], *notes)
    arms = [arm for arm in get_args(hint) if arm is not types.NoneType] if _is_union(hint) else []
    return unwrapped(arms[0]) if len(arms) == 1 else (hint, ())


def hints_of(owner: Any) -> dict[str, Any]:
    """Return the annotations of a class or function by name, with metadata. Raises NameError or TypeError for
    unreadable ones.
    """
    return get_type_hints(owner, include_extras=True)


def fields_of(owner: type) -> tuple[Slot, ...]:
    """Return the fields of a dataclass that its constructor takes."""
    hints, missing = hints_of(owner), dataclasses.MISSING
    declared: Sequence[dataclasses.Field[Any]] = dataclasses.fields(owner)
    return tuple(
        Slot(each.name, hints[each.name], each.default is missing and each.default_factory is missing, each.default)
        for each in declared
        if each.init
    )


def parameters_of(function: Callable[..., Any]) -> tuple[Slot, ...]:
    """Return the parameters of a function. Without an annotation, the hint is `inspect.Parameter.empty`."""
    hints, empty = hints_of(function), inspect.Parameter.empty
    return tuple(
        Slot(each.name, hints.get(each.name, empty), each.default is empty, each.default)
        for each in inspect.signature(function).parameters.values()
    )


_SCALARS: Mapping[Any, Scalar] = {each.value: each for each in Scalar}
_CONTAINERS = (list, tuple, set, frozenset, Sequence)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _union(hint: Any, arms: Sequence[Any]) -> Kind:
    kinds = tuple(read(arm) for arm in arms if arm is not types.NoneType)
    choices = [kind for kind in kinds if isinstance(kind, Choice)]
    if len(kinds) == 1:
        kind = kinds[0]
    elif len(choices) == len(kinds):
        kind = Choice(tuple(dict.fromkeys(value for choice in choices for value in choice.values)))
    else:
        kind = OneOf(kinds, hint)
    return Maybe(kind) if types.NoneType in arms else kind
