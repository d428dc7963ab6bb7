"""Output of a run without a person when an unexpected error occurs."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentcli.app.models import Models
from agentcli.app.options import Options
from agentcli.app.print_mode import print_mode
from agentcli.app.program import Program
from agentcli.core.model import Model, ModelSpec, Request, StreamEvent
from agentcli.ui.headless import Format


class Mistaken:
    """A model with a bug."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        raise RuntimeError("nobody foresaw this")
        yield

    async def count(self, request: Request) -> int | None:
        return None


class BrokenModels(Models):
    def connect(self, name: str, *, brief: bool = False) -> Model:
        return Mistaken(self.spec(name))


class Broken(Program):
    @property
    def models(self) -> Models:
        return BrokenModels(self.config, self.env)


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_the_result_comes_last_also_when_the_program_itself_is_wrong(
    form: Format, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    dirs = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(prompt="hi", print=True, model="script:echo", output_format=form, cwd=str(tmp_path))
    with pytest.raises(RuntimeError, match="nobody foresaw"):
        print_mode(Broken(options, {**dirs, "HOME": str(tmp_path)}), options)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["type"], last["status"], last["exit_code"]) == ("result", "error", 1)
    assert "nobody foresaw this" in last["error"]
