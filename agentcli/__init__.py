"""agentcli, a coding agent for the terminal whose context engine never forgets what matters."""

__version__ = "0.1.0"

_NAMES = {
    **dict.fromkeys(("query", "run"), "frontends.python.query"),
    "Session": "frontends.python.session",
    **dict.fromkeys(("tool", "FunctionTool"), "tools.function_tool"),
    **dict.fromkeys(("run_batch", "BatchResult", "BatchTask", "BatchOptions"), "extras.batch.api"),
    **dict.fromkeys(("Approval", "Deny"), "frontends.python.asking"),
    **dict.fromkeys(("Question", "Choice"), "core.tool"),
    "RunOptions": "frontends.python.options",
    "AgentError": "core.errors",
    "Finding": "frontends.run.findings",
    "Usage": "core.message",
    **dict.fromkeys(
        (
            *("Result", "Denial", "ServerStatus", "InitEvent", "MessageEvent", "ThinkingEvent", "ToolCallEvent"),
            *("ToolResultEvent", "PermissionEvent", "UsageEvent", "PruneEvent", "CompactionEvent", "RetryEvent"),
            *("WarningEvent", "AnyEvent"),
        ),
        "frontends.run.events",
    ),
}
"""The names of the Python API, each with the module that it is imported from on first use."""


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
