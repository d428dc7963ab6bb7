from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.record import MODES, Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain_command
from tests.tables import each_row

ALL = parse_rules(allow=["bash"])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = make_workspace(tmp_path_factory.mktemp("destructive"))
    (workspace.cwd / "build").mkdir()
    return workspace


def decided(command: str, workspace: Workspace, mode: Mode) -> Decision:
    return explain_command(command, workspace, mode, ALL)


def test_what_can_only_destroy_is_asked_about_in_every_mode_whatever_is_allowed(workspace: Workspace) -> None:
    destroying = commands("destroying.txt")
    assert len(destroying) > 100
    assert [command for command in destroying if decided(command, workspace, "yolo").decision == "allow"] == []
    for mode in MODES:
        assert {decided(command, workspace, mode).decision for command in destroying[::20]} <= {"ask", "deny"}
    assert decided("rm -rf /", workspace, "yolo").rule == "destructive"


@each_row(
    "command",
    [
        *(
            "rm -rf build",
            "rm -rf ./build/*",
            "cd build && rm -rf *",
            "cd build && rm -rf .",
            "rm -f *.o",
            "rm README.md",
        ),
        *(
            "find . -name '*.pyc' -delete",
            "find build -delete",
            "chmod -R u+w .",
            "chmod +x run.sh",
            "dd if=a of=b",
            "dd of=/dev/null",
        ),
        *(
            "rm -rf /tmp/x",
            "rm -rf /tmp/x/*",
            "echo 'rm -rf /'",
            "grep -rn 'rm -rf /' .",
            "mv a b",
        ),
        *(
            "git commit -m 'never rm -rf /'",
            "f() { ls | cat; }; f",
            "mkdir -p new && cd new && rm -rf *",
            "cat /dev/null > log.txt",
        ),
        *(
            "rsync -a --delete src/ build/",
            "mkswap --help",
            "D=build; rm -rf $D",
            "python3 -c \"shutil.rmtree('build')\"",
        ),
    ],
)
def test_ordinary_removal_does_not_ask_in_yolo(workspace: Workspace, command: str) -> None:
    assert decided(command, workspace, "yolo").decision == "allow"


def test_one_setting_lifts_it(workspace: Workspace) -> None:
    lifted = replace(workspace, destroys=True)
    assert decided("rm -rf ~", lifted, "yolo").decision == "allow"
    assert decided("sudo mkfs.ext4 /dev/sdb1", lifted, "yolo").decision == "allow"


def test_the_folder_that_a_cd_leads_to_counts(workspace: Workspace, tmp_path: Path) -> None:
    assert decided("cd / && rm -rf *", workspace, "yolo").rule == "destructive"
    assert decided("cd ~ && rm -rf .", workspace, "yolo").rule == "destructive"
    assert decided("cd nowhere; rm -rf *", workspace, "yolo").rule == "destructive", (
        "the cd fails, so it is the workspace"
    )
