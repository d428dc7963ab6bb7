"""Early import of SDKs in a thread: it takes seconds, and must not block the event loop."""

from __future__ import annotations

import threading

from agentcli.providers.registry import PROVIDERS

_importing = threading.Lock()
_embedded = threading.Event()


def embed() -> None:
    """Import SDKs whole from now on and leave garbage collection alone: this process belongs to a program around us."""
    _embedded.set()


def warm(kind: str) -> None:
    """Import the SDK that `kind` needs, in the calling thread, if there is one and it is not loaded."""
    import sys

    from agentcli.providers.partial_import import import_partly

    provider = PROVIDERS[kind]
    with _importing:
        missing = [module for module in provider.sdk if module not in sys.modules]
        if not missing:
            return
        import_partly(missing, () if _embedded.is_set() else provider.sdk_unused)


async def warmed(kind: str) -> None:
    """Import the SDK, or wait without blocking for the thread that does; importing here is faster than in a thread."""
    if _importing.locked():
        import asyncio

        await asyncio.to_thread(warm, kind)
    else:
        warm(kind)
