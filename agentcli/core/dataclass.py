"""Dataclasses with slots that are cheap to define: importing a module compiles no method.

The standard decorator writes and compiles seven methods for every class. For the three hundred classes of a one-shot
that takes 150 ms of 640. Here, `__init__` is compiled only when a class has more than a few instances; all classes
share the other methods. The standard decorator reads the fields, so `fields`, `replace`, `asdict`, pickling and
matching work as usual.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, slots: bool, frozen: bool = False, kw_only: bool = False) -> Any:
        """Decorate a class as the standard decorator does. Only for classes with slots."""
        if not slots:
            raise TypeError("this decorator is for dataclasses with slots: take that of the standard library")

        def decorate(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise the standard decorator computes a signature
            cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
            for name, method in (_methods(cls) | (_FROZEN if frozen else {"__hash__": None})).items():
                if vars(cls).get(name) is None:
                    setattr(cls, name, method)
            return cls

        return decorate

    def replace(value: Any, /, **changes: Any) -> Any:
        """Return a copy with other values of some fields, like the standard library's `replace` but faster.

        It accepts only classes of this decorator.
        """
        cls = value.__class__
        places, values = _copied.get(cls) or _copied.setdefault(cls, _reader(cls))
        arguments = list(values(value))
        for name, other in changes.items():
            arguments[places[name]] = other
        return cls(*arguments)  # positionally: many keywords would cost more than all the rest


_copied: dict[type, tuple[Mapping[str, int], Callable[[Any], Sequence[Any]]]] = {}
"""Return the positions of a class's fields among its constructor arguments, and a function that returns their values.
"""


def _reader(cls: Any) -> tuple[Mapping[str, int], Callable[[Any], Sequence[Any]]]:
    fields = [field for field in dataclasses.fields(cls) if field.init]
    if any(field.kw_only for field in fields):
        raise TypeError(f"{cls.__name__} has fields that are given by keyword: take `replace` of the standard library")
    names = [field.name for field in fields]
    return {name: place for place, name in enumerate(names)}, values_of(names)


def values_of(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that reads these attributes of an object."""
    match names:
        case [_, _, *_]:
            return attrgetter(*names)  # which returns a single attribute without a tuple around it
        case _:
            return lambda value: [getattr(value, name) for name in names]


def _methods(cls: Any) -> dict[str, Any]:
    """Return the methods of a class by name."""
    instances = 0
    set_fields: _SetFields | None = None

    def __init__(self: Any, *args: Any, **values: Any) -> None:
        nonlocal instances, set_fields
        instances += 1
        set_fields = set_fields or _setter(cls)
        if instances > FEW or not set_fields(self, args, values):
            cls.__init__ = _compiled_init(cls)
            cls.__init__(self, *args, **values)

    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    key = attrgetter(*compared) if compared else type

    def __eq__(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return {"__init__": __init__, "__eq__": __eq__, "__hash__": __hash__, "__repr__": _repr}


FEW = 32
"""Number of instances up to which compiling a class's `__init__` does not pay."""


_SetFields = Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]


def _setter(cls: Any) -> _SetFields:
    """Return a function that sets the slots of an instance like the compiled `__init__`.

    If the compiled one would refuse the arguments, it returns False and changes nothing.
    """
    fields: Any = dataclasses.fields(cls)
    slots = {field.name: getattr(cls, field.name).__set__ for field in fields}
    accepted = {field.name: field.kw_only for field in fields if field.init}
    positional = [name for name, by_keyword in accepted.items() if not by_keyword]
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    makers = {
        field.name: field.default_factory
        for field in fields
        if field.init and field.default_factory is not dataclasses.MISSING
    }
    required = accepted.keys() - defaults.keys() - makers.keys()
    is_checked = hasattr(cls, "__post_init__")

    def set_fields(self: Any, args: tuple[Any, ...], values: dict[str, Any]) -> bool:
        given = dict(zip(positional, args, strict=False))
        if len(args) > len(positional) or values.keys() - accepted or given.keys() & values.keys():
            return False
        given |= values
        if required - given.keys():
            return False
        for name, make in makers.items():
            if name not in given:
                given[name] = make()
        for name, value in {**defaults, **given}.items():
            slots[name](self, value)
        if is_checked:
            self.__post_init__()
        return True

    return set_fields


def _compiled_init(cls: Any) -> Any:
    """Return an `__init__` like the one that the standard library compiles, which takes five times as long to make."""
    missing = dataclasses.MISSING
    names: dict[str, Any] = {"_later": _LATER}
    positional, by_keyword, lines = ["self"], ["*"], []
    is_frozen = cls.__setattr__ is not object.__setattr__
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default_factory is not missing:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _later else {name}" if field.init else f"_make_{name}()"
            default = "=_later"
        elif field.default is not missing:
            names[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        if field.init:
            (by_keyword if field.kw_only else positional).append(name + default)
        if field.init or default:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            lines.append(f"_set_{name}(self, {value})" if is_frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    given = ", ".join(positional + (by_keyword if len(by_keyword) > 1 else []))
    exec(f"def __init__({given}):\n  " + "\n  ".join(lines or ["pass"]), names)  # noqa: S102 - names of fields are identifiers
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


_LATER = object()
"""Default of an argument for whose field a function makes the value."""


def _repr(self: Any) -> str:
    values = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
