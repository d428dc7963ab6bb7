"""Dataclasses with slots that are cheap to define: importing a module compiles no method.

The standard decorator writes and compiles seven methods for every class. For the three hundred classes of a one-shot
that takes 150 ms of 640. Here, `__init__` is compiled only when a class has more than a few instances; all classes
share the other methods. The class is made once, with all its members, in a fifth of the standard decorator's
time. The standard decorator reads the fields when something asks for them. So `fields`, `replace`, `asdict`,
pickling and matching work as usual.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, slots: bool, frozen: bool = False, kw_only: bool = False) -> Any:
        """Decorate a class as the standard decorator does. Only for classes with slots, without `KW_ONLY` and `InitVar`."""
        if not slots:
            raise TypeError("this decorator is for dataclasses with slots: take that of the standard library")

        def decorate(cls: type) -> type:
            fields = _Fields(cls, kw_only)
            fields.cls = type(cls)(cls.__name__, cls.__bases__, _members(cls, fields, frozen))
            return fields.cls

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
    fields = [field for field in _fields(cls) if field.init]
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


class _Fields:
    """The fields of a class; as its attribute `__dataclass_fields__`, in the form of the standard library.

    `written` is the class as it was before it was decorated. The decorator replaces it in `cls`, and nothing else keeps
    it.
    """

    def __init__(self, written: type, kw_only: bool) -> None:
        self.cls: Any = written
        self._kw_only = kw_only
        self.own = {
            name: vars(written).get(name, dataclasses.MISSING)
            for name, hint in inspect.get_annotations(written).items()
            if not _is_class_variable(hint)
        }
        """Fields that the class adds, with their defaults."""
        for name, default in self.own.items():
            if type(default).__hash__ is None:
                raise ValueError(
                    f"the default of {name} is mutable, so all instances would share it: use default_factory"
                )
        self._all: Mapping[str, Any] | None = None
        self._standard: Mapping[str, Any] | None = None

    def __get__(self, _: object, owner: type) -> Mapping[str, Any]:
        if self._standard is None:
            read: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._kw_only)(self._written())
            if [field.name for field in dataclasses.fields(read)] != [*self.all]:
                raise TypeError(f"{owner.__name__} has KW_ONLY or InitVar: take the standard library's decorator")
            self._standard = read.__dataclass_fields__
        return self._standard

    @property
    def all(self) -> Mapping[str, Any]:
        """All fields by name, those of base classes first."""
        if self._all is None:
            own = {name: self._field(name, default) for name, default in self.own.items()}
            self._all = {field.name: field for base in self._bases() for field in _fields(base)} | own
        return self._all

    def key(self) -> Callable[[Any], Any]:
        """Return a function that returns what an instance is compared by."""
        compared = [field.name for field in self.all.values() if field.compare]
        return attrgetter(*compared) if compared else type

    def positional(self) -> tuple[str, ...]:
        """Return the names of the fields that the constructor takes by position."""
        places = dict.fromkeys(name for base in self._bases() for name in base.__match_args__)
        for name, default in self.own.items():
            by_keyword = self._kw_only
            if isinstance(default, dataclasses.Field):
                by_keyword = (
                    not default.init or (by_keyword and default.kw_only is not False) or default.kw_only is True
                )
            if by_keyword:
                places.pop(name, None)
            else:
                places[name] = None
        return tuple(places)

    def slots(self) -> tuple[str, ...]:
        """Return the names of the fields for which no base class has a slot."""
        inherited = {name for base in self.cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
        return tuple(name for name in self.own if name not in inherited)

    def _written(self) -> Any:
        """Return a class with these fields, as it would be written for the standard decorator."""
        defaults = {name: value for name, value in self.own.items() if value is not dataclasses.MISSING}
        hints = inspect.get_annotations(self.cls)
        # Without a docstring, the standard decorator writes one with the signature, which takes longer than the rest.
        members = {"__module__": self.cls.__module__, "__doc__": "Fields.", "__annotations__": hints, **defaults}
        return type(self.cls)(self.cls.__name__, self.cls.__bases__, members)

    def _bases(self) -> Sequence[Any]:
        """Return the base classes with fields of their own, the furthest first."""
        return [base for base in self.cls.__mro__[-2:0:-1] if "__dataclass_fields__" in vars(base)]

    def _field(self, name: str, default: Any) -> Any:
        field: Any = default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)
        field.name = name
        if field.kw_only is dataclasses.MISSING:
            field.kw_only = self._kw_only
        return field


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return ClassVar in (hint, getattr(hint, "__origin__", None))


def _fields(cls: Any) -> Sequence[Any]:
    """Return the fields of a class, those of base classes first."""
    for base in cls.__mro__:
        fields = vars(base).get("__dataclass_fields__")
        if isinstance(fields, _Fields):
            return [*fields.all.values()]
    return dataclasses.fields(cls)


def _members(cls: type, fields: _Fields, frozen: bool) -> dict[str, Any]:
    """Return all members of a decorated class. It is made with them: each method that it got later would cost as much
    as the class itself.
    """
    members = {name: value for name, value in vars(cls).items() if name not in _REPLACED and name not in fields.own}
    members |= {"__doc__": cls.__doc__ or cls.__name__, "__qualname__": cls.__qualname__}
    members |= {"__slots__": fields.slots(), "__match_args__": fields.positional(), "__dataclass_fields__": fields}
    methods = {**_STANDARD, **_methods(fields), **(_FROZEN if frozen else {"__hash__": None})}
    return members | {name: method for name, method in methods.items() if members.get(name) is None}


_REPLACED = ("__dict__", "__weakref__")
"""Members that the new class has of its own."""


def _methods(fields: _Fields) -> dict[str, Any]:
    """Return the methods of a class that depend on its fields, which are read with the first call."""
    instances = 0
    set_fields: _SetFields | None = None
    key: Callable[[Any], Any] | None = None

    def __init__(self: Any, *args: Any, **values: Any) -> None:
        nonlocal instances, set_fields
        instances += 1
        set_fields = set_fields or _setter(fields.cls)
        if instances > FEW or not set_fields(self, args, values):
            fields.cls.__init__ = _compiled_init(fields.cls)
            fields.cls.__init__(self, *args, **values)

    def __eq__(self: Any, other: Any) -> Any:
        nonlocal key
        if other.__class__ is not self.__class__:
            return NotImplemented
        key = key or fields.key()
        return key(self) == key(other)

    def __hash__(self: Any) -> int:
        nonlocal key
        key = key or fields.key()
        return hash(key(self))

    return {"__init__": __init__, "__eq__": __eq__, "__hash__": __hash__}


FEW = 32
"""Number of instances up to which compiling a class's `__init__` does not pay."""


_SetFields = Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]


def _setter(cls: Any) -> _SetFields:
    """Return a function that sets the slots of an instance like the compiled `__init__`.

    If the compiled one would refuse the arguments, it returns False and changes nothing.
    """
    fields = _fields(cls)
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
    for field in _fields(cls):
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
    values = (f"{field.name}={getattr(self, field.name)!r}" for field in _fields(type(self)) if field.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in _fields(type(self))]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(_fields(type(self)), state, strict=True):
        object.__setattr__(self, field.name, value)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Plain:
    """A class of the standard decorator."""


_STANDARD = {
    "__repr__": _repr,
    **{name: value for name, value in vars(_Plain).items() if name in ("__dataclass_params__", "__replace__")},
}
"""Members that all classes share, also those that the standard library's functions look for."""
_FROZEN = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
