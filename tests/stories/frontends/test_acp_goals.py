"""Goals and proposals for the memory in an editor."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.frontends.acp.editor import Editor, Json, editing, in_loop

TOUCH: Json = {"calls": [{"name": "bash", "input": {"command": "touch done; echo made it"}}]}
SLEEP: Json = {"calls": [{"name": "bash", "input": {"command": "echo began; sleep 600"}}]}
GOAL = "/goal --check 'test -e done' make the file done"


def notes(editor: Editor) -> list[str]:
    return [update["content"]["text"] for update in editor.person.of("agent_thought_chunk")]


@in_loop
async def test_a_goal_goes_on_over_turns_within_one_prompt_and_tells_its_progress(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "I will."}, TOUCH, {"text": "Made it."}, mode="yolo") as editor:
        session = await editor.new()
        assert await editor.say(session, GOAL) == "end_turn"
        assert editor.person.text == "I will.Made it."
        told = "\n".join(notes(editor))
        assert told.index("Goal, turn 1 of 25") < told.index("Goal reached (turn 2 of 25")
        await editor.say(session, "/goal")
        assert "Goal (reached): make the file done" in editor.person.text


@in_loop
async def test_a_cancelled_goal_is_paused_and_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "I will."}, SLEEP, TOUCH, {"text": "Made it."}, mode="yolo") as editor:
        session = await editor.new()
        turn = asyncio.create_task(editor.say(session, GOAL))
        await editor.person.until(lambda updates: "began" in str(updates))
        await editor.connection.cancel(session_id=session)
        assert await turn == "cancelled"
        assert any("Goal paused (interrupted)" in note for note in notes(editor))
        assert await editor.say(session, "/goal resume") == "end_turn"
        assert any("Goal reached (turn 3 of 25" in note for note in notes(editor))


@in_loop
async def test_a_goal_that_meets_its_limit_stops_with_the_reason_of_the_protocol(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "Done!"}, mode="yolo") as editor:
        session = await editor.new()
        assert await editor.say(session, "/goal --turns 1 --check false never") == "max_turn_requests"


@in_loop
async def test_lines_proposed_for_the_memory_are_shown_and_not_written(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}, {"text": "- Tests run with uv."}) as editor:
        session = await editor.new()
        await editor.say(session, "We use uv.")
        assert await editor.say(session, "/memory propose") == "end_turn"
        assert "- Tests run with uv." in editor.person.text
        assert "Nothing was written" in json.dumps(editor.person.updates)
        assert not list(editor.work.iterdir())
