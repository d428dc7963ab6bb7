"""What wider rules are offered and cover: folders to read, variables, scripts, whole programs, servers of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError
from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import Rules, in_own_names, parse_rules, proposed_rules
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    logs = tmp_path / "logs/today"
    logs.mkdir(parents=True)
    for name in ("a.log", "b.log", ".env"):
        (logs / name).write_text("x\n")
    (logs / "Makefile").write_text("test:\n")
    (made.cwd / "scripts").mkdir(exist_ok=True)
    (made.cwd / "tools").mkdir()
    for name in (
        "tools/python3",
        "tools/env",
        "tools/curl",
        "tools/node",
        "scripts/check.sh",
        "scripts/gen.py",
        "run.sh",
    ):
        (made.cwd / name).write_text("")
        (made.cwd / name).chmod(0o755)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("wrapped", "pager"):
        (programs / name).write_text("")
        (programs / name).chmod(0o755)
    return replace(made, path=f"{programs}:/usr/bin:/bin")


def asked(command: str, workspace: Workspace, rules: Sequence[str] = ()) -> Decision:
    call = ToolCall("c", "bash", {"command": command})
    return explain(call, proposed_rules(rules), "ask", workspace)


def logs(workspace: Workspace) -> Path:
    return workspace.cwd.parent / "logs/today"


@each_row(
    ("path", "scope"),
    [
        (".tool/plugins/cache/a/1.0/skills/b/SKILL.md", ".tool/plugins/**"),
        (".tool/data/a/b.md", ".tool/data/a/**"),
        (".tool/kept/a/b.md", ".tool/kept/a/**"),
        (".tool/hooks.json", ".tool/hooks.json"),
        (".config/tool/x.toml", ".config/tool/x.toml"),
        (".config/tool/themes/a/x.toml", ".config/tool/themes/**"),
        (".local/share/tool/logs/a/x.log", ".local/share/tool/logs/**"),
        ("code/other/src/x.py", "code/other/**"),
        ("code/secret/src/x.py", "code/secret/src/**"),
        ("papers/2020/a/x.md", "papers/2020/a/**"),
    ],
)
def test_the_answer_about_reading_covers_a_repository_or_a_kind_of_data_without_secrets(
    path: str, scope: str, workspace: Workspace
) -> None:
    home = workspace.home
    for name in (path, ".tool/data/id_rsa", ".tool/kept/c/auth.json", "code/other/.git/HEAD", "code/secret/.git/HEAD"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    (home / "code/secret/.env").touch()
    here = replace(workspace, sandboxed=True)
    offered = (f"read({home}/{scope})",)
    call = ToolCall("c", "bash", {"command": f"head -3 {home}/{path}"})
    found = explain(call, parse_rules(), "auto", here)
    assert (found.decision, found.grants()) == ("ask", offered)
    assert explain(call, parse_rules(allow=offered), "auto", here).decision == "allow"
    tool = explain(ToolCall("c", "read", {"file_path": f"{home}/{path}"}), parse_rules(), "auto", here)
    assert tool.grants() == (offered if scope.endswith("**") else ())


def test_an_answer_about_a_pattern_covers_the_folder_in_which_it_searches(workspace: Workspace) -> None:
    home = workspace.home
    for name in (".tool/cache/a/x.md", ".tool/cache/b/y/z.md", ".tool/auth.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    offered = (f"read({home}/.tool/cache/**)",)
    for command in (f"head -3 {home}/.tool/cache/*/x.md", f"wc -c {home}/.tool/cache/*"):
        assert asked(command, workspace).programs() == offered, command
    assert asked(f"cat {home}/.tool/*.json", workspace).programs() == ()
    here = replace(workspace, shown=lambda: (home / ".tool/cache",))
    for command in (
        f"head -3 {home}/.tool/cache/*/x.md",
        f"cat {home}/.tool/cache/b/*/z.md",
        f"ls {home}/.tool/cache/*",
    ):
        assert asked(command, here, offered).decision == "allow", command
    for command in (f"cat {home}/.tool/*", f"cat {home}/.tool/cache/*/.env", f"cat {home}/.tool/cache/../*.json",
                    f"rm {home}/.tool/cache/*/x.md", f"cat {home}/.tool/cache/.e*", f"cat {home}/*/x.md"):  # fmt: skip
        assert asked(command, here, offered).decision == "ask", command


def test_reading_outside_is_approved_for_the_folder_and_covers_only_what_reads_there(workspace: Workspace) -> None:
    place = logs(workspace)
    offered = asked(f"tail -5 {place}/a.log", workspace).prefixes
    assert offered == (f"read({place}/**)",)
    for command in (
        f"cat {place}/b.log",
        f"ls {place}",
        f"grep -r x {place} --include=*.log",
        f"cd {place} && cat a.log",
    ):
        assert asked(command, workspace, offered).decision == "allow", command
    for command in (f"cat {place}/.env", f"cat {place.parent}/x", f"rm {place}/a.log", f"cat {place}/a.log > x",
                    f"grep -r x {place}", f"cat {place}/../x", f"git -C {place} log"):  # fmt: skip
        assert asked(command, workspace, offered).decision == "ask", command


def test_a_command_that_changes_something_is_covered_in_the_workspace_only(workspace: Workspace) -> None:
    place = logs(workspace)
    rules = [f"read({place}/**)", "bash(make *)"]
    assert asked(f"cat {place}/a.log && make test", workspace, rules).decision == "allow"
    assert asked(f"cd {place} && make test", workspace, rules).decision == "ask"
    assert asked(f"cd {place} && make test", workspace).prefixes == ()


def test_no_folder_that_contains_the_home_folder_is_offered(workspace: Workspace) -> None:
    assert asked("ls /", workspace).prefixes == ()
    assert asked(f"ls {workspace.home}", workspace).prefixes == ()
    assert asked("cat /etc/hostname", workspace).prefixes == ("read(/etc/hostname)",)


def test_secrets_of_other_people_are_approved_one_by_one(workspace: Workspace) -> None:
    assert asked("cat /home/other/.ssh/id_rsa", workspace).prefixes == ("read(/home/other/.ssh/id_rsa)",)
    assert asked("cat /home/other/.ssh/id_rsa", workspace, ["read(/home/other/**)"]).decision == "ask"
    assert asked("cat /home/other/x", workspace, ["read(/home/other/**)"]).decision == "allow"


def test_the_tool_that_reads_files_offers_the_folder_too(workspace: Workspace) -> None:
    place = logs(workspace)
    call = ToolCall("c", "read", {"file_path": f"{place}/a.log"})
    offered = explain(call, Rules(), "ask", workspace).prefixes
    assert offered == (f"read({place}/**)",)
    assert explain(call, parse_rules(allow=offered), "ask", workspace).decision == "allow"


@each_row(
    ("approved", "rule", "covered", "asks"),
    [
        ("PORT=80 make test", "PORT=* make test *", "PORT=3000 make test", "PORT=1 HOST=x make test"),
        ("PORT=80 make test", "PORT=* make test *", "PORT=3000 make test", "make test"),
        ("PORT=80 make test", "PORT=* make test *", "PORT=81 make test", "PORT=pager make test"),
        ("PORT=80 make test", "PORT=* make test *", "PORT=81 make test", "PORT=scripts/check.sh make test"),
        ("A=1 B=x make test", "A=* B=* make test *", "B=y A=2 make test", "A=1 make test"),
        ("PYTHONPATH=src pytest -q", "PYTHONPATH=src pytest *", "PYTHONPATH=src pytest tests", "PYTHONPATH=scripts pytest"),
        ("LC_ALL=C sort README.md", "LC_ALL=* sort *", "LC_ALL=de_DE sort README.md", "LC_ALL=C sort -o x README.md"),
        ("env A=1 make test | head -3", "A=* make test *", "A=2 make test", "make test"),
        ("env A=1 make test", "A=* make test *", "env A=2 make test -k", "env B=1 make test"),
        ("A=1 make test && B=2 pytest", "A=* make test *", "A=3 make test", "A=3 pytest"),
    ],
)  # fmt: skip
def test_a_rule_names_the_variables_that_a_command_gets(
    workspace: Workspace, approved: str, rule: str, covered: str, asks: str
) -> None:
    offered = asked(approved, workspace).prefixes
    assert offered[0] == f"bash({rule})"
    assert asked(approved, workspace, offered).decision == "allow"
    assert asked(covered, workspace, offered).decision == "allow"
    assert asked(asks, workspace, offered).decision == "ask"


@each_row(
    "command",
    ["PATH=scripts make test", "LD_PRELOAD=x make test", "BASH_ENV=x make test", "IFS=x make test", "A=$(x) make test",
     "GIT_SSH_COMMAND='ssh -i x' make test", "A=* make test", "DYLD_LIBRARY_PATH=x make test", "A=1 rm x", "A=1",
     "env -i A=1 make test", "env -S 'A=1 make' test", "env -C / A=1 make test", "env A=1 bash -c x", "env PATH=. make test",
     "env A=1 ./x", "env A=1 env B=1 make test", "env A=$X make test", "env -u HOME A=1 make test", "env A=1 xargs make",
     "env LD_PRELOAD=./x make test", "env BASH_ENV=x make test", "env A=1 B make test"],
)  # fmt: skip
def test_no_rule_is_offered_for_a_variable_that_decides_what_runs(workspace: Workspace, command: str) -> None:
    assert asked(command, workspace).prefixes == ()
    wide = ["bash(PATH=* make *)", "bash(make *)", "bash(LD_PRELOAD=* make *)", "bash(A=* rm *)"]
    assert asked(command, workspace, wide).decision == "ask"


@each_row(
    ("approved", "rule"),
    [
        ("scripts/check.sh --all", "scripts/check.sh *"),
        ("./run.sh", "./run.sh *"),
        ("tools/python3 scripts/gen.py", "tools/python3 scripts/gen.py *"),
        ("bash scripts/check.sh fast", "bash scripts/check.sh *"),
        ("python3 scripts/gen.py --n 3", "python3 scripts/gen.py *"),
        ("uv run python scripts/gen.py", "uv run python scripts/gen.py *"),
    ],
)
def test_a_script_of_the_workspace_is_covered_with_other_arguments(
    workspace: Workspace, approved: str, rule: str
) -> None:
    offered = asked(approved, workspace).prefixes
    assert offered == (f"bash({rule})",)
    script = rule.removesuffix(" *")
    assert asked(f"{script} src --slow", workspace, offered).decision == "allow"
    assert asked(f"{script} /etc/passwd", workspace, offered).decision == "ask"
    assert asked("bash scripts/other.sh", workspace, offered).decision == "ask"


@each_row(
    "command", ["bash -c 'x'", "bash scripts/none.sh", "bash /opt/x.sh", "/opt/x.sh", "bash -x scripts/check.sh",
                "tools/python3 -c 'x'", "tools/python3", "tools/env scripts/check.sh", "tools/curl x", "tools/node -e x"]
)  # fmt: skip
def test_code_and_scripts_outside_get_no_wider_rule(workspace: Workspace, command: str) -> None:
    assert asked(command, workspace).prefixes == ()


def test_the_second_kind_of_command_of_an_unknown_program_offers_the_program(workspace: Workspace) -> None:
    assert asked("tracker show a-1", workspace).prefixes == ("bash(tracker show *)",)
    assert asked("tracker show a-2", workspace, ["bash(tracker show *)"]).decision == "allow"
    offered = asked("tracker close a-1", workspace, ["bash(tracker show *)"]).prefixes
    assert offered == ("bash(tracker *)",)
    assert asked("tracker create it --kind epic", workspace, offered).decision == "allow"
    assert asked("tracker create it --hook ./x", workspace, offered).decision == "ask"


@each_row(
    ("approved", "command"),
    [("docker build *", "docker ps"), ("npm run lint *", "npm run test"), ("proxy wrapped *", "proxy other"),
     ("proxy other *", "proxy wrapped"), ("git add *", "git commit -m x"), ("gh pr view *", "gh pr list")],
)  # fmt: skip
def test_a_known_program_and_one_that_starts_others_are_never_offered_as_a_whole(
    workspace: Workspace, approved: str, command: str
) -> None:
    program = command.split()[0]
    assert f"bash({program} *)" not in asked(command, workspace, [f"bash({approved})"]).prefixes


@each_row(
    ("words", "decision"),
    [
        ("--kind epic", "allow"),
        ("--kind=epic", "allow"),
        ("-k epic", "allow"),
        ("--text 'Fix the (old) thing; then close it'", "allow"),
        ("--kind wrapped", "ask"),
        ("--kind src", "ask"),
        ("--kind gen", "allow"),
        ("--kind scripts/gen.py", "ask"),
        ("--kind README", "ask"),
        ("--text 'wrapped the thing'", "ask"),
        ("--text 'Fix it; wrapped x'", "ask"),
        ("--text 'Fix it $(wrapped x)'", "ask"),
        ("--kind a=b", "ask"),
        ("--kind https://example.org", "ask"),
        ("--exec epic", "ask"),
        ("--kind ../x", "ask"),
        ("--kind eval", "ask"),
    ],
)
def test_an_option_of_an_unknown_program_may_have_a_value_that_names_nothing(
    workspace: Workspace, words: str, decision: str
) -> None:
    assert asked(f"tracker create {words}", workspace, ["bash(tracker create *)"]).decision == decision


def test_a_server_of_this_machine_is_covered_and_no_other(workspace: Workspace) -> None:
    offered = asked("curl -s http://localhost:3000/health", workspace).prefixes
    assert offered == ("bash(curl *http://localhost:3000*)",)
    for command in ("curl -s -X POST -d '{}' http://localhost:3000/x", "curl http://localhost:3000"):
        assert asked(command, workspace, offered).decision == "allow", command
    for command in ("curl http://localhost:30001", "curl http://localhost:3000@example.org", "curl example.org -H http://localhost:3000",
                    "curl http://localhost:3000 http://example.org", "curl -d @x http://localhost:3000", "curl -o x http://localhost:3000",
                    "curl --proxy x http://localhost:3000", "curl http://localhost:3000.example.org"):  # fmt: skip
        assert asked(command, workspace, offered).decision == "ask", command
    assert asked("curl https://example.org", workspace).prefixes == ("network(example.org)",)


def test_the_exit_code_may_be_printed(workspace: Workspace) -> None:
    assert asked('ls; echo "EXIT: $?"', workspace).decision == "allow"
    assert asked("ls; echo EXIT:$?", workspace).decision == "allow"
    assert asked("ls; echo $?", workspace).decision == "allow"
    assert asked('ls; cat "x$?"', workspace).decision == "ask"
    assert asked('ls; echo "$HOME$?"', workspace).decision == "ask"


def test_a_rule_covers_a_command_whose_time_is_taken(workspace: Workspace) -> None:
    assert asked("time make test", workspace).prefixes == ("bash(make test *)",)
    assert asked("time make test", workspace, ["bash(make test *)"]).decision == "allow"
    assert "deletes files" in asked("time rm -rf src", workspace).why
    for command in (
        "time cat .env",
        "time -p ls",
        "time cd src",
        "cd src && time cd .. && cat x",
        "time git -C /opt log",
    ):
        assert asked(command, workspace).decision == "ask", command


def test_a_rule_covers_a_command_whose_time_is_limited(workspace: Workspace) -> None:
    rules = ["bash(pytest *)", "bash(mkdir *)", "bash(go test *)"]
    assert asked("timeout 60 pytest -q", workspace).prefixes == ("bash(pytest *)",)
    for command in ("timeout 60 pytest -q", "timeout -k 5 60s pytest -q | tail", "cd src && nice -n 5 go test ./..."):
        assert asked(command, workspace, rules).decision == "allow", command
    for command in (
        "timeout 60 sh -c pytest",
        "timeout 60 mkdir ../x",
        "timeout --foo 60 pytest",
        "timeout 60 go test -exec ./x",
        "timeout 60 pytest -p /opt/x",
        "timeout 60 env pytest",
    ):
        assert asked(command, workspace, rules).decision == "ask", command
    (program := workspace.cwd / "bin/timeout").parent.mkdir()
    program.touch(mode=0o755)
    shadowed = replace(workspace, path=f"{program.parent}:{workspace.path}")
    assert asked("timeout 60 pytest -q", shadowed, rules).decision == "ask"


def test_git_in_a_folder_of_the_workspace_is_ruled_as_in_that_folder(workspace: Workspace) -> None:
    offered = asked("git -C src add x.py", workspace).prefixes
    assert offered == ("bash(git add *)",)
    assert asked("git -C src add y.py", workspace, offered).decision == "allow"
    assert asked("git -C /opt add y.py", workspace, offered).decision == "ask"
    assert asked("git -c core.fsmonitor=x add y.py", workspace, offered).decision == "ask"


@pytest.fixture
def contained(workspace: Workspace) -> Workspace:
    """The workspace on a machine with a sandbox, in which /undo restores every file."""
    for folder in ("objects", "refs", "hooks"):
        (workspace.cwd / ".git" / folder).mkdir(parents=True, exist_ok=True)
    (workspace.cwd / ".git/config").write_text("[core]\n\tbare = false\n")
    cover = UndoCover(1_000_000, 1_000, frozenset({"node_modules", ".git"}))
    tmp = workspace.home / "tmp"
    return replace(workspace, sandboxed=True, records=True, undo=cover, tmp=tmp, loopback=lambda _: True)


@each_row(
    ("command", "rules"),
    [
        ("python3 - <<'E'\nprint(1)\nE", ["sandbox(python3 *)"]),
        ("node -e 'console.log(1)' | tail -5", ["sandbox(node *)"]),
        ('for f in *.py; do python3 $f; done; echo "done: $(date)"', ["sandbox(python3 *)"]),
        ("timeout 20 node -e '1'", ["sandbox(node *)"]),
        ("git stash", ["sandbox(git stash *)"]),
        ("bash -c 'node x; rm a.py'", ["sandbox(bash *)", "sandbox(rm *)"]),
        ("echo hello > notes.txt", ["sandbox(echo *)"]),
    ],
)
def test_what_no_other_rule_can_name_is_offered_in_the_sandbox(
    contained: Workspace, command: str, rules: Sequence[str]
) -> None:
    first = asked(command, contained)
    assert (first.decision, list(first.prefixes)) == ("ask", rules)
    again = asked(command, contained, rules)
    assert (again.decision, again.contained) == ("allow", True)
    outside = replace(contained, sandboxed=False)
    assert not any(rule.startswith("sandbox") for rule in asked(command, outside).prefixes)
    assert asked(command, outside, rules).decision == "ask"


@each_row(
    "command",
    [
        "python3 - <<'E'\nopen('x')\nE\ncurl https://example.org",
        "python3 x.py > /tmp/out",
        "python3 /opt/x.py",
        "python3 -c 'print(open(\".env\").read())'",
        "python3 x.py && rm -rf src",
        "python3 x.py && $COMMAND",
        "python3 x.py; sh -c 'rm src/x'",
        "python3 -m pip install x",
        "sudo python3 x.py",
        "cd /opt && python3 x.py",
        "curl http://localhost:3000 | python3 -c 1",
        "python3 x.py && git push",
        "git checkout -- src",
        "python3 x.py && node y.js",
    ],
)
def test_a_rule_for_the_sandbox_covers_no_more_than_its_programs_and_what_the_sandbox_contains(
    contained: Workspace, command: str
) -> None:
    assert asked(command, contained, ["sandbox(python3 *)", "sandbox(git checkout *)"]).decision == "ask"


def test_a_rule_for_the_sandbox_stands_below_deny_and_ask_rules_and_says_what_it_does_not_cover(
    contained: Workspace,
) -> None:
    call = ToolCall("c", "bash", {"command": "python3 -c 'import os'"})
    allow = ["sandbox(python3 *)"]
    assert explain(call, parse_rules(allow, (), ["bash(python3 *)"]), "ask", contained).decision == "deny"
    assert explain(call, parse_rules(allow, ["bash(python3 *)"]), "ask", contained).decision == "ask"
    assert explain(call, parse_rules(allow), "plan", contained).decision == "deny"
    hidden = ToolCall("c", "bash", {"command": "python3 -c 'import os; os.system(\"git push\")'"})
    assert explain(hidden, parse_rules(allow, (), ["bash(git push *)"]), "ask", contained).decision == "ask"
    assert asked("python3 /opt/x.py", contained, allow).why == (
        "the rule sandbox(python3 *) does not cover it: /opt/x.py is outside the workspace"
    )


def test_a_command_that_goes_on_after_its_call_has_no_sandbox_of_its_own(contained: Workspace) -> None:
    call = ToolCall("c", "bash", {"command": "node -e 1", "run_in_background": True})
    decision = explain(call, parse_rules(["sandbox(node *)"]), "ask", contained)
    assert (decision.decision, decision.prefixes) == ("ask", ())


def test_a_line_may_ask_the_server_that_it_starts(contained: Workspace) -> None:
    asks = "curl -s http://localhost:3000/health | grep -q ok"
    rules = ["sandbox(node *)", "sandbox(curl *)"]
    serving = asked(f"node server.js & sleep 2; {asks}", contained)
    assert list(serving.prefixes) == rules
    assert asked(f"node server.js &\nsleep 2; {asks}", contained, rules).contained
    assert asked(f"node server.js && {asks}", contained, rules).decision == "ask", "it asks a server outside"
    taken = replace(contained, loopback=lambda port: port != 3000)
    assert asked(f"node server.js & {asks}", taken, rules).decision == "ask", "a program outside serves that port"
    assert asked("node server.js & curl http://example.org", contained, rules).decision == "ask"


def test_other_rules_count_beside_one_for_the_sandbox(contained: Workspace) -> None:
    line = "make test && python3 -c 1"
    assert asked(line, contained, ["bash(make test *)", "sandbox(python3 *)"]).contained
    assert asked(line, contained, ["sandbox(python3 *)"]).decision == "ask"
    assert asked("make SHELL=./x", contained, ["bash(make *)"]).decision == "ask", "no rule for the sandbox at all"


def test_a_rule_for_the_sandbox_only_allows() -> None:
    assert in_own_names(parse_rules(["sandbox(python3 *)"]), ["bash"]).allow[0].pattern == "python3 *"
    for kind in ("ask", "deny"):
        with pytest.raises(ConfigError, match="about a tool that does not exist"):
            in_own_names(parse_rules(**{kind: ["sandbox(python3 *)"]}), ["bash"])


EVERY = "sandbox(*)"


@each_row(
    "command",
    ["make test", "git add x.py && git commit -m y", "python3 - <<'E'\nprint(1)\nE", "npm run build > /tmp/out && tail /tmp/out",
     "git checkout -b x", "for f in a b; do go vet ./$f; done", "curl -s http://localhost:3000/x"],
)  # fmt: skip
def test_the_first_question_offers_every_command_that_the_sandbox_contains(contained: Workspace, command: str) -> None:
    assert asked(command, contained).boxes() == EVERY
    for rule in (EVERY, "sandbox"):
        again = asked(command, contained, [rule])
        assert (again.decision, again.rule, again.contained) == ("allow", f"allow {rule}", True)
    background = ToolCall("c", "bash", {"command": command, "run_in_background": True})
    assert explain(background, parse_rules([EVERY]), "ask", contained).contained
    outside = replace(contained, sandboxed=False)
    assert asked(command, outside).boxes() == ""
    assert asked(command, outside, [EVERY]).decision == "ask", "nothing contains it"


@each_row(
    "command",
    ["git push", "ssh example.org ls", "gh pr view 1", "git clean -fdx", "rm -rf .git", "cat .env", "sudo make", "cp a.py /opt/x",
     "python3 -c 'open(\".env\")'", "git -c core.hooksPath=x commit -m y", "echo x > .git/hooks/pre-commit", "docker run x",
     "cp a.py ~/.bashrc", "kill 1", "git stash clear", "bash -c 'curl https://example.org -d @a'", "tmux kill-server"],
)  # fmt: skip
def test_what_mode_auto_asks_about_is_not_offered_in_the_sandbox_and_asks_there_too(
    contained: Workspace, command: str
) -> None:
    assert asked(command, contained).boxes() == ""
    assert asked(command, contained, [EVERY]).decision == "ask"


def test_a_rule_about_all_of_the_sandbox_is_about_commands_and_stands_below_deny_and_ask_rules(
    contained: Workspace,
) -> None:
    rules = parse_rules([EVERY])
    edit = ToolCall("c", "edit", {"file_path": "README.md", "old_string": "text", "new_string": "x"})
    assert explain(edit, rules, "ask", contained).decision == "ask"
    make = ToolCall("c", "bash", {"command": "make test"})
    assert explain(make, parse_rules([EVERY], (), ["bash(make *)"]), "ask", contained).decision == "deny"
    assert explain(make, parse_rules([EVERY], ["bash(make *)"]), "ask", contained).decision == "ask"
    assert explain(make, rules, "plan", contained).decision == "deny"
    hidden = ToolCall("c", "bash", {"command": "python3 -c 'import os; os.system(\"git push\")'"})
    assert explain(hidden, parse_rules([EVERY], (), ["bash(git push *)"]), "ask", contained).decision == "ask"


@pytest.mark.full
def test_a_rule_about_all_of_the_sandbox_allows_nothing_that_mode_auto_asks_about(contained: Workspace) -> None:
    lines = [
        line
        for name in ("hostile.txt", "destroying.txt", "reaching.txt", "pushing.txt", "secrets.txt")
        for line in commands(name)
    ]
    for line in lines:
        call = ToolCall("c", "bash", {"command": line})
        if explain(call, parse_rules([EVERY]), "ask", contained).decision == "allow":
            assert explain(call, Rules(), "auto", contained).decision == "allow", line


@each_row("command", ["git commit -F - <<E\n`rm x`\nE", "python3 - <<E\n1 # `rm x`\nE", "echo ${x:-`rm x`}"])
def test_a_rule_covers_no_script_in_backticks_of_its_command(command: str, workspace: Workspace) -> None:
    rules = parse_rules(allow=["bash(git commit *)", "bash(python3 *)", "bash(echo *)"])
    for line, decision in ((command, "ask"), (command.replace("`rm x`", "x"), "allow")):
        assert explain_command(line, workspace, "ask", rules).decision == decision
