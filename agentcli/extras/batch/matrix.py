"""Matrix of a batch: each task with each variant of the agent, several times. Pure."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agentcli.core.dataclass import dataclass
from agentcli.extras.batch.tasks import ID_CHARACTERS, Task


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run each task.

    Empty fields keep the task's own values; `settings` are `NAME=VALUE` and follow the task's own.
    """

    label: str
    model: str = ""
    system_prompt: str = ""
    settings: tuple[str, ...] = ()


def expanded(tasks: Sequence[Task], variants: Sequence[Variant], repeat: int) -> Iterator[Task]:
    """Yield the runs of each task. All first runs come first: even a batch that a cap stops has tried every task.

    The first run of a single variant keeps the task's id, so a later batch can add repetitions. Other ids get the
    variant's label if there are several, and the run's number from 2 on.
    """
    several = len(variants) > 1
    for number in range(1, repeat + 1):
        for task in tasks:
            for variant in variants:
                parts = [task.id, *[variant.label] * several, *[str(number)] * (number > 1)]
                yield replace(
                    task,
                    id=_shortened(".".join(parts)),
                    of=task.id if several or repeat > 1 else "",
                    variant=variant.label,
                    repeat=number,
                    model=variant.model or task.model,
                    system_prompt=variant.system_prompt or task.system_prompt,
                    settings=(*task.settings, *variant.settings),
                )


def variants(models: Sequence[str], prompts: Mapping[str, str], settings: Sequence[str]) -> list[Variant]:
    """Return every combination of models, system prompts by name, and values of settings that are given several times.

    An empty prompt is the program's own. A setting with one value applies to all.
    """
    values: dict[str, list[str]] = {}
    for each in settings:
        values.setdefault(each.partition("=")[0], []).append(each)
    named_models = list(zip(labels(models), models, strict=True)) or [("", "")]
    named_prompts = list(zip(labels([*prompts]), prompts.values(), strict=True)) or [("", "")]
    found = []
    for model_label, model in named_models:
        for prompt_label, prompt in named_prompts:
            for chosen in itertools.product(*values.values()):
                differing = [
                    model_label if len(models) > 1 or not prompts else "",
                    prompt_label if len(prompts) > 1 or not models else "",
                    *(_setting_label(each) for each in chosen if len(values[each.partition("=")[0]]) > 1),
                ]
                found.append(Variant("-".join(filter(None, differing)), model, prompt, chosen))
    return found


def _setting_label(setting: str) -> str:
    """Return the last part of a setting's name with its value: `effort-high` of `agent.effort=high`."""
    name, _, value = setting.partition("=")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{name.rpartition('.')[2]}-{value}").strip("-")


def labels(names: Sequence[str]) -> list[str]:
    """Return a short, unique label for each name, in the characters of ids. It is the last part of a model's name, or a
    file's stem.
    """
    found: list[str] = []
    for name in names:
        last = re.sub(r"\.(?:json|md|txt)$", "", re.split(r"[/:]", name.rstrip("/"))[-1])
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", last).strip("-")[:24] or "model"
        same = [label for label in found if label == plain or label.startswith(f"{plain}-")]
        found.append(f"{plain}-{len(same) + 1}" if plain in found else plain)
    return found


def _shortened(id: str) -> str:
    """Return the id, or, if it is too long, its ends around a digest."""
    if len(id) <= ID_CHARACTERS:
        return id
    return f"{id[:24]}-{hashlib.sha256(id.encode()).hexdigest()[:8]}-{id[-24:]}"
