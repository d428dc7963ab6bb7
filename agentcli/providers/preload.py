"""Early import of SDKs in a thread: it takes seconds, and must not block the event loop."""

from __future__ import annotations

import threading

from agentcli.providers.registry import PROVIDERS

_importing = threading.Lock()


def warm(kind: str, *, freeze: bool = True) -> None:
    """Import the SDK that `kind` needs, in the calling thread; nothing where it needs none or has it already.

    Collecting garbage meanwhile would stop the other threads for long, and what was imported is never garbage. Without
    `freeze` the collector is left alone: in a program of somebody else it is not ours.
    """
    import gc
    import sys

    from agentcli.providers.partial_import import import_partly

    with _importing:
        missing = [module for module in PROVIDERS[kind].sdk if module not in sys.modules]
        if not missing:
            return
        was_enabled = gc.isenabled()
        if freeze:
            gc.disable()
        try:
            import_partly(missing, PROVIDERS[kind].sdk_unused)
        finally:
            if freeze:
                gc.freeze()
            if was_enabled:
                gc.enable()


async def warmed(kind: str) -> None:
    """Have the SDK: wait without blocking for a thread that is at it, else import it here, which is faster than in a thread."""
    if _importing.locked():
        import asyncio

        await asyncio.to_thread(warm, kind)
    else:
        warm(kind)
