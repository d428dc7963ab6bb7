"""Lines of the transcript: everything unfolded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agentcli.frontends.terminal.input.attachments import FILE_BYTES, with_attachments
from agentcli.frontends.terminal.screen import renderer
from agentcli.frontends.terminal.style import PLAIN, Look
from agentcli.frontends.terminal.views.transcript import Transcript, section_lines
from agentcli.providers.scripted.model import call, say
from agentcli.system.cells import ESCAPE, width
from tests.agent.open_session import DEMO, open_session, say_to
from tests.screenshot import screenshot

LOOK = Look(PLAIN, output_lines=3)


def lines(transcript: Transcript, columns: int = 80) -> list[str]:
    found = [row for section in transcript.new() for row in section_lines(section, columns, LOOK, renderer(LOOK))]
    assert all(width(row) <= columns for row in found)
    return found


def test_outputs_thoughts_long_prompts_and_whole_commands_are_unfolded(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"row {n}\n" for n in range(200)))
    command = "cat long.txt\ncat long.txt | wc -l"
    script = [say("I look.", call("bash", command=command), thinking="Long, perhaps."), say("Read.")]
    session = open_session(tmp_path, script, mode="yolo")
    say_to(session, "\n".join(f"prompt line {n}" for n in range(60)))
    text = "\n".join(lines(Transcript(session.journal)))
    for part in (
        "prompt line 0",
        "prompt line 59",
        "Long, perhaps.",
        "│ cat long.txt | wc -l",
        "row 0",
        "row 199",
        "Read.",
    ):
        assert part in text
    assert "earlier lines" not in text
    assert "more lines" not in text


def test_it_goes_on_with_what_was_recorded_since_and_leaves_out_what_was_rewound(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("first answer"), say("second answer"), say("third answer")])
    say_to(session, "one")
    transcript = Transcript(session.journal)
    assert "first answer" in "\n".join(lines(transcript))
    assert lines(transcript) == []
    say_to(session, "two")
    since = "\n".join(lines(transcript))
    assert "second answer" in since
    assert "first answer" not in since
    [seq] = [r.seq for r in session.journal.records() if getattr(r.body, "text", "") == "two"]
    session.undo_stack.rewind(seq)
    assert "second answer" not in "\n".join(lines(Transcript(session.journal)))


def test_rows_fit_a_narrow_screen(tmp_path: Path) -> None:
    script = [say("x" * 100, call("bash", command="echo " + "説明" * 40)), say("| a | b |\n|---|---|\n| 1 | 2 |")]
    session = open_session(tmp_path, script, mode="yolo")
    say_to(session, "go " * 50)
    assert lines(Transcript(session.journal), 38)


def test_what_went_with_a_prompt_stands_below_it_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(screenshot(1, 56, 28))
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "data.bin").write_bytes(b"\0\1")
    (tmp_path / "long").write_text("x" * (FILE_BYTES + 1))
    session = open_session(tmp_path, [say("Seen.")], model=replace(DEMO, window=64_000))
    prompt = with_attachments("see @shot.png @a.py @lib @data.bin @long", tmp_path)

    async def run() -> None:
        async for _ in session.turn(prompt, asyncio.Event()):
            pass

    asyncio.run(run())
    look = replace(LOOK, folder=str(tmp_path))
    sections = [section_lines(section, 80, look, renderer(look)) for section in Transcript(session.journal).new()]
    shown = [ESCAPE.sub("", row) for rows in sections for row in rows]
    begins = shown.index("> see @shot.png @a.py @lib @data.bin @long")
    assert shown[begins + 1 : begins + 6] == [
        "  shot.png · 56×28, 2 tokens",
        "  a.py · 1 line",
        "  lib · 0 entries",
        "  data.bin · binary: its content is not sent",
        "  long · large: its first and last lines are sent",
    ]
