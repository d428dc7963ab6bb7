"""Facts about models."""

from __future__ import annotations

import pytest

from agentcli.core.model import ModelSpec


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (ModelSpec("google", "any", kind="google"), "never"),
        (ModelSpec("openrouter", "google/Gemini-3", kind="openai"), "never"),
        (ModelSpec("ollama", "gemma3", kind="openai"), "never"),
        (ModelSpec("anthropic", "claude-sonnet-5", kind="anthropic"), "ranges"),
    ],
)
def test_gemini_reads_lines_without_numbers_wherever_it_runs(model: ModelSpec, numbers: str) -> None:
    assert model.line_numbers == numbers
    assert model.name == f"{model.provider}/{model.id}"
