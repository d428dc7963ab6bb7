"""The provider's own compaction at `auto`'s marks, for models that support it.

The standing rules, the user's words, pins and facts are added to its summary.
"""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.policies import auto
from agentcli.context.policies.plans import Plan
from agentcli.context.settings import PROVIDER
from agentcli.context.window import Window

POLICY = PROVIDER


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Return the plan of `auto`, at its marks alone.

    A summary by the session's own model costs too much to be made early.
    """
    settings = replace(window.settings, compact_horizon=0.0)
    return replace(auto.plan(replace(window, settings=settings), forced=forced), policy=POLICY)
