"""The Python API: sessions of the agent in your program. The package `agentcli` exports its names.

A program that embeds agentcli keeps its process to itself: agentcli sets no signal handler, writes nothing to stdout or
stderr, and changes neither folder nor environment of the process. Sessions may run in any thread that has an event
loop.
"""
