from types import SimpleNamespace as AgentCapabilities  # noqa: F401
