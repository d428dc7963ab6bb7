"""The commands that install missing packages."""

from __future__ import annotations

import subprocess
import sys

from agentcli.system.installing import install, install_extra


def test_an_extra_is_installed_by_the_names_of_its_packages_into_the_python_that_runs() -> None:
    command = install_extra("openai")
    assert command.startswith(f"{sys.executable} -m pip install 'openai")
    assert "agentcli" not in command.removeprefix(sys.executable)


def test_without_pip_uv_installs() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pip' else real(name, *rest)\n"
        "from agentcli.system.installing import install; print(install('x>=1'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"uv pip install --python {sys.executable} 'x>=1'\n"


def test_an_extra_that_is_not_known_falls_back_to_its_name() -> None:
    assert install_extra("nothing") == install("agentcli[nothing]")
