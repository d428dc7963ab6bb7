import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentcli.system.programs import GIT_HARDENED_CONFIG, SCRUBBED_VARIABLES, hardened


def test_what_could_change_a_command_is_gone_and_the_rest_stays() -> None:
    named = (
        "DIR",
        "WORK_TREE",
        "INDEX_FILE",
        "EXTERNAL_DIFF",
        "TRACE",
        "TRACE2_EVENT",
        "EXEC_PATH",
        "SSH_COMMAND",
        "ATTR_SOURCE",
    )
    more = ("BASH_FUNC_ls%%", "GIT_CONFIG_KEY_99", "GIT_CONFIG_VALUE_99", *(f"GIT_{name}" for name in named))
    hostile = dict.fromkeys((*SCRUBBED_VARIABLES, *more), "x")
    clean = hardened({**hostile, "PATH": "/bin", "LANG": "C"})
    assert clean["PATH"] == "/bin"
    assert clean["LANG"] == "C"
    assert hardened({"GIT_AUTHOR_NAME": "me", "GIT_CONFIG_GLOBAL": "x"}).items() >= {"GIT_AUTHOR_NAME": "me"}.items()
    assert set(hostile) & set(clean) == set()


def test_a_function_of_the_environment_replaces_no_command(tmp_path: Path) -> None:
    hostile = {
        "PATH": os.environ["PATH"],
        "BASH_FUNC_ls%%": "() { echo pwned; }",
        "BASH_ENV": str(tmp_path / "rc"),
        "CDPATH": "/",
    }
    (tmp_path / "rc").write_text("echo pwned")
    (tmp_path / "usr").mkdir()
    hostile |= {"SHELLOPTS": "xtrace", "PS4": "$(echo pwned > traced)"}
    script = ["bash", "--noprofile", "--norc", "-c", "ls; cd usr && pwd"]
    before = subprocess.run(
        script, env=hostile, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    ).stdout
    (tmp_path / "traced").unlink(missing_ok=True)  # root takes no PS4 from its environment
    (tmp_path / "usr/traced").unlink(missing_ok=True)
    after = subprocess.run(
        script, env=hardened(hostile), cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    ).stdout
    assert "pwned" in before
    assert after.split() == ["rc", "usr", str(tmp_path / "usr")]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_takes_every_hardened_setting() -> None:
    for key, value in GIT_HARDENED_CONFIG:
        done = subprocess.run(
            ["git", "config", "--get", key],
            env=hardened(os.environ),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.stdout == value + "\n"
