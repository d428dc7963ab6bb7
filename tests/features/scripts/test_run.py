"""One run of a script in an open session: questions, limits, an interrupt, and what the session knows of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.core import SessionCore
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt
from agentcli.agent.receipts import receipt_of
from agentcli.agent.session import AgentSession
from agentcli.context.ledger.ledger import Ledger, fold_ledger
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.core.event import Event, Recorded, ToolProgress, ToolStarted
from agentcli.core.history import evolve, fold
from agentcli.core.message import ToolResult
from agentcli.core.record import Compaction, InnerCall, Record
from agentcli.core.tool import ToolLimits
from agentcli.features.scripts.bounds import Bounds
from agentcli.features.scripts.session import ScriptsSession
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.sandbox import detect
from agentcli.providers.scripted.model import say
from agentcli.tools.entry import tool_of
from agentcli.tools.script import SCRIPT
from tests.agent.open_session import Person, open_session, results, say_to
from tests.features.mcp.played_servers import calls

pytestmark = pytest.mark.skipif(not detect().closes, reason="scripts need bubblewrap")


def opened(folder: Path, *codes: str, bounds: Bounds | None = None, scripts: Any = "on", **more: Any) -> AgentSession:
    """A session whose model runs these scripts, one after the other."""

    def part(core: SessionCore) -> ScriptsSession:
        return ScriptsSession(core, detect(), bounds or Bounds())

    replies = [*(calls("script", code=code) for code in codes), say("done")]
    return open_session(folder, replies, limits=ToolLimits(scripts=scripts), features=[part], **more)


def inner(session: AgentSession) -> list[InnerCall]:
    return [record.body for record in session.journal.records() if isinstance(record.body, InnerCall)]


def printed(folder: Path, code: str, **more: Any) -> str:
    session = opened(folder, code, **more)
    say_to(session, "go")
    return results(session)[0].output.partition("\n[")[0]


def test_results_are_texts_without_the_notes_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n[beta]\n")
    (tmp_path / "empty.txt").write_text("")
    code = """
print(repr(read("a.txt")), repr(read("empty.txt")), repr(read("a.txt", offset=2)))
print(repr(grep("nothing", ".")), repr(glob("*.md")), repr(grep("beta", ".", output_mode="content")))
failed = bash("echo '[1, 2]'; exit 3")
print(repr(failed), failed.exit_code, repr(bash("true")), bash("true").exit_code, json.loads(bash("echo '[1, 2]'")))
"""
    assert printed(tmp_path, code, mode="yolo").splitlines() == [
        "'alpha\\n[beta]' '' '[beta]'",
        "'' '' 'a.txt:2:[beta]'",
        "'[1, 2]' 3 '' 0 [1, 2]",
    ]


def test_a_program_gets_all_of_a_result_that_a_model_sees_in_part(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(9_000)))
    code = 'print(len(read("long.txt").splitlines()), len(bash("cat long.txt").splitlines()), len(grep("line", "long.txt", output_mode="content", head_limit=900).splitlines()))'
    assert printed(tmp_path, code, mode="yolo").split() == ["9000", "9000", "900"]


def test_a_search_names_the_file_of_each_line(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n# TODO one\ny = 2\n\n\n\n# TODO two\n")
    code = """
print(grep("TODO", "."))
print(grep("TODO one", ".", C=1).splitlines() == [f"{f}.py{n}" for f in "ab" for n in (":1-x = 1", ":2:# TODO one", ":3-y = 2")])
print(*grep("TODO", ".", output_mode="files_with_matches").split(), *grep("TODO", ".", output_mode="count").split())
"""
    assert printed(tmp_path, code).splitlines() == [
        *(f"{name}:{line}" for name in ("a.py", "b.py") for line in ("2:# TODO one", "7:# TODO two")),
        "True",
        "a.py b.py a.py:2 b.py:2",
    ]


def test_gather_makes_the_calls_of_all_items_together_and_keeps_their_order(tmp_path: Path) -> None:
    for n in range(40):
        (tmp_path / f"{n}.txt").write_text(str(n))
    code = """
print(gather(read, [f"{n}.txt" for n in range(40)]) == [str(n) for n in range(40)])
print(gather(lambda n: read(f"{n}.txt") + read("0.txt"), range(20))[19], gather(read, []))
try:
    gather(read, ["0.txt", "none.txt"])
except ToolError as error:
    print(error)
"""
    lines = printed(tmp_path, code).splitlines()
    assert lines[:2] == ["True", "190 []"]
    assert "none.txt does not exist" in lines[2]


def test_a_question_pauses_the_script_and_its_time_stands_still(tmp_path: Path) -> None:
    class Slow(Person):
        async def __call__(self, ask: ApprovalRequest) -> ApprovalResponse | None:
            await asyncio.sleep(1.5)
            return await super().__call__(ask)

    person = Slow(ApprovalResponse("once"), ApprovalResponse("no"))
    code = 'bash("touch a")\ntry:\n    bash("touch b")\nexcept ToolError as error:\n    print(error)'
    session = opened(tmp_path, code, person=person, bounds=Bounds(seconds=1.4))
    say_to(session, "go")
    assert [ask.call.input["command"] for ask in person.asked] == ["touch a", "touch b"]
    assert [each.result.status for each in inner(session)] == ["success", "denied"]
    (answer,) = results(session)
    assert (answer.status, answer.output.startswith("The user said no")) == ("success", True)
    assert [(tmp_path / name).exists() for name in "ab"] == [True, False]


def test_an_interrupt_ends_the_script_and_its_call_and_answers_both(tmp_path: Path) -> None:
    session = opened(tmp_path, 'read("a")\nbash("sleep 60")', mode="yolo")

    async def interrupted() -> list[Event]:
        interrupt, events = asyncio.Event(), list[Event]()
        async for event in session.turn(Prompt("go"), interrupt):
            events.append(event)
            if isinstance(event, ToolProgress) and event.calls == 2:
                interrupt.set()
        return events

    (tmp_path / "a").write_text("x")
    began = time.monotonic()
    asyncio.run(interrupted())
    assert time.monotonic() - began < 30
    assert [each.result.status for each in inner(session)] == ["success", "interrupted"]
    assert [result.status for result in results(session)] == ["interrupted"]
    assert not session.history.open_calls


def test_its_calls_are_progress_of_the_script_and_records_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    session = opened(tmp_path, 'read("a")\nglob("*")')
    events = say_to(session, "go")
    (outer,) = results(session)
    told = [event for event in events if isinstance(event, ToolProgress)]
    assert [(event.call_id, event.text, event.calls) for event in told] == [
        (outer.call_id, "Read a\n", 1),
        (outer.call_id, "Find *\n", 2),
    ]
    assert sum(isinstance(event, ToolStarted) for event in events) == 1
    kinds = [type(event.record.body) for event in events if isinstance(event, Recorded)]
    assert kinds.index(InnerCall) < kinds.index(ToolResult)
    assert [(each.within, each.call.call_id) for each in inner(session)] == [
        (outer.call_id, f"{outer.call_id}-1"),
        (outer.call_id, f"{outer.call_id}-2"),
    ]
    assert outer.metadata["calls"] == ["Read a", "Find *"]
    assert [entry.body for entry in session.history.inner] == inner(session)


def test_a_test_that_ran_in_a_script_proves_a_claim(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n")
    session = opened(tmp_path, 'print(bash("python3 -m unittest -v test_it"))', mode="yolo")
    say_to(session, "go")
    assert receipt_of("All tests pass.", session.core).verified


def test_a_session_that_does_not_list_it_runs_none(tmp_path: Path) -> None:
    session = opened(tmp_path, "print(1)", scripts="auto")
    say_to(session, "go")
    (answer,) = results(session)
    assert (answer.status, answer.output) == ("error", "This session has no scripts. Make the calls one by one.")


def test_a_rule_may_deny_scripts(tmp_path: Path) -> None:
    session = opened(tmp_path, "print(1)", rules=parse_rules(deny=["script"]))
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["denied"]


def test_an_error_is_told_with_the_scripts_own_lines(tmp_path: Path) -> None:
    code = "def half(n):\n    return n / 0\n\nprint('before')\nhalf(3)"
    session = opened(tmp_path, code)
    say_to(session, "go")
    (answer,) = results(session)
    assert answer.status == "error"
    assert answer.output.startswith('before\n  File "<script>", line 5, in <module>\n    half(3)\n')
    assert answer.output.endswith("ZeroDivisionError: division by zero")


def test_the_first_request_grows_by_little() -> None:
    schema = tool_of(SCRIPT).schema
    assert TokenCounter(Chars4()).overhead((), [schema]) <= 150


def test_the_ledger_knows_what_a_script_ran_and_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    session = opened(tmp_path, 'read("a.txt")\nbash("make all")', mode="yolo")
    say_to(session, "go")
    ledger = fold_ledger(Ledger(cwd=str(tmp_path)), session.history.deeds, session.core.traits)
    assert [fact.command for fact in ledger.commands] == ["make all"]
    assert ledger.commands[0].failed
    assert [(fact.path, fact.reads) for fact in ledger.files] == [(str(tmp_path / "a.txt"), 1)]


def test_a_compaction_forgets_the_calls_that_it_covers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    session = opened(tmp_path, 'read("a.txt")')
    say_to(session, "go")
    last = session.history.last_seq
    carried = evolve(
        session.history, Record(last + 1, "", "", "", Compaction("manual", "compressed", "auto", kept_from=last))
    )
    assert session.history.inner
    assert not carried.inner
    assert fold(session.journal.records()).inner == session.history.inner


def test_a_command_starts_in_the_folder_in_which_the_script_began(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    code = 'print(bash("cd sub && pwd"))\nprint(bash("pwd"))'
    session = opened(tmp_path, code, mode="yolo")
    say_to(session, "go")
    assert results(session)[0].output.splitlines()[:2] == [str(tmp_path / "sub"), str(tmp_path)]
    assert session.core.folder.now == tmp_path


def test_a_script_of_an_agent_that_only_reads_runs_no_other_command(tmp_path: Path) -> None:
    code = 'print(bash("ls"))\nbash("touch made.txt")'
    session = opened(tmp_path, code, mode="yolo")
    session.core.approval.looks = True
    say_to(session, "go")
    assert [each.result.status for each in inner(session)] == ["success", "denied"]
    assert not (tmp_path / "made.txt").exists()
