"""Early import of SDKs in a thread: it takes seconds, and must not block the event loop."""

from __future__ import annotations

import threading
from types import ModuleType

from agentcli.core.garbage import nothing_collected
from agentcli.providers.registry import PROVIDERS

_importing = threading.Lock()
_embedded = threading.Event()
_parts: dict[str, ModuleType] = {}
"""For each kind of provider the part of its SDK that was imported for this program alone."""


def embed() -> None:
    """From now on this process is somebody else's: SDKs are imported whole, since the program around us may use all of them, and its garbage collector is left alone."""
    _embedded.set()


def warm(kind: str) -> None:
    """Import the SDK that `kind` needs, in the calling thread; nothing where it needs none or has it already.

    Collecting garbage meanwhile would stop the other threads for long, and what was imported is never garbage.
    """
    import sys
    from contextlib import nullcontext

    from agentcli.providers.partial_import import import_partly

    provider = PROVIDERS[kind]
    with _importing:
        missing = [module for module in provider.sdk if module not in sys.modules]
        if not missing and (provider.sdk_part is None or kind in _parts):
            return
        ours = not _embedded.is_set()
        with nothing_collected() if ours else nullcontext():
            import_partly(missing, provider.sdk_unused if ours else ())
            if provider.sdk_part:
                from agentcli.providers.private_import import import_part

                _parts[kind] = import_part(provider.sdk_part)


def own_sdk(kind: str) -> ModuleType:
    """The part of the SDK of `kind` that is used."""
    if kind not in _parts:
        warm(kind)
    return _parts[kind]


async def warmed(kind: str) -> None:
    """Have the SDK: wait without blocking for a thread that is at it, else import it here, which is faster than in a thread."""
    if _importing.locked():
        import asyncio

        await asyncio.to_thread(warm, kind)
    else:
        warm(kind)
