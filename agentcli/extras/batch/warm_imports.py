"""Modules that an agent imports before its first command ends, for the fork server of a batch to import beforehand."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

MODULES = (
    "agentcli.__main__",
    "agentcli.frontends.cli.parser",
    "agentcli.frontends.cli.run_commands",
    "agentcli.program.demo",
    "agentcli.frontends.cli.launch",
    "agentcli.program.program",
    "agentcli.frontends.headless.print_mode",
    "agentcli.agent.compaction.run",
    "agentcli.agent.loop",
    "agentcli.permissions.shell.effects.reading",
    "agentcli.permissions.shell.command_line",
    "agentcli.permissions.sandbox.launch",
    "agentcli.features.hooks.files",
    "agentcli.system.logs",
    "concurrent.futures.thread",
    "tree_sitter",
    "tree_sitter_bash",
)


def import_all(kinds: str) -> None:
    """Import all modules, and the SDKs of these wire formats with their adapters and the modules that a connection needs."""
    from agentcli.core.errors import AgentError
    from agentcli.providers.connect import warm
    from agentcli.providers.http import http_client
    from agentcli.providers.registry import PROVIDERS
    from agentcli.providers.settings import ProviderSettings

    for name in MODULES:
        import_module(name)
    for kind in kinds.split():
        warm(kind)
        import_module(PROVIDERS[kind].adapter.partition(":")[0])
        if PROVIDERS[kind].sdk:
            with suppress(AgentError):  # each agent reports for itself that certificates or a proxy cannot be used
                http_client(ProviderSettings(kind, kind))
            import_module("anyio._backends._asyncio")
