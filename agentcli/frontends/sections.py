"""Sections of the configuration: the class of each by name, in the order of listings."""

from agentcli.agent.settings import AgentSettings, PermissionSettings
from agentcli.context.settings import BudgetSettings, ContextSettings
from agentcli.core.tool import ToolLimits
from agentcli.features.hooks.settings import HookSettings
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.program.config.general import McpSettings
from agentcli.program.config.schema import Schema
from agentcli.providers.settings import RetryPolicy
from agentcli.sessions.settings import CheckpointLimits, Retention

SCHEMA = Schema(
    {
        "agent": AgentSettings,
        "context": ContextSettings,
        "budget": BudgetSettings,
        "tools": ToolLimits,
        "retry": RetryPolicy,
        "checkpoints": CheckpointLimits,
        "retention": Retention,
        "permissions": PermissionSettings,
        "hooks": HookSettings,
        "mcp": McpSettings,
        "ui": UiSettings,
    }
)
