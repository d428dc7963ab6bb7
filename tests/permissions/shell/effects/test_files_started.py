"""Files that hooks and servers run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.permissions.sandbox import box_for
from agentcli.permissions.shell.effects.files_started import files_started
from agentcli.permissions.started import Started
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row


def project(tmp_path: Path, command: str | list[str], folder: str = "") -> Workspace:
    work = tmp_path / "work"
    for name in ("scripts/check.sh", "ci/rules.toml", "pkg/serve.py", "free.py"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x\n")
    started = files_started([Started("the hook Stop of .claude/settings.json", command, work / folder)], (work,))
    return Workspace(work, (work,), tmp_path / "home", started=lambda: started)


def named(tmp_path: Path, command: str | list[str], folder: str = "") -> set[str]:
    workspace = project(tmp_path, command, folder)
    return {str(path.relative_to(workspace.cwd)) for path in workspace.started() if os.path.exists(path)}


@each_row(
    ("command", "expected"),
    [
        ("scripts/check.sh", {"scripts/check.sh"}),
        ("sh ./scripts/check.sh --rules=ci/rules.toml && true", {"scripts/check.sh"}),
        ('"$CLAUDE_PROJECT_DIR"/scripts/check.sh', {"scripts/check.sh"}),
        ("sh -c 'cd . && ${AGENTCLI_PROJECT_DIR}/scripts/check.sh;true'", {"scripts/check.sh"}),
        ("python3 -m pkg.serve", {"pkg/serve.py"}),
        (["python3", "pkg/serve.py", "--config=ci/rules.toml"], {"pkg/serve.py"}),
        ("cat <free.py | sh -c \"unclosed 'quote", {"free.py"}),
        ("cat free.py | sh", {"free.py"}),
        ("npx -y tsx --tsconfig=tsconfig.json scripts/check.sh", {"scripts/check.sh"}),
        ("python3 -c 'from pkg.serve import main; main()'", {"pkg/serve.py"}),
        ("cd scripts && ./check.sh", {"scripts/check.sh"}),
        ("npm test", set()),
        ("echo 'Run free.py and scripts/check.sh before you push to main'", set()),
        ("grep -c x pkg/serve.py; echo free.py", set()),
        ("notify --text 'see pkg/serve.py' free", set()),
        ("ls scripts . /etc/passwd", set()),
    ],
)
def test_files_that_a_command_names_are_found(tmp_path: Path, command: str | list[str], expected: set[str]) -> None:
    assert named(tmp_path, command) == expected


@each_row("argument", ["x" * 300, '{"token": "' + "y" * 5000 + '"}', "loop/x", "Authorization: Bearer " + "z" * 256])
def test_an_argument_that_no_system_call_takes_as_a_path_names_no_file(tmp_path: Path, argument: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/loop").symlink_to("loop")
    assert named(tmp_path, ["serve", argument]) == named(tmp_path, f"serve '{argument}'") == set()


def test_a_command_names_files_from_the_folder_it_runs_in(tmp_path: Path) -> None:
    assert named(tmp_path, "./check.sh", folder="scripts") == {"scripts/check.sh"}


@each_row("mode", ["ask", "yolo"])
def test_the_words_of_a_hook_protect_no_path(tmp_path: Path, mode: Mode) -> None:
    workspace = project(tmp_path, "echo 'Run make test and pytest before you push to main'; guard.sh --log main")
    rules = parse_rules(allow=["bash(make *)", "bash(git *)", "bash(npm *)", "bash(touch *)"])
    for command in ("make test", "git push origin main", "git checkout main", "npm run push", "touch test"):
        decision = explain_command(command, workspace, mode, rules)
        assert (decision.decision, decision.why) == ("allow", "a rule from config allows it"), command


MODES: list[Mode] = ["ask", "auto-edit", "auto", "yolo"]


@each_row("mode", MODES)
@pytest.mark.parametrize("path", ["scripts/check.sh", "free.py/../scripts/check.sh", "missing.sh"])
def test_an_edit_of_what_a_hook_runs_asks_in_every_mode(tmp_path: Path, mode: Mode, path: str) -> None:
    workspace = project(tmp_path, "sh scripts/check.sh; ./missing.sh")
    rules: Rules = parse_rules(allow=["write"])
    decision = explain(ToolCall("c", "write", {"file_path": path, "content": "y"}), rules, mode, workspace)
    assert (decision.decision, decision.always) == ("ask", "")
    assert decision.why == f"the hook Stop of .claude/settings.json runs {Path(path).name}"


def test_other_files_are_edited_as_before(tmp_path: Path) -> None:
    workspace = project(tmp_path, "sh scripts/check.sh")
    for path in ("free.py", "scripts/other.sh"):
        call = ToolCall("c", "write", {"file_path": path, "content": "y"})
        assert explain(call, Rules(), "auto-edit", workspace).decision == "allow"
    assert (
        explain(ToolCall("c", "read", {"file_path": "scripts/check.sh"}), Rules(), "ask", workspace).decision == "allow"
    )


def test_the_sandbox_keeps_what_a_hook_runs_read_only(tmp_path: Path) -> None:
    workspace = project(tmp_path, "sh scripts/check.sh; ./missing.sh")
    assert box_for(workspace).readonly == (workspace.cwd / "scripts/check.sh",)


@each_row(
    "command",
    ["echo y > scripts/check.sh", "cp free.py scripts/check.sh", "sed -i s/x/y/ scripts/check.sh", "mv scripts other"],
)
def test_a_command_that_writes_what_a_hook_runs_asks(tmp_path: Path, command: str) -> None:
    workspace = project(tmp_path, "sh scripts/check.sh")
    decision = explain_command(command, workspace, "yolo")
    assert decision.decision == "ask"
    assert "the hook Stop" in decision.why
