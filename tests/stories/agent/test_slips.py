"""Slips of models, each a script: how its turn ends, after how many requests, and what the model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.dataclass import dataclass
from agentcli.core.event import Noticed
from agentcli.core.message import Text, ToolCall
from agentcli.core.model import Request
from agentcli.core.record import Mode
from agentcli.providers.scripted.model import Reply, Script, call, say
from tests.agent.open_session import ended, messages, open_session, results, say_to

STEP_BACK = (
    "You made this call 3 times with the same result; it was not run again. Its result stands above. "
    "Step back: what do you want to learn, and what else can show it?"
)
OTHER_WAY = "You made this call 3 times with the same error; it was not run again. The error stands above."
REPEATED = "Stopped: "
TAKE_IT = "You announced a step and did not take it. Take it now, or say that the task is finished."


@dataclass(frozen=True, slots=True)
class Slip:
    """A script with its outcome. `told` are texts that the model reads in this order; `never` it reads nowhere."""

    name: str
    script: Script
    ending: str = "done"
    requests: int = 2
    told: Sequence[str] = ()
    never: Sequence[str] = ()
    mode: Mode = "yolo"
    attended: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


def again(*calls: ToolCall) -> list[Reply]:
    """A model that makes these calls in turn, and never ends by itself."""
    return [say("", each) for _ in range(160) for each in calls]


def then(*calls: ToolCall, end: str = "All done.") -> list[Reply]:
    """A model that makes these calls, one a reply, and ends."""
    return [*(say("", each) for each in calls), say(end)]


def varied(make: Callable[[int], ToolCall]) -> Callable[[Request], Reply]:
    """A model whose calls differ each time."""
    return lambda request: say("", make(len(request.messages)))


READ = call("read", file_path="a.txt")
LS, PWD, DATE = (call("bash", command=command) for command in ("ls", "pwd", "echo date"))
NO_SUCH = call("edit", file_path="a.txt", old_string="five", new_string="six")
TODO = call("todo", todos=[{"content": "write b.txt", "status": "pending"}])
DONE = call("todo", todos=[{"content": "write b.txt", "status": "completed"}])
WRITE = call("write", file_path="b.txt", content="b\n")

LOOPS = [
    Slip("one command", again(LS), "failed", 11, [STEP_BACK]),
    Slip("one reading", again(READ), "failed", 11, [STEP_BACK]),
    Slip("two commands in turn", again(LS, PWD), "failed", 12, [STEP_BACK]),
    Slip("three commands in turn", again(LS, PWD, DATE), "failed", 13, [STEP_BACK]),
    Slip("five commands in turn", again(LS, PWD, DATE, READ, call("list")), "failed", 15),
    Slip("a failing edit", again(NO_SUCH), "failed", 11, ["old_string is not in a.txt", OTHER_WAY]),
    Slip("failing edits that differ", varied(lambda n: call("edit", file_path="a.txt", old_string=f"no {n}", new_string="x")), "failed", 11),
    Slip("an unknown tool", again(call("frobnicate")), "failed", 11, ["There is no tool 'frobnicate'"]),
    Slip("an unknown tool, varied", varied(lambda n: call("frobnicate", n=n)), "failed", 11, ["There is no tool"]),
    Slip("a denied command", again(call("bash", command="touch x")), "failed", 12, ["denied", OTHER_WAY], mode="ask"),
    Slip("a state asked for without a wait", [say("", call("bash", command="sleep 60", run_in_background=True)), *again(call("bash_output", id="job-1"))], "failed", 32),
    Slip("with a person", again(LS), "failed", 6, [STEP_BACK], attended=True),
    Slip("no limit", [*again(LS)[:20], say("Enough.")], "done", 21, never=[STEP_BACK], settings={"repeat_limit": 0}),
    Slip("once is enough", again(LS), "failed", 11, ["You made this call once"], settings={"repeat_limit": 1}),
]  # fmt: skip
WORK = [
    Slip(
        "a test after each edit",
        then(*(each for n in range(12) for each in (call("bash", command="echo 1 failed; exit 1"), call("write", file_path="b.py", content=f"{n}\n")))),
        requests=25, never=[STEP_BACK],
    ),
    Slip("a command whose output changes", then(*[call("bash", command="echo x >> log; wc -l log")] * 15), requests=16, never=[STEP_BACK]),
    Slip("another way after a refusal", then(*[LS] * 4, PWD, LS), requests=7, told=[STEP_BACK]),
    Slip("commands that print nothing", then(*(call("bash", command=f"touch f{n}") for n in range(15))), requests=16, never=[STEP_BACK]),
    Slip("different denials", then(*(call("bash", command=f"touch f{n}") for n in range(15))), requests=16, mode="ask", never=[STEP_BACK]),
]  # fmt: skip
ENDS = [
    Slip("a colon", [say("I look at the tests now:"), say("Done.")], told=[TAKE_IT]),
    Slip("a promise", [say("The bug is in a.py. Let me fix it."), say("Done.")], told=[TAKE_IT]),
    Slip("a promise with now", [say("All right.\n\nNow I will run the tests."), say("Done.")], told=[TAKE_IT]),
    Slip("promises without end", [say("I'll fix it now.")], "incomplete", 2, told=[TAKE_IT]),
    Slip("an offer", [say("Fixed. Let me know if you want more.")], requests=1, never=[TAKE_IT]),
    Slip("an answer", [say("It is in a.py:3, and I'll-be is a name there.")], requests=1, never=[TAKE_IT]),
    Slip("a call as text", [say("<function_calls>\n<invoke name=\"bash\">ls</invoke>"), say("Done.")], told=["a call written as text, which nothing runs"]),
    Slip("a lone command", [say("```bash\nls\n```"), say("Done.")], told=["a call written as text"]),
    Slip("tags in an answer", [say("It writes `<function_calls>`.\n```\n<tool_call>\n```")], requests=1, never=["written as text"]),
    Slip("a promise to a person", [say("I'll fix it now.")], requests=1, never=[TAKE_IT], attended=True),
    Slip("open todos", then(TODO), requests=3, told=["Your list still has open items:\n- write b.txt\n"]),
    Slip("a todo in progress", then(call("todo", todos=[{"content": "write b.txt", "status": "in_progress"}])), requests=2, never=["open items"]),
    Slip("todos that are done", then(TODO, WRITE, DONE), requests=4, never=["open items"]),
    Slip("confirm after changes", then(WRITE), requests=3, told=["check each requirement by running something"], settings={"confirm_done": True}),
    Slip("confirm nothing", then(READ, LS), requests=3, never=["Before you end"], settings={"confirm_done": True}),
    Slip("all at once", [say("", TODO), say("", WRITE), say("Let me test it.")], "incomplete", 6, told=[TAKE_IT, "open items", "Before you end"], settings={"confirm_done": True}),
    Slip("no step left", then(READ, end="Let me fix it."), "limit", 2, told=[TAKE_IT], settings={"max_steps": 2}),
]  # fmt: skip
TEXTS = [
    Slip("a tool misspelt", then(call("raed", file_path="a.txt")), told=["There is no tool 'raed'. Did you mean read?"]),
    Slip("a parameter missing", then(call("read")), told=["Missing file_path. This tool takes file_path, offset, limit."]),
    Slip("a value of the wrong kind", then(call("read", file_path="a.txt", offset="x")), told=["offset must be a whole number."]),
    Slip("a file not found", then(call("read", file_path="b.txt")), told=["b.txt does not exist. Did you mean a.txt?"]),
    Slip("a text not found", then(READ, NO_SUCH), requests=3, told=["old_string is not in a.txt. Nothing was changed. Read the file again."]),
    Slip("a text not unique", then(READ, call("edit", file_path="a.txt", old_string="one", new_string="x")), requests=3,
         told=["old_string occurs 2 times in a.txt (lines 1, 3). Add surrounding lines to make it unique, or set replace_all."]),
    Slip("denied", then(call("bash", command="touch x")), mode="ask", told=["touch may change files. No one can approve it", "continue without them and say at the end what could not be run"]),
    Slip("a program for a terminal", then(call("bash", command="vim x")), told=["vim needs a terminal, and commands have none."]),
    Slip("no such job", then(call("bash_output", id="job-7")), told=["There is no background job job-7: they end with agentcli. Jobs: none."]),
    Slip("an output cut", then(call("bash", command="seq 1 20000")), told=["left out"]),
    Slip("a reply cut", [say("half", LS, stop="max_tokens"), say("Done.")], told=["Not run", "Your reply reached the output limit"]),
    Slip("a window full", [say("half", stop="context_exceeded"), say("Done.")], told=["reached the end of the context window"], never=["output limit"]),
    Slip("an empty reply", [say(""), say("Done.")], told=["Your last reply was empty."]),
    Slip("code left out", then(call("write", file_path="b.py", content="a\n# ... rest of the code ...\n")), told=["Line 2 of content is a placeholder for omitted code"]),
    Slip("the same in prose", then(call("write", file_path="b.md", content="a\n# ... rest of the code ...\n")), told=["Created b.md"]),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """Calls, and the whole text with which the last one is answered."""

    name: str
    calls: Sequence[ToolCall]
    text: str
    mode: Mode = "yolo"
    status: str = "error"
    part: bool = False
    """True if `text` is only a part of it."""


def edit(old: str, new: str = "x", file: str = "a.txt") -> ToolCall:
    return call("edit", file_path=file, old_string=old, new_string=new)


PATCH = "*** Begin Patch\n*** Update File: {file}\n@@\n-five\n+six\n*** End Patch\n"
DENIED_FIRST = (
    " No one can approve it, so it is denied. Calls like this one, and variants of it, will be denied again; "
    "continue without them and say at the end what could not be run."
)
OFFERED = "bash, bash_output, bash_stop, edit, glob, grep, list, multi_edit, read, recall, task, todo, web_fetch, write"
ANSWERS = [
    Told("an unknown tool", [call("frobnicate")], f"There is no tool 'frobnicate'. There are: {OFFERED}."),
    Told("an unknown tool of another program", [call("write_stdin", session_id=1, chars="y")], f"There is no tool 'write_stdin'. Did you mean bash_output? There are: {OFFERED}."),
    Told("a tool of another program", [call("run_shell_command", command="echo x")], "x\n(as bash)", status="success"),
    Told("a parameter that is not there", [call("read", file_path="a.txt", encoding="x")], "one\ntwo\none\n[ignored, since this tool has no such parameter: encoding]", status="success"),
    Told("a value that is none of the choices", [call("todo", todos=[{"content": "x", "status": "later"}])], "todos[0].status must be one of pending, in_progress, completed, cancelled."),
    Told("the same text", [READ, edit("two", "two")], "old_string and new_string are the same. Nothing was changed."),
    Told("an empty old text", [READ, edit("")], "old_string is empty, but a.txt is not. Give the text to replace, or use write. Nothing was changed."),
    Told("the second of two edits", [READ, call("multi_edit", file_path="a.txt", edits=[{"old_string": "two", "new_string": "2"}, {"old_string": "nine", "new_string": "9"}])],
         "Edit 2 of 2: old_string is not in a.txt. Nothing was changed. Read the file again."),
    Told("a file changed since it was read", [READ, call("bash", command="echo x >> a.txt"), edit("two", "2")],
         "Edited a.txt: 1 replacement (the file had changed since you read it; lines 1-4 now:)\none\n2\none\nx", status="success"),
    Told("a file overwritten unread", [call("write", file_path="a.txt", content="x")], "a.txt has not been read yet. Read it first, then change it."),
    Told("a patch that does not fit", [READ, call("apply_patch", input=PATCH.format(file="a.txt"))], "these lines are not in a.txt: 'five' … Nothing was changed. Read the file again."),
    Told("a patch of a file that is not there", [call("apply_patch", input=PATCH.format(file="zz.txt"))], "zz.txt does not exist. Did you mean a.txt?"),
    Told("a text that is no patch", [call("apply_patch", input="hello")], "A patch begins with the line '*** Begin Patch', and this one with 'hello'. Nothing was changed."),
    Told("lines beyond the end", [call("read", file_path="a.txt", offset=50)], "a.txt has only 3 lines; line 50 is beyond its end."),
    Told("a binary file", [call("bash", command="printf '\\0\\1' > b.bin"), call("read", file_path="b.bin")], "b.bin is a binary file of 2 bytes. Look at it with bash (file, xxd) if you must."),
    Told("nothing found", [call("grep", pattern="zzz")], "No matches in 1 file.", status="success"),
    Told("nothing found by a pattern that another reading breaks", [call("grep", pattern="print\\(")], "No matches in 1 file.", status="success"),
    Told("files left out by a glob", [call("grep", pattern="two", glob="!*.po", output_mode="files_with_matches")], "a.txt", status="success"),
    Told("all files left out by a glob", [call("grep", pattern="two", glob="!*.txt")], "No file matches !*.txt in .; what .gitignore names is left out.", status="success"),
    Told("a line of a coloured output", [call("bash", command="printf '\\033[31mE   boom\\033[0m\\n'; seq 1 20000"), call("recall", pattern="^E  ")], "E   boom", status="success", part=True),
    Told("a line that is denied for one part", [call("bash", command="ls; rm -rf /")], f"rm of / is destructive.{DENIED_FIRST} Nothing of this command ran: run its other parts by themselves.", status="denied"),
    Told("one command with words that look like another one", [call("bash", command="git -c core.hooksPath=/dev/null commit -m 'Rename heading'")], f"git -c may start programs.{DENIED_FIRST}", mode="ask", status="denied"),
    Told("a job that is ended by its number", [call("bash", command="kill 1")], f"kill ends processes.{DENIED_FIRST} bash_stop ends a background job.", mode="auto", status="denied"),
    Told("a long command", [call("bash", command="echo x\n" * 2_000)], f"the command is longer than 10,000 characters.{DENIED_FIRST} Nothing of this command ran: run its other parts by themselves. Make files with `write` instead.", mode="ask", status="denied"),
    Told("a file outside", [call("read", file_path="/etc/x")], f"/etc/x is outside the workspace.{DENIED_FIRST}", mode="ask", status="denied"),
    Told("another one after that", [call("read", file_path="/etc/x"), call("read", file_path="/etc/y")], "/etc/y is outside the workspace. No one can approve it, so it is denied", mode="ask", status="denied"),
    Told("a file missing beside programs", [call("read", file_path="/usr/share/x")], "/usr/share/x does not exist", mode="ask", part=True),
    Told("a change in plan mode", [WRITE], "plan mode is on, so nothing may change: it changes a file. Read and search instead, then present the plan", mode="plan", status="denied"),
    Told("a destructive command", [call("bash", command="rm -rf /")], f"rm of / is destructive.{DENIED_FIRST}", status="denied"),
    Told("an empty command", [call("bash", command=" ")], "The command is empty."),
    Told("a command that fails", [call("bash", command="echo no; exit 3")], "no\n[exit code 3]"),
    Told("processes left running", [call("bash", command="sleep 30 & echo x")], "x\n[stopped what it left running (1 process); use run_in_background for what should go on]", status="success"),
    Told("a move out of the workspace", [call("bash", command="cd /")], "(no output)\n[the next command starts in {folder} again]", status="success"),
    Told("an agent of an unknown kind", [call("task", description="x", prompt="y", agent="zz")], "There is no kind of agent 'zz'. Use one of: general, explore."),
    Told("a question without a person", [call("ask_user", questions=["Which?"])], "Nobody can answer: decide, and say what you assumed.", status="denied"),
    Told("a plan in another mode", [call("exit_plan", plan="x")], "You are not in plan mode; go on.", status="success"),
    Told("nothing to recall", [call("recall", pattern="qqqq")], "Nothing in this session matches.", status="success"),
    Told("a record that is not there", [call("recall", id="zz")], "No call or record zz in this session. Search with a pattern instead."),
    Told("a page on this machine", [call("web_fetch", url="http://127.0.0.1:1/")], "127.0.0.1 is at 127.0.0.1, which is not a public address; only the public web is fetched."),
]  # fmt: skip


@pytest.mark.parametrize("told", ANSWERS, ids=lambda told: told.name)
def test_a_slip_is_answered_with_what_happened_what_was_seen_and_what_to_do_next(told: Told, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\none\n")
    session = open_session(tmp_path, then(*told.calls), mode=told.mode, attended=False)
    say_to(session, "go")
    session.close()
    last = results(session)[-1]
    expected = told.text.replace("{folder}", str(tmp_path))
    shown = expected if told.part and expected in last.output else last.output.strip()
    assert (last.status, shown) == (told.status, expected)


@pytest.mark.parametrize("slip", [*LOOPS, *WORK, *ENDS, *TEXTS], ids=lambda slip: slip.name)
def test_a_slip_ends_as_it_should_and_is_answered_with_what_helps(slip: Slip, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\none\n")
    session = open_session(tmp_path, slip.script, mode=slip.mode, attended=slip.attended, **slip.settings)
    last = ended(say_to(session, "go"))
    session.close()
    assert (last.ending, last.steps) == (slip.ending, slip.requests)
    if slip.ending == "failed":
        assert (str(last.error).startswith(REPEATED), getattr(last.error, "exit_code", 0)) == (True, 1)
    read = "\n".join(text for entry in session.history.entries for text in texts(entry.body))
    at = 0
    for text in slip.told:
        assert text in read[at:], f"{text!r} is not in what the model reads:\n{read[at:]}"
        at = read.index(text, at)
    assert [text for text in slip.never if text in read] == []


def texts(body: Any) -> list[str]:
    """What agentcli itself says in a record."""
    if hasattr(body, "output"):
        return [body.output]
    return [part.text for part in getattr(body, "parts", ()) if isinstance(part, Text) and part.synthetic]


def test_a_person_is_told_of_a_promise_once_and_the_model_hears_nothing(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Let me fix it.")])
    events = say_to(session, "go")
    assert [e.message for e in events if isinstance(e, Noticed) and "announced" in e.message]
    assert len(messages(session)) == 2


def test_a_new_prompt_lets_a_repeated_call_run_again(tmp_path: Path) -> None:
    script = [*then(*[LS] * 3), *then(*[LS] * 3)]
    session = open_session(tmp_path, script, mode="yolo")
    say_to(session, "list it", "list it again")
    assert [result.status for result in results(session)] == ["success"] * 6


def test_a_full_window_is_compacted_and_the_turn_goes_on(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("word " * 8_000)
    reads = [say("", call("bash", command=f"head -c {n}000 big.txt")) for n in range(20, 29)]
    session = open_session(
        tmp_path, [*reads, say("half", stop="context_exceeded"), say("All done.")], mode="yolo", attended=False
    )
    last = ended(say_to(session, "go"))
    assert (last.ending, last.text) == ("done", "All done.")
    assert session.history.compaction is not None
    assert any(
        "was shortened to make room for it" in text for entry in session.history.entries for text in texts(entry.body)
    )
