"""What recordings tell about branches and projects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from agentcli.permissions.git_config import linked_repository
from tests.bench.asked import measured, place_of, placed, project_of, trees_of, workspace_in
from tests.bench.transcripts import Recorded, Transcript, transcripts


def _codex(payload: Mapping[str, object], kind: str = "response_item") -> str:
    return json.dumps({"type": kind, "payload": payload})


def test_a_command_that_switches_decides_the_branch_of_the_next_ones(tmp_path: Path) -> None:
    commands = [
        "git push",
        "git switch -c fix/a && git commit -am x",
        "cd sub && git checkout -b other",
        "git checkout main.py",
        "git push",
        "git checkout main",
        "git push",
    ]
    rows = [_codex({"id": "s", "cwd": "/home/u/p", "git": {"commit_hash": "1"}}, "session_meta")]
    for number, command in enumerate(commands):
        given = json.dumps({"cmd": command})
        rows.append(
            _codex({"type": "function_call", "call_id": str(number), "name": "exec_command", "arguments": given})
        )
    (tmp_path / "s.jsonl").write_text("\n".join(rows))

    (session,) = transcripts(tmp_path)

    branches = [each.branch for each in session.commands]
    assert branches == ["HEAD", "HEAD", "fix/a", "fix/a", "fix/a", "fix/a", "main"]


def test_worktrees_belong_to_their_repository() -> None:
    assert project_of("/home/u/p") == "/home/u/p"
    assert project_of("/home/u/.codex/worktrees/1a/p") == project_of("/home/u/.codex/worktrees/2b/p") == "/home/u/p"
    assert project_of("/home/u/p/.worktrees/fix") == project_of("/home/u/p/.claude/worktrees/fix") == "/home/u/p"
    assert project_of("/home/u/.herdr/worktrees/p/a") == project_of("/home/u/.herdr/worktrees/p/b")


def test_a_folder_of_temporary_files_has_its_name_here(tmp_path: Path) -> None:
    session = Transcript("s", "/Users/u/p")
    place = place_of(tmp_path, session)
    recorded = Recorded("ls /private/tmp/a", "m", "/private/tmp/wt")
    assert placed(recorded, place, workspace_in(place, session))[0] == "cd /tmp/wt && ls /tmp/a"
    elsewhere = Recorded("ls", "m", "/tmp/my files")
    assert placed(elsewhere, place, workspace_in(place, session))[0] == "cd '/tmp/my files' && ls"


def _asked(*sessions: Transcript) -> list[str]:
    """The commands that ask in mode auto if nothing is remembered."""
    return [command for _, command, _ in measured(sessions).auto]


def _session(name: str, *commands: str, folder: str = "/Users/u/p") -> Transcript:
    recorded = [Recorded(command, "m", folder) for command in commands]
    return Transcript(name, folder, recorded)


def test_a_work_tree_is_the_sessions_own_once_its_recorded_command_has_added_it() -> None:
    inside, commit = "cd ../p-x && touch a", "cd ../p-x && git add a.py && git commit -qm x"
    before = "cd /Users/u/p-x && touch a"
    own = _session("own", before, "git worktree add ../p-x -b x", inside, commit)
    assert _asked(own) == [before]
    assert _asked(_session("other", inside), own) == [inside, before], "for another session it was there before"
    assert _asked(_session("none", inside, commit)) == [inside, commit], "nothing tells that it is a work tree"
    assert (
        _asked(
            _session("tmp", "S=/private/tmp/s\ngit worktree add --detach $S/x HEAD", "git worktree remove -f /tmp/s/x")
        )
        == []
    )


def test_a_work_tree_of_another_repository_is_not_the_sessions_own() -> None:
    added, inside = "git -C ../lib worktree add ../lib-x -b x", "cd ../lib-x && touch a"
    assert _asked(_session("s", added, inside)) == [added, inside]


def test_a_work_tree_is_only_made_below_the_place_of_its_session(tmp_path: Path) -> None:
    session = _session("s", "git worktree add $(mktemp -d)/x HEAD", "git worktree add /opt/x; git worktree add ../p-x")
    place = place_of(tmp_path.resolve(), session)
    assert [tree.folder for tree in trees_of(place, session)] == [place.work.parent / "p-x"]


def test_a_folder_with_the_name_of_a_work_tree_is_one_of_a_repository_elsewhere(tmp_path: Path) -> None:
    for number, (folder, main) in enumerate(
        [
            ("/Users/u/.codex/worktrees/1a/p", "p"),
            ("/Users/u/dev/p/.worktrees/fix", "dev/p"),
            ("/Users/u/.herdr/worktrees/p/fix", "p"),
        ]
    ):
        session = Transcript("s", folder)
        place = place_of(tmp_path.resolve() / str(number), session)
        workspace_in(place, session)
        assert linked_repository(place.work) == place.home_here / main / ".git", folder


def test_a_session_in_the_home_folder_names_its_own_files_by_it() -> None:
    assert _asked(_session("s", "mkdir ~/made && cd ~/made && touch a", folder="/Users/u")) == []
    assert _asked(_session("s", "mkdir ~/made", folder="/Users/u/p")) == ["mkdir ~/made"]


def test_a_repository_elsewhere_tracks_no_secrets() -> None:
    assert _asked(_session("s", "cd ~/other && git diff main -- a.py")) == []


def test_a_program_of_the_home_folder_that_a_command_calls_was_there() -> None:
    assert _asked(_session("s", "~/.tool/bin/tool --version", "$HOME/.tool/bin/tool test")) == []


def test_what_a_name_ends_is_the_sessions_own_if_an_earlier_command_left_it_running() -> None:
    ends = "pkill -f 'app.server'; sleep 1"
    assert _asked(_session("own", "python3 -m app.server > log.txt 2>&1 &\nsleep 2", ends)) == []
    assert _asked(_session("none", "python3 -m app.server --help && ls", ends)) == [ends]
    assert _asked(_session("first", ends, "python3 -m app.server &")) == [ends]
