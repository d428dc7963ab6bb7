"""A task of Inspect AI: a dataset of two words, each to be written into a file, and its scorer."""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task  # type: ignore[import-not-found]
from inspect_ai.dataset import Sample  # type: ignore[import-not-found]
from inspect_ai.scorer import Score, accuracy, scorer, stderr  # type: ignore[import-not-found]
from inspect_ai.util import sandbox  # type: ignore[import-not-found]


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def wrote() -> Any:
    async def score(state: Any, target: Any) -> Any:
        try:
            text = await sandbox().read_file("greeting.txt")
        except FileNotFoundError:
            text = ""
        return Score(value="C" if text.strip() == target.text else "I", answer=text)

    return score


@task  # type: ignore[untyped-decorator]
def greet() -> Any:
    words = ("hello", "goodbye")
    dataset = [Sample(id=word, input=f"Write {word} into greeting.txt", target=word) for word in words]
    return Task(dataset=dataset, scorer=wrote(), sandbox="local")
