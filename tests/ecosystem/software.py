"""Software of others for tests: repositories from GitHub, packages from PyPI; a test is skipped where they are not to be had."""

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
        pytest.skip(f"{name} is not to be had: {error}")
    return target


def python_package(name: str, folder: Path) -> Path:
    """The `bin` folder of a virtual environment with a package from PyPI."""
    bin_ = folder / "venv" / "bin"
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, capture_output=True)
        subprocess.run([bin_ / "pip", "install", "-q", name], check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{name} is not to be had: {error}")
    return bin_
