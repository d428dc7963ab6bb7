"""Inspect AI, a framework for evaluations: runs as its logs, and agentcli as a solver of its tasks. It is not a dependency."""
