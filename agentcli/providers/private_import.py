"""Import of a few modules of an SDK for this program alone, without the packages that they import and hardly use.

The modules run as they stand, but are not in `sys.modules`, and what they import of those packages are stand-ins. Whoever else imports
the SDK or such a package gets all of it.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, resolve_name
from types import ModuleType, SimpleNamespace
from typing import Any, Self, cast

from agentcli.providers.registry import SdkPart


def import_part(part: SdkPart) -> ModuleType:
    """The module of a part. If that fails for any reason, or the SDK is there already, the whole SDK is imported."""
    package = part.module.rpartition(".")[0]
    if package in sys.modules:
        return import_module(part.module)
    try:
        return _Importer(package, part.unused).module(part.module)
    except Exception:  # noqa: BLE001 - an SDK that is built differently may fail in any way; the whole import is the answer to all
        return import_module(part.module)


class _Importer:
    """Imports modules of one package, each once."""

    def __init__(self, package: str, unused: tuple[str, ...]) -> None:
        self._package = package
        self._unused = tuple(f"{name}." for name in unused)
        spec = find_spec(package)
        self._folders = spec.submodule_search_locations if spec else None
        self._modules: dict[str, ModuleType] = {}

    def module(self, name: str) -> ModuleType:
        """A module of the package. Raises ImportError where there is none."""
        if name not in self._modules:
            spec = PathFinder.find_spec(name, self._folders)
            if spec is None:
                raise ImportError(f"no module {name}")
            module = self._modules[name] = module_from_spec(spec)
            code = cast(InspectLoader, spec.loader).get_code(name)
            assert code is not None
            vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
            exec(code, vars(module))
        return self._modules[name]

    def _import(
        self,
        name: str,
        importer: Mapping[str, Any] | None = None,
        scope: Mapping[str, object] | None = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """The `__import__` of the modules."""
        absolute = resolve_name("." * level + name, importer["__package__"]) if level and importer else name
        if f"{absolute}.".startswith(self._unused):
            return _StandIns(absolute, (_StandIn,), {})
        if absolute == self._package:  # of the package itself, which is not run, only modules are imported
            return SimpleNamespace(**{each: self._import(f"{absolute}.{each}") for each in names or ()})
        if absolute.startswith(f"{self._package}."):
            return self.module(absolute)
        return __import__(name, importer, scope, names or (), level)


class _StandIns(type):
    """The type of stand-ins. Each is a class, so that annotations may mention it and classes inherit from it; its attributes are more of them."""

    model_fields: dict[str, object]
    """The fields that its instances were given."""

    def __init__(cls, *given: Any) -> None:
        super().__init__(*given)
        cls.model_fields = {}

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(cls, name, _StandIns(name, (_StandIn,), {}))
        return getattr(cls, name)

    def __getitem__(cls, _: object) -> type:  # a generic
        return cls


class _StandIn(metaclass=_StandIns):
    """A model that checks nothing: its instances have the fields that they are given, and None for all others. One that decorates does nothing."""

    def __init__(self, *_: object, **given: object) -> None:
        vars(self).update(given)
        type(self).model_fields.update(given)

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    def __call__(self, decorated: Any) -> Any:
        return decorated

    @classmethod
    def model_validate(cls, given: Mapping[str, object]) -> Self:
        """An instance with these fields."""
        return cls(**given)

    def model_copy(self) -> Self:
        """A copy that shares the values."""
        return copy(self)
