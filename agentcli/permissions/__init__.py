"""Decisions about calls: rules, modes, paths and commands, decided without running anything."""
