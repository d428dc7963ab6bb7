"""Git in a session where deny rules are about tracked files: it runs without them, and says so."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

import agentcli
from agentcli.core.event import Event
from agentcli.permissions.sandbox import detect
from tests.frontends.python.embedded import calls, options, workspace

SECRET = "the-secret-of-the-house"
DENY = ["read(./.env.*)", "read(.envrc)"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = workspace(tmp_path)
    for name, text in ((".envrc", SECRET), (".env.example", "KEY="), ("a.py", "x = 1"), ("src/b.py", "y = 1")):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(f"{text}\n")
    for words in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=work, check=True)
    (work / "a.py").write_text("x = 2\n")
    (work / ".envrc").write_text(f"{SECRET} 2\n")
    (work / ".env.example").write_text("KEY=x\n")
    return work


def results(tmp_path: Path, *commands: str, **more: Any) -> list[agentcli.ToolResultEvent]:
    given = options(tmp_path, *(calls("bash", command=each) for each in commands), "done", deny=DENY, **more)

    async def main() -> list[Event]:
        return [event async for event in agentcli.query("go", **given)]

    return [event for event in asyncio.run(main()) if isinstance(event, agentcli.ToolResultEvent)]


def test_a_diff_leaves_denied_files_out_and_says_so(work: Path, tmp_path: Path) -> None:
    diff, show, log = results(tmp_path, "git diff", "git show | cat", "cd src && git log -p")
    for each in (diff, show, log):
        assert each.status == "success"
        assert SECRET not in each.output
        assert "[left out of what git shows, by deny rules: .envrc (read(.envrc))]" in each.output
        assert "a.py" in each.output
        assert ".env.example" in each.output
    assert "+x = 2" in diff.output
    assert "+KEY=x" in diff.output


def test_the_template_of_an_env_file_is_read_although_a_wildcard_names_it(work: Path, tmp_path: Path) -> None:
    shown, named = results(tmp_path, "cat .env.example", "cat .envrc")
    assert shown.output.startswith("KEY=x")
    assert named.status == "denied"


def test_a_denial_of_git_says_what_to_do_and_not_that_variants_are_denied(work: Path, tmp_path: Path) -> None:
    (refused,) = results(tmp_path, "git archive HEAD")
    assert refused.status == "denied"
    assert "Use git diff, git show or git log -p: such files are left out of what these show." in refused.output
    assert "variants" not in refused.output


@pytest.mark.skipif(detect().kind != "bubblewrap", reason="needs bubblewrap")
def test_a_search_that_goes_over_denied_files_finds_the_rest_without_an_error(work: Path, tmp_path: Path) -> None:
    (found,) = results(tmp_path, "grep -rn = .")
    assert found.status == "success"
    assert "./a.py:1:x = 2" in found.output
    assert "[deny rules hide from commands: .envrc]" in found.output
    assert SECRET not in found.output
