"""Import of SDKs as copies for this program alone, without the parts that no request needs.

A copy consists of the SDK's own files, imported under another name, with stand-ins for the unused parts. Most of these
describe requests and replies of other kinds. The SDK under its own name is neither imported nor changed. So a program
that embeds this one has the whole SDK, at any time and in any thread. If it has imported the SDK already, there is no
copy.

Importing Anthropic's whole SDK takes 1.1 s of processor time, the copy 0.15 s.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from agentcli.providers.registry import PROVIDERS

if TYPE_CHECKING:
    from importlib.abc import Loader

_importing = threading.RLock()
_loaded: dict[tuple[str, bool], Any] = {}


def sdk_of(kind: str, whole: bool = False) -> Any:
    """Return the SDK of `kind`, imported in the calling thread if it is not loaded; by default without unused parts."""
    provider = PROVIDERS[kind]
    with _importing:
        if (kind, whole) not in _loaded:
            _loaded[kind, whole] = import_partly(provider.sdk, () if whole else provider.sdk_unused)
        return _loaded[kind, whole]


def warm(kind: str) -> None:
    """Import the SDK of `kind` in the calling thread, if there is one and it is not loaded."""
    if PROVIDERS[kind].sdk:
        sdk_of(kind)


async def warmed(kind: str, whole: bool = False) -> None:
    """Import the SDK, or await the thread that imports it; importing here is faster than in a thread."""
    if not _importing.acquire(blocking=False):
        import asyncio

        await asyncio.to_thread(sdk_of, kind, whole)
        return
    try:
        sdk_of(kind, whole)
    finally:
        _importing.release()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause garbage collection: an import leaves hardly any garbage, and its objects would be examined repeatedly.

    With Python's default thresholds, which an embedding program has, that takes a fifth of the import.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # otherwise the embedding program has frozen objects, which would be thawed
            gc.freeze()
            gc.unfreeze()  # moves them to the oldest generation, as a collection would
        if was_on:
            gc.enable()


@_uncollected()
def import_partly(sdk: str, unused: Sequence[str]) -> ModuleType:
    """Import a copy of the package `sdk` without its parts `unused`, for example `lib.tools`.

    If the package is imported already, nothing is unused, or the copy cannot be imported, import it whole.
    """
    if sdk in sys.modules or not unused:
        return import_module(sdk)
    copy = f"agentcli_copy_of_{sdk.replace('.', '_')}"
    finder = _Finder(copy, unused)
    sys.meta_path.insert(0, finder)  # it stays: what a copy imports later must find the stand-ins, too
    try:
        return _copied(sdk, copy)
    except BaseException as error:
        for name in [name for name in list(sys.modules) if f"{name}.".startswith(f"{copy}.")]:
            del sys.modules[name]
        if not isinstance(error, Exception):
            raise  # such as Ctrl-C
        return import_module(sdk)  # an SDK of another structure may fail in any way


def _copied(sdk: str, name: str) -> ModuleType:
    found = find_spec(sdk)
    spec = found and spec_from_file_location(
        name, found.origin, submodule_search_locations=list(found.submodule_search_locations or ())
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package {sdk}")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Finder:
    """A finder on `sys.meta_path` of the unused parts of a copy, and the loader of their stand-ins.

    Modules of single errors are not stood in for: the SDK raises them.
    """

    def __init__(self, copy: str, unused: Sequence[str]) -> None:
        self._packages = tuple(f"{copy}.{part}" for part in unused)
        self._below = tuple(f"{package}." for package in self._packages)

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if name not in self._packages and (not name.startswith(self._below) or name.endswith("_error")):
            return None
        spec = ModuleSpec(name, cast("Loader", self), is_package=True)
        spec.submodule_search_locations = [f"{folder}/{name.rpartition('.')[2]}" for folder in path or ()]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in is empty."""


class _StandIn(ModuleType):
    """A module in which each name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        part = type(name, (_Unused,), {"__module__": self.__name__})
        setattr(self, name, part)
        return part


class _Unused:
    """A class that satisfies annotations, also generic ones, and those of pydantic's models.

    A client creates an instance for each part of its API.
    """

    def __init__(self, *_: object, **__: object) -> None:
        """Create an instance for any arguments."""

    def __class_getitem__(cls, _: object) -> Any:
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> Any:
        from pydantic_core.core_schema import any_schema

        return any_schema()
