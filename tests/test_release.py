"""A release: the wheel and the sdist, built and tried in a fresh environment, its metadata and the changelog."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from agentcli import __version__
from agentcli.manual import TOPICS

ROOT = Path(__file__).parents[1]


def ran(*command: str | Path, cwd: Path, home: Path) -> str:
    """Run a command in an empty home and return its output, which the failure shows."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_CONFIG_FILE": os.devnull, "LANG": "C.UTF-8"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_sdist_makes_a_wheel_that_works_in_a_fresh_environment(tmp_path: Path) -> None:
    home, dist, venv = tmp_path / "home", tmp_path / "dist", tmp_path / "venv"
    home.mkdir()
    # `build` makes the sdist first and the wheel out of it.
    ran(sys.executable, "-m", "build", "-q", "--no-isolation", "--outdir", dist, ROOT, cwd=tmp_path, home=home)
    wheel, sdist = (dist / f"agentcli-{__version__}{end}" for end in ("-py3-none-any.whl", ".tar.gz"))
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"README.md", "CHANGELOG.md", "LICENSE", "tests/conftest.py", "prompts/system.md"} <= names
    ran(sys.executable, "-m", "venv", "--without-pip", venv, cwd=tmp_path, home=home)
    python = venv / "bin" / "python"
    quiet = ("install", "-q", "--no-deps", "--no-index")
    ran(sys.executable, "-m", "pip", "--python", python, *quiet, wheel, cwd=tmp_path, home=home)
    # Dependencies are seen through a path, so that nothing is fetched; this checkout is not on it.
    (own,) = venv.glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    where = ran(python, "-c", "import agentcli; print(agentcli.__file__)", cwd=tmp_path, home=home)
    assert where.startswith(str(venv))
    program = venv / "bin" / "agentcli"
    assert ran(program, "--version", cwd=tmp_path, home=home) == f"agentcli {__version__}\n"
    assert "# Getting started" in ran(program, "help", "start", cwd=tmp_path, home=home)
    assert ran(program, "demo", "-p", "fix it", cwd=tmp_path, home=home).strip()
    told = ran(program, "completion", "install", "fish", cwd=tmp_path, home=home)
    files = re.findall(r"Wrote (\S+) \(", told)
    assert [Path(file).name for file in files] == ["agentcli.fish", "agentcli.1"]
    assert all(Path(file).is_relative_to(home) and Path(file).read_text() for file in files)


def test_the_changelog_describes_this_version_on_a_page_and_then_changes_in_short_entries() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    changes, found, release = text.partition(f"\n## [{__version__}] - ")
    assert found
    assert 300 <= len(release.split()) <= 700
    assert changes.count("\n## [Unreleased]") == 1
    entries = re.split(r"(?m)^- ", changes)[1:]
    assert len(changes.split()) <= 4_500, "merge entries about one thing, or release"
    assert not [entry for entry in entries if len(entry.split("\n\n")[0]) > 300], (
        "two lines an entry: details are in the manual"
    )
    topics = {topic for each in re.findall(r"\[([a-z, -]+)\]$", changes, re.MULTILINE) for topic in each.split(", ")}
    assert topics <= set(TOPICS), "the topic in brackets is a page of the manual"
