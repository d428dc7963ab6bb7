"""Features of the program.

Tools, slash commands, `doctor`'s checks and parts of the system prompt come in this order.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.features.checks import Checks
from agentcli.features.costs import Costs
from agentcli.features.extensions import PythonExtensions
from agentcli.features.goal import Goal
from agentcli.features.hooks import Hooks
from agentcli.features.mcp import Mcp
from agentcli.features.otel import OpenTelemetry
from agentcli.features.timers import Timers
from agentcli.frontends.built_in import (
    Accounts,
    AgentsFile,
    Changes,
    Checkpoints,
    Compress,
    Conversation,
    CostLine,
    Files,
    Importers,
    Instructions,
    InTerminal,
    OutputSchema,
    PlanMode,
    ProjectRules,
    PromptFiles,
    Questions,
    Recall,
    Remote,
    Scripts,
    Shell,
    SideQuestions,
    StatusCommand,
    Subagents,
    Todo,
    Web,
)
from agentcli.frontends.web_search import WebSearch
from agentcli.program.feature import Feature
from agentcli.program.program import Program

FEATURES: Sequence[Feature[Program]] = (
    Conversation(),
    Costs(),
    CostLine(),
    Accounts(),
    Files(),
    Shell(),
    Todo(),
    Recall(),
    Compress(),
    Questions(),
    PlanMode(),
    Web(),
    WebSearch(),
    Subagents(),
    PromptFiles(),
    Mcp(),
    Scripts(),
    Hooks(),
    PythonExtensions(),
    ProjectRules(),
    Checkpoints(),
    AgentsFile(),
    Instructions(),
    Changes(),
    Goal(),
    Timers(),
    Checks(),
    SideQuestions(),
    StatusCommand(),
    OpenTelemetry(),
    OutputSchema(),
    Remote(),
    Importers(),
    InTerminal(),
)
