"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("agentcli", deadline=None)
settings.load_profile("agentcli")
