"""What the sandbox of mode auto holds beside the workspace: a /tmp of its own, and a loopback of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.shell.effects.network_use import ports_asked
from agentcli.permissions.shell.effects.private_tmp import names_tmp, seen_text
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain_command
from tests.tables import each_row

SERVED_OUTSIDE = 5432


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("private"))
    (made.cwd / ".git/hooks").mkdir()
    tmp = tmp_path_factory.mktemp("shown-as-tmp")
    (tmp / "repo/.git").mkdir(parents=True)
    cover = UndoCover(100, 50, frozenset({".git"}))
    return replace(
        made, sandboxed=True, records=True, undo=cover, tmp=tmp, loopback=lambda port: port != SERVED_OUTSIDE
    )


RUNS = r"""
echo 1 > /tmp/x
cat > /tmp/body.md <<'EOF'\nHello\nEOF
cat /tmp/x
make > /tmp/log 2>&1; tail /tmp/log
cd /tmp && ls
mkdir -p /tmp/repo && cd /tmp/repo && git init -q . && git add -A && git commit -qm x
git -C /tmp/repo commit -qm x
d=$(mktemp -d) && cd "$d" && git init -q && touch a
rm -rf /tmp/repo
cp README.md /tmp/
make --file=/tmp/Makefile
python3 -c "open('/tmp/x', 'w').write('x')"
find /tmp/repo -not -path './.git/*'
sed -n '1,4p' /tmp/repo/AGENTS.md
curl -s http://localhost:3000/health
curl -s -X POST http://127.0.0.1:8080/x -H "Authorization: Bearer $TOKEN" -d '{"a": 1}' -o /tmp/out.json
nc -z localhost 8080
curl localhost:$(cat port)/x
make serve & sleep 2; curl -sf localhost:3000 || echo down
git checkout -- README.md
git checkout HEAD -- README.md
git checkout --ours README.md
git restore README.md
git checkout -b src
git tag release/1.2
git rebase main
""".strip().split("\n")
ASKS = {
    "curl asks port 5432, which a program outside the sandbox serves": ("curl localhost:5432",),
    "nc asks port 5432, which a program outside the sandbox serves": ("nc -z localhost 5432",),
    "curl uses the network": ("curl http://localhost:1 https://example.com/", "curl example.com", "curl $URL"),
    "/tmp/../etc is outside the workspace": ("ls /tmp/../etc",),
    "/var/tmp/x is outside the workspace": ("make > /var/tmp/x", "ls /var/tmp/x"),
    "rm of /tmp is destructive": ("rm -rf /tmp",),
    "git rebase --exec changes the repository": (
        "git rebase --exec make main",
        "git rebase --autosquash --exec make main",
    ),
    "work contains .git, which could not be restored": ("git checkout -- .", "git restore ."),
}


@each_row("command", [line.replace("\\n", "\n") for line in RUNS])
def test_a_command_runs_unasked_on_what_the_sandbox_holds(command: str, workspace: Workspace) -> None:
    found = explain_command(command, workspace, "auto")
    assert (found.decision, found.why) == ("allow", found.why), found.why


@each_row(("why", "command"), [(why, command) for why, all_ in ASKS.items() for command in all_])
def test_a_command_that_leads_out_of_it_asks(why: str, command: str, workspace: Workspace) -> None:
    found = explain_command(command, workspace, "auto")
    assert (found.decision, found.why.replace(str(workspace.tmp), "/tmp")) == ("ask", why)


@each_row("command", ["echo 1 > /tmp/x", "cd /tmp && ls", "curl localhost:3000", "git tag v1"])
def test_without_a_tmp_and_a_loopback_that_last_it_asks(command: str, workspace: Workspace) -> None:
    bare = replace(workspace, tmp=None, loopback=None, undo=None, records=False)
    assert explain_command(command, bare, "auto").decision == "ask"


def test_a_command_that_reads_there_does_not_count_as_one_that_only_reads(workspace: Workspace) -> None:
    found = explain_command("cat /tmp/x", workspace, "auto")
    assert found.rule == "mode auto"


def test_the_workspace_and_other_folders_of_this_name_stay_where_they_are(workspace: Workspace) -> None:
    below = replace(workspace, cwd=Path("/tmp/shop"), roots=(Path("/tmp/shop"),), tmp=Path("/tmp/agentcli-t"))
    for text, seen in (
        ("/tmp/shop/a", "/tmp/shop/a"),
        ("/tmp/shop", "/tmp/shop"),
        ("/tmp/shopper", "/tmp/agentcli-t/shopper"),
        ("a=/tmp/x", "a=/tmp/agentcli-t/x"),
        ("open('/tmp/x')", "open('/tmp/agentcli-t/x')"),
        ("sub/tmp/x", "sub/tmp/x"),
        ("$HOME/tmp", "$HOME/tmp"),
        ("/tmpfs", "/tmpfs"),
        ("/tmp", "/tmp/agentcli-t"),
    ):
        assert seen_text(text, below) == seen


def test_only_the_folder_itself_is_named() -> None:
    assert [names_tmp(text) for text in ("a > /tmp/x", "gh x -F '/tmp/b'", "a/tmp/x", "/var/tmp", "x")] == [
        *(True, True),
        *(False, False, False),
    ]


@each_row(
    ("words", "ports"),
    [
        ("http://localhost:3000/x", [3000]),
        ("https://127.0.0.1/", [443]),
        ("-z localhost 22", [22]),
        ("[::1]:80", [80]),
        ("http://user@localhost:1/ ws://0.0.0.0:2?x", [1, 2]),
        ("http://localhost.example.com:3000/", None),
        ("http://example.com http://localhost:1", None),
        ("-H Host:localhost example.com", None),
    ],
)
def test_the_ports_that_a_command_asks_are_read_from_its_words(words: str, ports: list[int] | None) -> None:
    assert ports_asked(words.split()) == ports
