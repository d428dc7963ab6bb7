"""Helpers for commands of the program and its features: flags, output, tables, progress, questions.

Imports only typer at once.
"""
