"""Mode yolo asks before a command reaches past the workspace. The folders of these tests need not exist: all is told by the words."""

from dataclasses import replace
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain
from tests.tables import each_row

HOME = Path("/home/me")
SHOP = HOME / "projects/shop"
WORKSPACE = Workspace(
    SHOP,
    (SHOP,),
    HOME,
    (HOME / ".config/agentcli",),
    path="/nonexistent",
    env={"TMPDIR": "/tmp"},
    shell_env=lambda: {"HOME": str(HOME), "TMPDIR": "/tmp", "PWD": str(SHOP)},
)


def decided(
    command: str, mode: Mode = "yolo", rules: Rules | None = None, workspace: Workspace = WORKSPACE
) -> Decision:
    return explain(ToolCall("c", "bash", {"command": command}), rules or Rules(), mode, workspace)


def test_yolo_asks_before_what_reaches_past_the_workspace() -> None:
    reaching = commands("reaching.txt")
    assert len(reaching) > 250
    assert [command for command in reaching if decided(command).decision == "allow"] == []


def test_yolo_asks_about_no_daily_work() -> None:
    staying = commands("staying.txt")
    assert len(staying) > 250
    assert [(command, decided(command).why) for command in staying if decided(command).decision != "allow"] == []


def test_a_rule_for_all_commands_is_no_more_than_yolo_and_one_that_names_the_command_allows_it() -> None:
    assert decided("rm -f ~/x", "ask", parse_rules(allow=["bash"])).decision == "ask"
    assert decided("rm -f ~/x", "ask", parse_rules(allow=["bash(*)"])).decision == "ask"
    assert decided("rm -f ~/x", "yolo", parse_rules(allow=["bash(rm -f ~/x)"])).decision == "allow"
    assert (
        decided("systemctl restart web", "yolo", parse_rules(allow=["bash(systemctl restart *)"])).decision == "allow"
    )


def test_the_question_says_why_and_may_be_settled_for_good() -> None:
    asked = decided("systemctl restart web")
    assert asked.rule == "past the workspace"
    assert "services" in asked.why
    assert asked.always == "bash(systemctl restart web)"


def test_one_setting_lifts_it_for_a_container() -> None:
    lifted = replace(WORKSPACE, destroys=True)
    assert decided("rm -f /etc/passwd && shutdown -h now", workspace=lifted).decision == "allow"


def test_root_is_asked_as_well() -> None:
    root = replace(
        WORKSPACE,
        cwd=Path("/root/shop"),
        roots=(Path("/root/shop"),),
        home=Path("/root"),
        shell_env=lambda: {"HOME": "/root"},
    )
    for command in ("rm -rf ~/other", "rm /etc/hosts", "rm -rf /home/me", "cd .. && rm x", "usermod -p x root"):
        assert decided(command, workspace=root).decision == "ask", command
    for command in ("rm -rf node_modules", "apt-get install -y jq", "rm -rf /tmp/x", "cd src && rm x"):
        assert decided(command, workspace=root).decision == "allow", command


def test_a_variable_of_the_environment_has_its_value() -> None:
    def with_env(**more: str) -> Workspace:
        return replace(WORKSPACE, shell_env=lambda: more)

    assert decided('rm -rf "$OUT"/*').decision == "ask", "an empty variable leaves /*"
    assert decided('rm -rf "$OUT"/*', workspace=with_env(OUT="build")).decision == "allow"
    assert decided('rm -rf "$OUT"/*', workspace=with_env(OUT="/srv/www")).decision == "ask"
    assert decided('rm -rf "${OUT:-build}"').decision == "allow"
    assert decided('rm -rf "${OUT:-/srv}"', workspace=with_env(OUT="build")).decision == "allow"


@each_row(
    "command", ['rm -rf "$OUT"', ". ./env.sh; rm -rf $OUT", "export $(cat x); rm -rf $OUT", 'rm -rf "${OUT:-build}"']
)
def test_a_variable_that_the_program_does_not_have_may_be_set_for_the_command(command: str) -> None:
    unknown = replace(WORKSPACE, shell_env=lambda: None)
    assert decided(command, workspace=unknown).why == "rm of what only the shell knows"


def test_a_variable_is_known_to_be_empty_if_the_command_does_not_get_it() -> None:
    assert decided('rm -rf "$OUT"').decision == "allow"
    assert decided("unset OUT; rm -rf $OUT", workspace=replace(WORKSPACE, shell_env=lambda: None)).decision == "allow"
    for command in ('rm -rf "$HOSTNAME"', ". ./env.sh; rm -rf $OUT", "export $(cat x); rm -rf $OUT"):
        assert decided(command).decision == "ask", command


def test_a_program_in_a_folder_of_administration_needs_no_entry_in_a_table(tmp_path: Path) -> None:
    raised = tmp_path / "raises"
    raised.write_text("#!/bin/sh\n")
    raised.chmod(0o4755)
    workspace = replace(WORKSPACE, path=str(tmp_path))
    owned_by_root = raised.stat().st_uid == 0
    assert decided("raises x", workspace=workspace).decision == ("ask" if owned_by_root else "allow")
    raised.chmod(0o755)
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "plain").chmod(0o755)
    assert decided("plain x", workspace=workspace).decision == "allow"


@each_row(
    "command",
    [
        "(" * 3_000 + "ls" + ")" * 3_000,
        "$(" * 1_500 + "ls" + ")" * 1_500,
        'echo "$(' * 60 + ')"' * 60,
        "eval " * 60 + "rm -rf ~",
        "xargs " * 300 + "rm",
        "f() { f; f; rm -rf ~; }; f",
        "rm " + "{a,b}" * 400,
        f"python3 -c 'import os; os.remove({'+'.join(['a'] * 1_500)})'",
    ],
)
def test_what_goes_too_deep_to_be_followed_asks(command: str) -> None:
    assert decided(command).decision != "allow"


def test_the_reason_names_what_is_known_of_a_line_in_loops_with_too_many_rounds_to_try_all() -> None:
    rounds = " ".join(map(str, range(20)))

    def why(target: str) -> str:
        return decided(f'for a in {rounds}; do for b in {rounds}; do rm -rf {target} "$a" "$b"; done; done').why

    assert why("/etc").startswith("rm of /etc ")
    assert why("build") == "rm of what only the shell knows"


def test_a_link_that_leads_out_may_be_removed_or_renamed_and_nothing_is_written_through_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for command in ("rm outward", "unlink outward", "gio trash outward", "mv outward x", "touch outward"):
        assert decided(command, workspace=workspace).decision == "allow", command
    written = "truncate -s 0; tee; chmod 600; chown me; rsync -a src/; install README.md; sed -i s/a/b/; cp README.md; mv README.md"
    for begun in written.split("; "):
        name = begun.split()[0]
        asked = decided(f"{begun} outward", workspace=workspace)
        assert (asked.decision, asked.why) == ("ask", f"{name} of outward reaches past the workspace")
    for command in (
        "mv -t outward README.md",
        "cp -t outward README.md",
        "ln -sf README.md outward",
        "gio trash outward/hosts",
    ):
        assert decided(command, workspace=workspace).decision == "ask", command
