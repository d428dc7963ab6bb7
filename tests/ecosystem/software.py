"""Software of others for tests: repositories from GitHub, packages from PyPI; a test is skipped where they are not available."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 240


def repository(name: str, folder: Path) -> Path:
    """A checkout of `owner/name` from GitHub, or the one that lies in `$AGENTCLI_TEST_REPOSITORIES/owner/name`."""
    local = os.environ.get("AGENTCLI_TEST_REPOSITORIES")
    if local and (Path(local) / name).is_dir():
        return Path(local) / name
    target = folder / name
    command = ["git", "clone", "-q", "--depth", "1", f"https://github.com/{name}", str(target)]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{name} is not available: {error}")
    return target


def npm_packages(folder: Path, *names: str) -> Path:
    """The `bin` folder of packages from npm, or of the folder in which `$AGENTCLI_TEST_NPM` has them installed."""
    local = os.environ.get("AGENTCLI_TEST_NPM")
    place = Path(local) if local else folder
    if not local:
        try:
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), *names]
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"{', '.join(names)} are not available: {error}")
        for script in place.glob("node_modules/@anthropic-ai/claude-code/install.cjs"):
            subprocess.run(["node", str(script)], check=False, capture_output=True, timeout=SECONDS, cwd=script.parent)
    return place / "node_modules/.bin"


def python_package(*names: str, folder: Path, python: str = sys.executable) -> Path:
    """The `bin` folder of a virtual environment with packages from PyPI."""
    bin_ = folder / "venv" / "bin"
    name = " ".join(names)
    try:
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True, capture_output=True)
        subprocess.run([bin_ / "pip", "install", "-q", *names], check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{name} is not available: {error}")
    return bin_


def installed_python(minor: int, newest: int | None = None) -> str:
    """A Python 3 of this minor version, or up to the newest one, on PATH or under pyenv."""
    newest = minor if newest is None else newest
    names = [f"python3.{each}" for each in range(minor, newest + 1)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, *names, *(str(path) for name in names for path in pyenv.glob(f"*/bin/{name}"))]
    question = f"import sys; sys.exit(not {minor} <= sys.version_info[1] <= {newest})"
    for candidate in candidates:
        try:
            if subprocess.run([candidate, "-c", question], capture_output=True, timeout=30).returncode == 0:
                return candidate
        except OSError:
            continue
    pytest.skip(f"Python 3.{minor} is not installed" if newest == minor else f"No Python 3.{minor} to 3.{newest}")
