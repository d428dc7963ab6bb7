"""The Python API: sessions of the agent in your program. The package `agentcli` exports its names.

agentcli keeps to itself in an embedding program. It sets no signal handler and writes nothing to stdout or stderr. It
changes neither folder nor environment of the process. Sessions may run in any thread with an event loop.
"""
