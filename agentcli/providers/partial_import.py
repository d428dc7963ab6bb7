"""Import of an SDK without what this program never uses of it, which is more than half.

While the SDK is imported, packages that are never used are stand-ins whose names are empty models, good enough for the annotations that
mention them. Afterwards the stand-ins are removed, so whoever does import such a package gets the real one. Of a module of models only
the classes that are used are made; the SDK is then kept out of `sys.modules`, so that others get all of it.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast

from agentcli.providers.registry import SdkPart


def import_partly(modules: Sequence[str], unused: Sequence[str]) -> None:
    """Import `modules` without the packages `unused`. If that fails for any reason, import them as they are."""
    before = set(sys.modules)
    try:
        with _standing_in(tuple(unused)):
            for module in modules:
                import_module(module)
    except Exception:  # noqa: BLE001 - an SDK that is built differently may fail in any way; the whole import is the answer to all
        tops = {package.partition(".")[0] for package in unused}
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in tops:
                del sys.modules[name]
        for module in modules:
            import_module(module)


def import_part(part: SdkPart) -> ModuleType:
    """The module of a part, imported for this program alone. If that fails for any reason, or the SDK is there already, the whole SDK is imported."""
    package = part.module.rpartition(".")[0]
    if package in sys.modules:
        return import_module(part.module)
    try:
        with _standing_in(part.unused, part):
            module = import_module(part.module)
    except Exception:  # noqa: BLE001 - as above
        _forget(package)
        return import_module(part.module)
    _forget(package)
    return module


def _forget(package: str) -> None:
    """Have a package imported anew by whoever imports it next."""
    for name in list(sys.modules):  # copied, since other threads import meanwhile
        if name == package or name.startswith(f"{package}."):
            del sys.modules[name]
    parent, _, child = package.rpartition(".")
    if parent in sys.modules and child in vars(sys.modules[parent]):
        delattr(sys.modules[parent], child)


@contextmanager
def _standing_in(packages: tuple[str, ...], part: SdkPart | None = None) -> Iterator[None]:
    # What is there already is real, and stays.
    finder = _Finder(tuple(package for package in packages if package not in sys.modules), part)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, stand_in in list(sys.modules.items()):  # copied, since other threads import meanwhile
            if not isinstance(stand_in, _StandIn):
                continue
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if vars(sys.modules.get(parent, stand_in)).get(child) is stand_in:
                delattr(sys.modules[parent], child)


class _Finder(MetaPathFinder, Loader):
    def __init__(self, packages: tuple[str, ...], part: SdkPart | None) -> None:
        self._packages = packages
        self._part = part

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if self._part and name == self._part.models and (real := PathFinder.find_spec(name, path)):
            real.loader = _Sparse(cast(InspectLoader, real.loader), self._part.classes)
            return real
        mine = name.startswith(tuple(f"{package}." for package in self._packages)) or name in self._packages
        return ModuleSpec(name, self, is_package=True) if mine else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in a stand-in."""


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from pydantic import BaseModel

        class Unused(BaseModel):
            def __class_getitem__(cls, _: object) -> Any:  # a generic, should it be one
                return cls

        Unused.__name__ = Unused.__qualname__ = name
        setattr(self, name, Unused)
        return Unused


class _Absent:
    """Stands in for every class that is not made."""


class _Sparse(Loader):
    """Runs a module as it stands, but makes only some of its classes."""

    def __init__(self, real: InspectLoader, classes: tuple[str, ...]) -> None:
        self._real, self._classes = real, classes

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing but the usual module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run its code with a class statement that passes over what is not used."""
        found: list[Any] = []

        def made(body: Any, name: str, *bases: Any, **given: Any) -> Any:
            if not name.startswith(self._classes):
                return _Absent  # the same for all: unions of it are itself, at no cost
            found.append(builtins.__build_class__(body, name, *bases, **given))
            return found[-1]

        code = self._real.get_code(module.__name__)
        assert code is not None
        vars(module)["__builtins__"] = {**vars(builtins), "__build_class__": made}
        exec(code, vars(module))
        for model in found:
            if hasattr(model, "model_rebuild"):  # while the module can still be found by name
                model.model_rebuild()
