"""The lines that a model reads with numbers: as the user has set it, or as suits the model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from agentcli.core.tool import ToolLimits
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import open_session, results, say_to
from tests.tables import each_row

CLAUDE, GEMINI = "anthropic/claude-sonnet-5", "google/gemini-3.8-flash"
Setting = Literal["auto", "ranges", "always", "never"]


@each_row(
    ("model", "setting", "whole", "part"),
    [
        (CLAUDE, "auto", False, True),
        (GEMINI, "auto", False, False),
        (GEMINI, "ranges", False, True),
        (CLAUDE, "always", True, True),
        (CLAUDE, "never", False, False),
    ],
)
def test_what_is_read_has_numbers(tmp_path: Path, model: str, setting: Setting, whole: bool, part: bool) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    calls = call("read", file_path="a"), call("read", file_path="a", offset=2)
    limits = ToolLimits(line_numbers=setting)
    session = open_session(tmp_path, [say("", *calls), say("Done.")], model=spec(model), limits=limits)
    say_to(session, "read it")
    assert ["\t" in result.output for result in results(session)] == [whole, part]
