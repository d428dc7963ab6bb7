"""Early import of SDKs in a thread: it takes seconds, and must not block the event loop."""

from __future__ import annotations

import threading
from types import ModuleType

from agentcli.core.garbage import nothing_collected
from agentcli.providers.registry import PROVIDERS

_importing = threading.Lock()
_parts: dict[str, ModuleType] = {}
"""For each kind of provider the part of its SDK that was imported for this program alone."""


def warm(kind: str, *, freeze: bool = True) -> None:
    """Import the SDK that `kind` needs, in the calling thread; nothing where it needs none or has it already.

    Collecting garbage meanwhile would stop the other threads for long, and what was imported is never garbage. Without
    `freeze` the collector is left alone: in a program of somebody else it is not ours.
    """
    import sys
    from contextlib import nullcontext

    from agentcli.providers.partial_import import import_partly

    provider = PROVIDERS[kind]
    with _importing:
        missing = [module for module in provider.sdk if module not in sys.modules]
        if not missing and (provider.sdk_part is None or kind in _parts):
            return
        with nothing_collected() if freeze else nullcontext():
            import_partly(missing, provider.sdk_unused)
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
