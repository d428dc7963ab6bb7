"""Sandbox of a script: the interpreter with its standard library, and nothing else."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agentcli.core.tool import Boxed
from agentcli.permissions.sandbox import Sandbox
from agentcli.permissions.sandbox.launch import alone_program
from agentcli.system import probe

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store")
_PACKAGES = ("site-packages", "dist-packages")
_VARIABLES = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


def boxed(sandbox: Sandbox) -> Boxed:
    """Return the command line of the program in which a script runs."""
    argv = [_interpreter(), "-I", "-S", "-B", "-X", "utf8", "-c", _source()]
    readable = [*_readable()]
    packages = [folder / name for folder in readable for name in _PACKAGES if probe.is_dir(folder / name)]
    return sandbox.wrap_closed(argv, readable, packages, _VARIABLES)


def refused_calls() -> bytes:
    """Return the filter of system calls that the program applies to itself before it runs the script."""
    return alone_program()


@cache
def _source() -> str:
    return Path(__file__).with_name("client.py").read_text(encoding="utf-8")


def _interpreter() -> str:
    return os.path.realpath(sys.executable)


def _readable() -> Iterator[Path]:
    yield Path(_interpreter())
    bases = {"platbase": sys.base_exec_prefix, "base": sys.base_prefix}
    own = [sysconfig.get_path(name, vars=bases) for name in ("stdlib", "platstdlib")]
    yield from (Path(folder) for folder in dict.fromkeys([*_LIBRARIES, *own]) if probe.is_dir(folder))
    yield from Path(sysconfig.get_config_var("LIBDIR") or sys.base_prefix).glob("libpython*.so*")
