"""Answers of runs as JSON that matches a JSON Schema."""
