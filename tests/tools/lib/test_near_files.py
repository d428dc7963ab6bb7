"""A missing file is answered with whole paths of those that may have been meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentcli.core.tool import CallScope
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


@pytest.fixture
def project(ctx: Bench) -> Path:
    for name in ("src/pkg/util.py", "src/pkg/main.py", "docs/Guide.md", ".env", "tests/other/main.py"):
        (ctx.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.cwd / name).touch()
    return ctx.cwd


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("util.py", "util.py does not exist. Did you mean src/pkg/util.py?"),
        ("pkg/main.py", "there is no folder pkg. Did you mean src/pkg/main.py or tests/other/main.py?"),
        ("src/pkgs/util.py", "there is no folder src/pkgs. Did you mean src/pkg/util.py or src/pkg?"),
        ("src/pkgs/new.py", "there is no folder src/pkgs. Did you mean src/pkg?"),
        ("src/pkg/utils.py", "src/pkg/utils.py does not exist. Did you mean src/pkg/util.py?"),
        ("docs/guide.md", "docs/guide.md does not exist. Did you mean docs/Guide.md?"),
        ("src/.env", "src/.env does not exist."),
        ("nothing/like/that.py", "there is no folder nothing/like."),
    ],
)
def test_whole_paths_are_offered(call: Call, project: Path, path: str, answer: str) -> None:
    for name, given in (("read", {}), ("edit", {"old_string": "a", "new_string": "b"})):
        outcome = call(name, file_path=path, **given)
        assert outcome.status == "error"
        assert outcome.output.endswith(answer), outcome.output


def test_paths_are_relative_to_the_working_folder(call: Call, ctx: Bench, project: Path) -> None:
    ctx.cwd = project / "src"
    ctx.roots = (project,)
    assert call("read", file_path="util.py").output.endswith("Did you mean pkg/util.py?")
    wanted = project / "Guide.md"
    assert call("read", file_path=str(wanted)).output.endswith(f"Did you mean {project / 'docs/Guide.md'}?")


def test_only_the_workspace_is_searched(call: Call, ctx: Bench, project: Path) -> None:
    outside = Path(os.path.realpath(project)).parent / "elsewhere.py"
    ctx.scope = CallScope((outside,))
    assert call("read", file_path=str(outside)).output == f"{outside} does not exist."
