"""The Python API: sessions of the agent in a program of yours. Its names are those of the package `agentcli`.

A program that embeds agentcli keeps its process to itself: no signal handler is set, nothing is written to stdout or stderr,
neither folder nor environment of the process are changed, and sessions may run in any thread that has an event loop.
"""
