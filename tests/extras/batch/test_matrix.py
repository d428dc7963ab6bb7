"""The matrix of a batch."""

from __future__ import annotations

from dataclasses import replace

from agentcli.extras.batch.matrix import Variant, expanded, labels, variants
from agentcli.extras.batch.tasks import Task

TASKS = [Task("a", "do a", "/"), Task("b", "do b", "/", model="own", settings=("x=1",))]


def test_a_single_run_of_a_single_variant_changes_nothing_that_decides_a_result() -> None:
    runs = list(expanded(TASKS, variants((), {}, ()), 1))
    assert [(run.id, run.model, run.digest) for run in runs] == [(task.id, task.model, task.digest) for task in TASKS]


def test_a_batch_may_be_repeated_more_often_later() -> None:
    once, thrice = (list(expanded(TASKS, [Variant("m", "m")], times)) for times in (1, 3))
    assert [run.id for run in thrice] == ["a", "b", "a.2", "b.2", "a.3", "b.3"]
    assert [run.digest for run in thrice[:2]] == [run.digest for run in once]
    assert [(run.of, run.repeat) for run in thrice[2:4]] == [("a", 2), ("b", 2)]


def test_each_task_is_run_with_each_model_prompt_and_value_of_a_setting() -> None:
    found = variants(["p/one", "p/two"], {"terse.md": "Be terse."}, ["agent.effort=low", "agent.effort=high", "y=2"])
    assert [each.label for each in found] == ["one-effort-low", "one-effort-high", "two-effort-low", "two-effort-high"]
    assert found[1] == Variant("one-effort-high", "p/one", "Be terse.", ("agent.effort=high", "y=2"))
    runs = list(expanded(TASKS, found, 2))
    assert len(runs) == len({run.id for run in runs}) == 16
    assert runs[4].id == "b.one-effort-low"
    assert (runs[4].model, runs[4].settings) == ("p/one", ("x=1", "agent.effort=low", "y=2"))


def test_labels_differ_and_ids_stay_short() -> None:
    names = ["anthropic/claude-sonnet-4-5", "other/claude-sonnet-4-5", "script:some/where/m.json", "x/" + "y" * 99]
    assert labels(names) == ["claude-sonnet-4-5", "claude-sonnet-4-5-2", "m", "y" * 24]
    long = [replace(TASKS[0], id=letter * 60) for letter in "ab"]
    runs = list(expanded(long, variants(names, {}, ()), 12))
    assert len({run.id for run in runs}) == len(runs) == 96
    assert max(len(run.id) for run in runs) == 64


def test_a_task_without_the_newer_fields_has_the_digest_of_former_versions() -> None:
    # Otherwise batches that an earlier version began would not go on.
    assert TASKS[0].digest == "0da668aa545c54f750d123cf9bb2de5c6191306532fdc1671c3a43b14e6653f8"
    assert TASKS[0].digest != replace(TASKS[0], system_prompt="other").digest
