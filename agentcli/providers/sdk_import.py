"""Early import of SDKs, which takes seconds.

It runs in a thread, so the event loop continues. More than half of an SDK consists of packages that this program never
uses. During the import, stand-ins replace them; their names are empty models, which satisfy the annotations. Afterwards
the stand-ins are removed, so that a later import gets the real package.

Anthropic's SDK then takes a third of the processor time: 1.6 s instead of 5.0 on a busy machine. It takes 48 MB instead
of 80.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from agentcli.providers.registry import PROVIDERS

if TYPE_CHECKING:
    from importlib.abc import Loader


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for garbage: an import leaves hardly any, and its objects would be searched again and again.

    An embedding program has Python's own thresholds, with which that takes a seventh of the import.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_uncollected()
def import_partly(modules: Sequence[str], unused: Sequence[str]) -> None:
    """Import `modules` without the packages `unused`. If that fails for any reason, import them completely."""
    before = set(sys.modules)
    try:
        with _standing_in(tuple(unused)):
            for module in modules:
                import_module(module)
    except Exception:  # noqa: BLE001 - an SDK of another structure may fail in any way; importing it whole cures all
        tops = {name.partition(".")[0] for name in (*modules, *unused)}
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in tops:
                del sys.modules[name]
        for module in modules:
            import_module(module)


@contextmanager
def _standing_in(packages: tuple[str, ...]) -> Iterator[None]:
    # Modules that are loaded already are real, and remain.
    finder = _Finder(tuple(package for package in packages if package not in sys.modules))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, stand_in in list(sys.modules.items()):  # copied, because other threads import meanwhile
            if not isinstance(stand_in, _StandIn):
                continue
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if vars(sys.modules.get(parent, stand_in)).get(child) is stand_in:
                delattr(sys.modules[parent], child)


class _Finder:
    """A finder on `sys.meta_path`, and the loader of the modules that it finds."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages, self._below = packages, tuple(f"{package}." for package in packages)

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        mine = name.startswith(self._below) or name in self._packages
        return ModuleSpec(name, cast("Loader", self), is_package=True) if mine else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in is empty."""


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from pydantic import BaseModel

        class Unused(BaseModel):
            def __class_getitem__(cls, _: object) -> Any:  # for generic classes
                return cls

        Unused.__name__ = Unused.__qualname__ = name
        setattr(self, name, Unused)
        return Unused


_importing = threading.Lock()
_embedded = threading.Event()


def embed() -> None:
    """Import SDKs completely from now on: this process belongs to an embedding program, which may use them itself.

    What was imported with stand-ins would keep empty classes, such as clients of other clouds.
    """
    _embedded.set()


def warm(kind: str) -> None:
    """Import the SDK of `kind` in the calling thread, if there is one and it is not loaded."""
    provider = PROVIDERS[kind]
    with _importing:
        missing = [module for module in provider.sdk if module not in sys.modules]
        if not missing:
            return
        import_partly(missing, () if _embedded.is_set() else provider.sdk_unused)


async def warmed(kind: str) -> None:
    """Import the SDK, or await the thread that imports it; importing here is faster than in a thread."""
    if _importing.locked():
        import asyncio

        await asyncio.to_thread(warm, kind)
    else:
        warm(kind)
