"""Attacks as programs: each can be run by itself (`python -m tests.attack.NAME [COUNT]`) and prints what it found."""
