"""The Python API: sessions of the agent in your program. The package `agentcli` exports its names.

In an embedding program agentcli keeps to itself: it sets no signal handler, writes nothing to stdout or stderr, and
changes neither folder nor environment of the process. Sessions may run in any thread with an event loop.
"""
