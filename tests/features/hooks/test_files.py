"""Files of hooks: those of Claude Code as they lie, and every kind of broken one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentcli.features.hooks.files import Hook, HookFile, read_hooks
from tests.tables import each_row


def read(tmp_path: Path, content: Any, **more: Any) -> HookFile:
    path = tmp_path / "hooks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_hooks(path, "hooks.json", **more)


def one(tmp_path: Path, event: str = "PreToolUse", matcher: Any = "Bash", **entry: Any) -> HookFile:
    entry = {"type": "command", "command": "python3 guard.py", **entry}
    return read(tmp_path, {"hooks": {event: [{"matcher": matcher, "hooks": [entry]}]}})


def test_a_file_in_the_form_of_claude_code_is_read(tmp_path: Path) -> None:
    found = one(tmp_path, timeout=5, strict=True, **{"if": "Bash(git *)"})
    assert found.notes == ()
    (hook,) = found.hooks
    assert (hook.event, hook.command, hook.matcher, hook.timeout) == ("PreToolUse", "python3 guard.py", "Bash", 5.0)
    assert (hook.condition, hook.strict, hook.name, hook.line) == ("Bash(git *)", True, "guard.py", "python3 guard.py")


def test_no_file_has_no_hooks_and_other_settings_are_passed_over(tmp_path: Path) -> None:
    assert read_hooks(tmp_path / "none.json", "none.json") == HookFile()
    assert read(tmp_path, {"permissions": {"allow": ["Bash"]}, "model": "opus"}) == HookFile()


@pytest.mark.parametrize(("event", "seconds"), [("PreToolUse", 60), ("UserPromptSubmit", 30), ("SessionEnd", 5)])
def test_each_event_has_its_time(tmp_path: Path, event: str, seconds: float) -> None:
    assert one(tmp_path, event).hooks[0].timeout == seconds


@each_row(
    ("content", "note"),
    [
        ('{"hooks": {\n\n"a" 1}}', "hooks.json line 3: Expecting ':' delimiter — nothing in it takes effect."),
        ("[]", "hooks.json: it contains no JSON object — nothing in it takes effect."),
        ("[" * 100_000, "hooks.json: it is not usable JSON — nothing in it takes effect."),
        (" " * 1_000_001, "hooks.json: it is larger than 1,000,000 bytes — nothing in it takes effect."),
        ({"hooks": []}, 'hooks.json: "hooks" is not an object: none of its hooks run.'),
        ({"hooks": {"Stop": {}}}, "hooks.json: Stop is not a list: its hooks do not run."),
        ({"hooks": {"Stop": [5]}}, 'hooks.json: Stop has an entry without a list "hooks": it is left out.'),
        ({"hooks": {"Stopp": []}}, "Event Stopp is not supported; its hooks never run. Did you mean Stop"),
        (
            {"hooks": {"Stop": [{"hooks": [{"type": "agent"}]}]}},
            "hooks.json: hooks of type agent are left out: only command, http and prompt run here.",
        ),
        (
            {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}},
            "hooks.json: a hook of Stop has no usable command: it is left out.",
        ),
        (
            {"hooks": {"Stop": [{"hooks": [{"command": "x", "timeout": "5"}]}]}},
            "hooks.json: a hook of Stop has no usable timeout: it is left out.",
        ),
        (
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "if": "Bash(git *"}]}]}},
            "hooks.json: a hook of Stop has no usable if: it is left out.",
        ),
        (
            {"hooks": {"Stop": [{"matcher": "(", "hooks": []}]}},
            "hooks.json: the matcher '(' is not a regular expression",
        ),
        ({"disableAllHooks": True}, "hooks.json switches its hooks off (disableAllHooks)."),
    ],
)
def test_a_broken_file_gives_a_note_and_no_hook(tmp_path: Path, content: Any, note: str) -> None:
    found = read(tmp_path, content)
    assert found.hooks == ()
    assert [each[: len(note)] for each in found.notes] == [note]


def test_a_file_that_is_no_text_or_cannot_be_read_gives_a_note(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\0\x01{}")
    assert read_hooks(tmp_path / "x.json", "x.json").notes == ("x.json: it is not text — nothing in it takes effect.",)
    assert "nothing in it takes effect" in read_hooks(tmp_path, "folder").notes[0]


def test_what_a_file_says_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    found = one(tmp_path, command="\x1b[2J.py")
    assert "\x1b" not in found.hooks[0].name
    assert "\x1b" not in str(found.hooks[0].definition)
    assert "\x1b" not in "".join(read(tmp_path, {"hooks": {"\x1b[2J": []}}).notes)


@each_row(
    ("matcher", "runs"),
    [("", True), ("*", True), ("Bash", True), ("Edit|Bash", True), ("Edit, Bash", True), ("bash", True), ("Bas", False),
     ("Ba.h", True), ("^Notebook", False), ("mcp__.*", False)],
)  # fmt: skip
def test_matchers(matcher: str, runs: bool) -> None:
    assert Hook("PreToolUse", "x", matcher).matches("PreToolUse", ("bash", "Bash")) is runs
    assert not Hook("PreToolUse", "x", matcher).matches("PostToolUse", ("bash", "Bash"))


def test_a_prompt_has_nothing_to_match() -> None:
    assert Hook("UserPromptSubmit", "x", "Bash").matches("UserPromptSubmit", ("",))


def test_the_definition_changes_with_everything_that_decides_what_runs(tmp_path: Path) -> None:
    plain = one(tmp_path).hooks[0].definition
    others = [
        one(tmp_path, matcher="Edit"),
        one(tmp_path, event="Stop"),
        one(tmp_path, command="python3 guard2.py"),
        one(tmp_path, args=["-x"]),
        one(tmp_path, timeout=1),
        one(tmp_path, strict=True),
        one(tmp_path, **{"if": "Bash(ls)"}),
    ]
    assert len({plain.digest, *(other.hooks[0].definition.digest for other in others)}) == 8
    assert others[3].hooks[0].definition.starts == "'python3 guard.py' -x"


def test_a_pipe_is_not_waited_for_and_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert read_hooks(tmp_path / "pipe.json", "pipe.json").notes == (
        "pipe.json: it is not a regular file — nothing in it takes effect.",
    )
    (tmp_path / "large.json").write_bytes(b" " * 10_000_000)
    assert read_hooks(tmp_path / "large.json", "large.json").notes == (
        "large.json: it is larger than 1,000,000 bytes — nothing in it takes effect.",
    )
