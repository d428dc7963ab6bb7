"""Tasks of a batch as JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.extras.batch.tasks import chosen, each_path, read_tasks
from tests.tables import each_row


def test_tasks_have_what_their_line_says_and_defaults_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("from a file")
    (tmp_path / "repo").mkdir()
    text = '{"id": "a", "prompt_file": "p.txt", "repo": "repo", "max_cost": 2, "meta": [1]}\n\n{"id": "b", "prompt": "x"}\n'
    first, second = read_tasks(text, tmp_path, {"check": "make", "max_cost": 0.5, "allow": ["read"], "attempts": 2})
    assert (first.prompt, first.repo, first.max_cost, first.meta) == ("from a file", str(tmp_path / "repo"), 2, [1])
    assert (second.check, second.max_cost, second.allow, second.attempts) == ("make", 0.5, ("read",), 2)
    assert first.digest != second.digest


@each_row(
    ("line", "words"),
    [
        ('{"id": "a", "promt": "x"}', "Line 2: unknown key 'promt'. Did you mean prompt"),
        ('{"id": "a/b", "prompt": "x"}', "'a/b' is not a valid id"),
        ('{"id": "..", "prompt": "x"}', "'..' is not a valid id"),
        ('{"prompt": "x"}', "is not a valid id"),
        ('{"id": "a"}', "it has no prompt"),
        ('{"id": "a", "prompt": "x", "attempts": true}', "attempts cannot be true"),
        ('{"id": "a", "prompt": "x", "max_cost": "1"}', 'max_cost cannot be "1"'),
        ('{"id": "a", "prompt": "x", "max_cost": NaN}', "max_cost cannot be NaN"),
        ('{"id": "a", "prompt": "x", "max_turns": -1}', "max_turns cannot be -1"),
        ('{"id": "a", "prompt": "x", "allow": [1]}', "allow is a list of strings"),
        ('{"id": "a", "prompt": "x", "allow": ["bash("]}', "'bash(' is not a rule"),
        ('{"id": "a", "prompt": "x", "deny": ["bsh"]}', "Line 2: deny: 'bsh' is about a tool that does not exist"),
        ('{"id": "a", "prompt": "x", "repo": "none"}', "is neither a folder nor a URL"),
        ('{"id": "a", "prompt": "x", "repo": "ext::sh -c id"}', "is neither a folder nor a URL"),
        ('{"id": "a", "prompt": "x", "attempts": 2}', "need a check"),
        ('{"id": "a", "prompt_file": "none"}', "none: No such file or directory."),
        ('{"id": "first", "prompt": "x"}', "there is a task 'first' already"),
        ("[1]", "not a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(line: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Line 2: ") as refused:
        read_tasks(f'{{"id": "first", "prompt": "x"}}\n{line}', tmp_path, {})
    assert words in str(refused.value)


def test_rules_of_options_are_checked_and_those_of_servers_and_other_programs_taken(tmp_path: Path) -> None:
    line = '{"id": "a", "prompt": "x", "allow": ["mcp__git__status", "Bash(git add:*)"]}'
    assert len(read_tasks(line, tmp_path, {"deny": ["read(.env)"]})) == 1
    (tmp_path / "a.py").touch()
    for read in (lambda given: read_tasks(line, tmp_path, given), lambda given: each_path("*", "x", tmp_path, given)):
        with pytest.raises(UsageError, match="'bash\\(' is not a rule"):
            read({"allow": ["bash("]})


def test_each_file_may_be_a_task(tmp_path: Path) -> None:
    for name in ("a b.py", "a-b.py", "c.txt"):
        (tmp_path / name).touch()
    tasks = each_path("*.py", "Port {path}.", tmp_path, {})
    assert [task.prompt for task in tasks] == ["Port a b.py.", "Port a-b.py."]
    assert len({task.id for task in tasks}) == 2
    with pytest.raises(InputError, match="No file matches"):
        each_path("*.rs", "x", tmp_path, {})


def test_tasks_are_chosen_by_id(tmp_path: Path) -> None:
    tasks = each_path("*", "x", _folder(tmp_path), {})
    assert chosen(tasks, [tasks[1].id]) == (tasks[1],)
    assert chosen(tasks, []) == tasks
    with pytest.raises(InputError, match="Unknown task"):
        chosen(tasks, ["nobody"])


def _folder(folder: Path) -> Path:
    for name in "abc":
        (folder / name).touch()
    return folder
