"""The output of a call is recalled byte for byte, whatever happened in the session since."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.program import Program

TEXT = "".join(f"line {n} holds the number {n * n} and ü\n" for n in range(1, 120))


def script(program: Program, *calls: dict[str, Any]) -> str:
    """A script that makes these calls, one a step, and then is done."""
    replies = [{"text": "Now this.", "calls": [call]} for call in calls] + [{"text": "All done."}]
    path = program.work / f"script{len(list(program.work.iterdir()))}.json"
    path.write_text(json.dumps({"replies": replies}))
    return f"script:{path}"


def read(n: int) -> dict[str, Any]:
    return {"name": "read", "id": f"old_{n}", "input": {"file_path": f"f{n}.txt"}}


def recall(n: int, **given: Any) -> dict[str, Any]:
    return {"name": "recall", "id": f"new_{n}", "input": given}


def outputs(program: Program, session: str, *calls: dict[str, Any], also: tuple[str, ...] = ()) -> list[str]:
    ran = program.ask("resume", session, "-p", "Look again.", "-m", script(program, *calls), *also)
    assert ran.code == 0, ran.err
    return [line["output"] for line in ran.of("tool_result")]


@pytest.fixture
def session(program: Program) -> str:
    """A session that has read eight files, was compacted, and does not show the first ones any more."""
    for n in range(8):
        (program.work / f"f{n}.txt").write_text(f"file {n}\n{TEXT}")
    ran = program.ask("-p", "Read them all.", "-m", script(program, *map(read, range(8))))
    name = str(ran.result["session_id"])
    ran = program.ask("resume", name, "-p", "/compress", "-m", "script:echo")
    assert [line["status"] for line in ran.of("compaction")] == ["compressed"]
    shown = json.loads(program.run("context", "show", name, "--json", "-m", "script:echo").out)
    assert not any("file 0" in row["text"] for row in shown["messages"])
    for n in range(8):
        (program.work / f"f{n}.txt").write_text("something else by now\n")
    return name


def came_back(found: list[str]) -> None:
    whole, part, hits, everywhere = found
    numbered = [line.split("\t")[-1].split("→")[-1] for line in whole.split("\n")[1:]]
    assert [line.strip() for line in numbered if "line" in line] == TEXT.strip().split("\n")
    assert "line 49 holds" in part
    assert "line 50 holds" in part
    assert "line 51 holds" not in part
    assert [line for line in hits.split("\n") if "holds the number" in line and "119" not in line] == []
    assert " output read]" in everywhere
    assert "file 0" in everywhere


ASKED = (
    recall(1, id="old_0"),
    recall(2, id="old_0", offset=50, limit=2),
    recall(3, id="old_0", pattern="line 119 "),
    recall(4, pattern="^file 0$|file 0"),
)


def test_after_a_compaction_and_a_resume(program: Program, session: str) -> None:
    came_back(outputs(program, session, *ASKED))


@pytest.mark.full
def test_in_a_fork(program: Program, session: str) -> None:
    came_back(outputs(program, session, *ASKED, also=("--fork",)))


@pytest.mark.full
def test_after_a_second_compaction(program: Program, session: str) -> None:
    outputs(program, session, *(recall(10 + n, id=f"old_{n}") for n in range(8)))
    ran = program.ask("resume", session, "-p", "/compress", "-m", "script:echo")
    assert [line["status"] for line in ran.of("compaction")] == ["compressed"]
    came_back(outputs(program, session, *ASKED))


@pytest.mark.full
def test_another_sessions_calls_are_not_reached(program: Program, session: str) -> None:
    ran = program.ask(
        "-p", "Look.", "-m", script(program, recall(1, id="old_0"), recall(2, pattern="holds the number"))
    )
    unknown, searched = (line["output"] for line in ran.of("tool_result"))
    assert "No call or record old_0 in this session" in unknown
    assert "Nothing in this session matches" in searched
