import re
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.shell.effects.hiding import may_run
from agentcli.permissions.shell.syntax.parse import UNKNOWN as U
from agentcli.permissions.shell.syntax.state import Run
from agentcli.permissions.shell.syntax.values import BELOW
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row

NO_PUSH = parse_rules(deny=["bash(git push *)"])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("hiding"))


def decided(command: str, workspace: Workspace, mode: Mode = "yolo", *deny: str) -> str:
    rules = parse_rules(deny=deny) if deny else NO_PUSH
    return explain_command(command, workspace, mode, rules).decision


def test_what_may_be_a_denied_command_never_runs_unasked(workspace: Workspace) -> None:
    pushing = commands("pushing.txt")
    assert len(pushing) > 95
    assert [command for command in pushing if decided(command, workspace) == "allow"] == []


def test_what_is_another_command_is_not_asked_about(workspace: Workspace) -> None:
    others = commands("not_pushing.txt")
    assert len(others) > 30
    assert [command for command in others if decided(command, workspace) != "allow"] == []


@each_row(
    "command",
    [
        "w=push; git $w",
        "w=push; test -f no.py && w=status; git $w",
        "w=push; export w=status < no.py; git $w",
        "readonly w=push\nw=status\ngit $w",
        "g=git; $g push origin",
        "p() { git push; }; p",
        'g() { git "$@"; }; g push',
        "for w in push; do git $w; done",
        "git {push,origin}",
        "echo git push | xargs env",
        "parallel git ::: push",
        "x='push origin'; git $x",
        "make -f - <<< 'a: ; git push'",
        "make -f - <<< 'a: ; @git push'",
        *(
            f"echo git push | {shell}"
            for shell in ("env bash", "timeout 3 sh", "nohup bash -e", "env -i A=1 /bin/sh", "busybox sh", "exec bash")
        ),
        "printf 'git %s' push | timeout 3 bash",
        "PS4='$(git push)' bash -xc true",
        "read -r PS4 <<< '$(git push)'; set -x; :",
        "for PS4 in a '$(git push)'; do set -x; :; done",
        "BASH_ENV=<(echo git push) timeout 5 bash -c :",
        "mapfile -c1 -tC'git push #' < a.py",
        "readarray -td x -C 'git push #' < a.py",
        *(f"echo git push | bash {options}" for options in ("-eo pipefail", "-O extglob", "--rcfile x", "-es -- x")),
        *(f"echo git push | {shell} x" for shell in ("sh /dev/stdin", "nice bash -e /dev/fd/0", "source /dev/stdin")),
        "source /proc/self/fd/0 <<< 'git push'",
        "printf -v c 'git %s' push; $c",
    ],
)
def test_what_can_be_followed_to_the_denied_command_is_denied(workspace: Workspace, command: str) -> None:
    assert decided(command, workspace) == "deny"


def test_a_file_of_the_shell_may_stand_for_the_word(workspace: Workspace) -> None:
    assert decided("git pus*", workspace) == "ask"
    assert decided("git pul*", workspace) == "allow"
    assert decided("/usr/bin/g?t push", workspace) == "ask"


def test_options_before_the_subcommand_hide_none_of_another_program(workspace: Workspace) -> None:
    assert decided("npm --prefix . publish", workspace, "yolo", "bash(npm publish *)") == "ask"
    assert decided("docker --context x push shop", workspace, "yolo", "bash(docker push *)") == "ask"
    assert decided("npm --silent test", workspace, "yolo", "bash(npm publish *)") == "allow"


def test_a_rule_that_asks_is_followed_as_far(workspace: Workspace) -> None:
    rules = parse_rules(ask=["bash(git push *)"])
    call = ToolCall("c", "bash", {"command": "w=push; git $w"})
    assert explain(call, rules, "yolo", workspace).rule == "ask bash(git push *)"


def test_the_folders_of_a_line_need_not_exist() -> None:
    nowhere = Workspace(Path("/nowhere/shop"), (Path("/nowhere/shop"),), Path("/nowhere"))
    assert decided("cd sub && w=push && git $w", nowhere) == "deny"


PUSH, TAG = "bash(git push *)", "bash(git tag -d)"


@each_row(
    ("rule", "command", "decision"),
    [
        (PUSH, "git push", "deny"),
        (PUSH, "git -C . push", "deny"),
        (PUSH, "git pull", "allow"),
        (PUSH, "git pushy", "ask"),
        (PUSH, "git $x", "ask"),
        (PUSH, "git pull $x", "allow"),
        (PUSH, "$x push", "ask"),
        (PUSH, "$x pull", "ask"),
        (PUSH, "$x", "ask"),
        (PUSH, "git p$x", "ask"),
        (PUSH, "git $x pull", "ask"),
        (PUSH, "git -c alias.p=push p", "ask"),
        (PUSH, "git -calias.p=push p", "ask"),
        (PUSH, "git -c core.pager=cat log", "allow"),
        (PUSH, "git --config-env alias.p=X p", "ask"),
        (PUSH, "git --config-env=alias.p=X p", "ask"),
        (PUSH, "git --exec-path=/x log", "ask"),
        (PUSH, "git -c $x log", "ask"),
        (PUSH, "git config alias.p push", "ask"),
        (PUSH, "git config core.fsmonitor 'git push' && git status", "deny"),
        (PUSH, "git config --global core.editor 'git push -f'", "deny"),
        (PUSH, "git config user.name 'A B' && git config core.autocrlf true", "allow"),
        (PUSH, "git send-pack origin main", "ask"),
        (PUSH, "git config user.name x", "allow"),
        (PUSH, "git mine", "ask"),
        (PUSH, "git", "allow"),
        (PUSH, "GIT_CONFIG_COUNT=1 git log", "ask"),
        (PUSH, "echo git", "allow"),
        (PUSH, "ln -s /usr/bin/git x", "ask"),
        (PUSH, "ln -s /usr/bin/make x", "allow"),
        (PUSH, "cp git x", "allow"),
        (TAG, "git tag", "allow"),
        (TAG, "git tag $x", "ask"),
        (TAG, "git tag -d", "deny"),
        (TAG, "git tag -l", "allow"),
        ("bash(npm publish *)", "npm $x", "ask"),
        ("bash(npm publish *)", "npm run $x", "allow"),
        ("bash(npm publish *)", "npm mine", "allow"),
        ("bash(make)", "make", "deny"),
        ("bash(make)", "$x", "ask"),
        ("bash(make)", "cmake", "allow"),
    ],
)  # fmt: skip
def test_a_denied_command_may_be_hidden_by_words_aliases_and_other_names(
    workspace: Workspace, rule: str, command: str, decision: str
) -> None:
    assert decided(command, workspace, "yolo", rule) == decision


COPIES = """
cat /bin/rm > q; ./q x|cat < /usr/bin/rm > q|cat /bin/rm \\| tee q|tee q < /bin/rm|dd if=/bin/rm of=q|head -c 9999 /bin/rm > q|sed '' /bin/rm > q
base64 /bin/rm \\| base64 -d > q|tar cf - /bin/rm \\| tar xf - --transform s/rm/q/|curl file:///bin/rm -o q|curl -o q file:///usr/bin/rm|sort /bin/rm > q
cd /bin && cat rm > /srv/q|cd /usr/bin; cp rm /srv/q|cat /bin/r? > q|cat /bin/r* > q|cat /usr/bin/../bin/"rm" > q|F=/bin; cat $F/rm > q|cp $X/rm q
for f in /bin/rm; do cat $f > q; done|find /bin/rm -exec cat {} + > q|echo /bin/rm \\| xargs cat > q|exec 3< /bin/rm; cat <&3 > q|cat <(cat /bin/rm) > q
cpio -p q < /bin/rm|git hash-object -w /bin/rm|nice cat ~/.local/bin/rm > q|ssh host cat /bin/rm > q|/lib64/ld-linux-x86-64.so.2 /bin/rm x
cp $(which rm) q; ./q x|ln -s "$(type -P rm)" q|cat `which rm` > q
"""
NO_COPIES = """
ls -l /bin/rm|stat /usr/bin/rm|test -x /bin/rm|[ -x /bin/rm ]|echo /bin/rm|which rm|cat /srv/docs/rm|cat bin/rm > q|cp rm x|cd src && cat rm > q
cp /bin/ls q|cat /bin/rmdir > q|git log -- rm|git commit -m "like /bin/rm does"|find . -name rm|cat $X > q|echo 'rm /bin/rm' > note.txt|npm run rm
ls -l $(which rm)|cp $(which ls) q
"""


@each_row(
    ("command", "decision"),
    [
        (command.replace("\\|", "|"), decision)
        for table, decision in ((COPIES, "ask"), (NO_COPIES, "allow"))
        for line in table.strip().split("\n")
        for command in re.split(r"(?<!\\)\|", line)
    ],
)
def test_what_gets_the_file_of_a_denied_program_may_run_it_under_another_name(
    workspace: Workspace, command: str, decision: str
) -> None:
    assert decided(command, workspace, "yolo", "bash(rm *)") == decision


@each_row(
    ("words", "head", "may"),
    [
        ("git ?u", "git pu", True),
        ("git ?", "git pu", True),
        ("git ?", "git pu ", False),
        ("git p?s", "git push", True),
        ("git pu[s]", "git push", True),
        ("git pu[s]", "git push ", False),
        (f"git p{U}", "git push ", True),
        (f"git x{U}", "git push ", False),
        (f"git {U}h", "git push ", True),
        (f"git {U}x", "git push ", False),
        (f"{U} push", "git push ", True),
        (f"a{U} push", "git push ", False),
        (f"/usr/bin/{U} push", "git push ", True),
        (f"{U}", "git push -f ", True),
        ("git*", "git push -f ", False),
        (f"g{BELOW}", "git push -f ", True),
        ("gi?", "git push ", False),
        ("gi? pull", "git push ", False),
        (f"gi{U} pull", "git push ", True),
        (f"gi{U} pushy", "git push", True),
        ("gi? pushy", "git push", True),
        ("gi? pushy", "git push ", False),
        ("git -c x push", "git push ", False),
        ("npm -c publish", "npm publish ", True),
        ("npm -c x", "npm publish ", False),
        ("npm x publish", "npm publish ", False),
        ("npm -c", "npm ", False),
        ("ln /usr/bin/git", "git push ", True),
        ("cp git", "git push ", False),
        ("ls /usr/bin/git", "git push ", False),
        ("timeout 9 /usr/bin/git log", "git push ", False),
        ("", "git", False),
        ("git", " ", False),
        (f"env {U} push", "git push ", False),
        (f"git -c x{U} log", "git push ", True),
        ("git -c alias.x=1 log", "git push ", True),
        (f"git -c {U} log", "git push ", True),
        ("git -c x=y log", "git push ", False),
        (f"git -c{U} log", "git push ", True),
        (f"git --config-env x{U} log", "git push ", True),
        (f"git --config-env=x{U} log", "git push ", True),
        ("git --config-env=x=y log", "git push ", False),
        (f"git lo{U}", "git push ", False),
        ("git mine", "git push ", True),
        ("git config alias.x", "git push ", True),
        ("git config x Include.path", "git push ", True),
        ("git config x y", "git push ", False),
        ("git log alias.x", "git push ", False),
        ("git log alias.x", "git", False),
    ],
)  # fmt: skip
def test_unknown_words_may_be_those_of_a_rule(words: str, head: str, may: bool) -> None:
    assert may_run(Run(tuple(words.split()), (Path("/work"),)), head) is may
