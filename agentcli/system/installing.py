"""Commands that install missing packages into the environment of this program."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

_PROGRAM = "agentcli"


def install_extra(extra: str) -> str:
    """Return the command that installs the packages of an extra, each by its own name.

    It therefore works with an index that does not have this program.
    """
    try:
        wanted = requires(_PROGRAM) or []
    except PackageNotFoundError:  # a checkout that is not installed
        wanted = []
    packages = [each.partition(";")[0].strip() for each in wanted if _belongs(each, extra)]
    return install(*packages or [f"{_PROGRAM}[{extra}]"])


def install(*packages: str) -> str:
    """Return the command line that installs packages for the running Python."""
    if find_spec("pip"):
        return shlex.join([sys.executable, "-m", "pip", "install", *packages])
    # Environments of uv have no pip.
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, *packages])


def _belongs(requirement: str, extra: str) -> bool:
    marker = requirement.partition(";")[2].replace('"', "'").replace(" ", "")
    return f"extra=='{extra}'" in marker
