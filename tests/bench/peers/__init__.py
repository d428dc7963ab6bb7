"""Coding agents of others beside agentcli: how each is started, the endpoint that all of them talk to, and the measurements."""
