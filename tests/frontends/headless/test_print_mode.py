"""Output of a run without a person when an unexpected error occurs."""

from __future__ import annotations

import json
import sys
import tracemalloc
from io import StringIO
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.core.event import Event, Recorded, TextDelta, TurnEnded
from agentcli.core.message import Message, ToolCall
from agentcli.core.record import Record
from agentcli.frontends.headless.output import Format, Headless
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options


async def broken(_: ApprovalRequest) -> ApprovalResponse | None:
    """An approver with a bug."""
    raise RuntimeError("nobody foresaw this")


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_the_result_comes_last_also_when_the_program_itself_is_wrong(
    form: Format, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    dirs = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": [{"name": "bash", "input": {"command": "make it so"}}]}]}))
    options = Options(prompt="hi", print=True, model=f"script:{script}", output_format=form, cwd=str(tmp_path))
    with pytest.raises(RuntimeError, match="nobody foresaw"):
        print_mode(program_of(options, {**dirs, "HOME": str(tmp_path)}, FrontEnd(broken)), options)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["type"], last["status"], last["exit_code"]) == ("result", "error", 1)
    assert "nobody foresaw this" in last["error"]


@pytest.mark.parametrize("text", ["short ü", '"quoted"\n' * 60_000, "ü😀\ud83d" * 200_000])
def test_a_long_text_of_a_result_is_written_as_the_json_of_the_whole(text: str) -> None:
    printer = Headless("json", out=StringIO(), err=StringIO())
    printer.show(TurnEnded("done", text=text))
    printer.finish()
    written = printer.out.getvalue()  # type: ignore[attr-defined]
    assert written == json.dumps(json.loads(written)) + "\n"
    assert json.loads(written)["text"] == text


LARGE = "forty characters of a piece, with an e\n\n" * 50_000


class Counting(StringIO):
    """A stream that keeps nothing but the size of what is written."""

    size = 0

    def write(self, text: str) -> int:
        self.size += len(text)
        return len(text)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (TextDelta(LARGE), {"text": LARGE}),
        (
            Recorded(Record(1, "1", "", "", Message("assistant", (ToolCall("c1", "write", {"content": LARGE}),)))),
            {"name": "write", "input": {"content": LARGE}},
        ),
    ],
)
def test_a_line_with_a_long_text_is_the_json_of_the_whole_and_takes_no_second_copy(
    event: Event, line: dict[str, object]
) -> None:
    printer = Headless("stream-json", out=StringIO(), err=StringIO())
    printer.show(event)
    written = printer.out.getvalue()  # type: ignore[attr-defined]
    assert written == json.dumps(json.loads(written)) + "\n"
    assert json.loads(written).items() >= line.items()
    counting = Headless("stream-json", out=Counting(), err=StringIO())
    tracemalloc.start()
    counting.show(event)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counting.out.size == len(written)  # type: ignore[attr-defined]
    assert peak < len(LARGE)
