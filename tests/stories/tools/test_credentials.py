"""Credentials in the settings of the workspace's repositories do not reach the model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.text.secrets import SECRET
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import open_session, results, say_to


@pytest.mark.parametrize("module", ["lib", "vendor/lib", "vendor/lib/modules/inner"])
def test_the_password_of_a_remote_is_in_no_output_of_any_tool(module: str, tmp_path: Path) -> None:
    inner = tmp_path / ".git/modules" / module
    for folder, name in ((tmp_path, "outer-pass"), (tmp_path / "lib", "inner-pass")):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        url = f"https://me:{name}@example.org/x.git"
        subprocess.run(["git", "remote", "add", "origin", url], cwd=folder, check=True)
    inner.parent.mkdir(parents=True)
    if module.endswith("inner"):
        (inner.parent.parent / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "lib/.git").rename(inner)
    (tmp_path / "lib/.git").write_text(f"gitdir: {inner}\n")
    (tmp_path / "code.py").write_text("URL = 'https://me:other-pass@example.org'\n")
    shown = ("git remote -v", "cat .git/config", "git -C lib remote -v", "cd lib && git config --list")
    calls: list[ToolCall] = [call("bash", command=command) for command in ("cat code.py", *shown)]
    calls += [call("read", file_path=".git/config"), call("grep", pattern="url", path=".git", output_mode="content")]
    session = open_session(tmp_path, [*(say("", each) for each in calls), say("Done.")], mode="yolo")
    say_to(session, "go")
    outputs = [result.output for result in results(session)]
    assert len(outputs) == len(calls)
    assert "outer-pass" not in "".join(outputs)
    assert "inner-pass" not in "".join(outputs)
    assert all(f"https://me:{SECRET}@example.org/x.git" in output for output in outputs[1:])
    assert "other-pass" in outputs[0], "a text that only looks like it"
