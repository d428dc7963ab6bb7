"""Approval requests, and the effect of each answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.approval import TIRED, ApprovalGate
from agentcli.agent.calls.call import beginning
from agentcli.agent.calls.stages import ApprovalStage, Prepare
from agentcli.agent.hooks import NOTHING, Outcome, Verdict
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, FoundTools
from agentcli.agent.timed_rules import TimedRules
from agentcli.core.dataclass import replace
from agentcli.core.errors import ConfigError, ToolError
from agentcli.core.event import Noticed, PermissionDecided, Warned
from agentcli.core.message import ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Mode
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import Rule, Rules, parse_rules
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS, tools
from tests.agent.calls.passing import TOOLS, a_call, judged
from tests.agent.open_session import Person, messages, open_session, results, say_to

COMMAND = "make build"


def test_an_edit_is_shown_as_the_diff_that_it_would_make(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    script = [
        say("", call("read", file_path="a.txt")),
        say("", call("edit", file_path="a.txt", old_string="two", new_string="three")),
        say("Done."),
    ]
    person = Person(ApprovalResponse("once"))
    session = open_session(tmp_path, script, person=person)
    say_to(session, "go")
    assert person.asked[0].kind == "diff"
    assert "-two" in person.asked[0].preview
    assert "+three" in person.asked[0].preview
    assert (tmp_path / "a.txt").read_text() == "one\nthree\n"


def test_an_edit_that_cannot_be_made_is_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    person = Person(ApprovalResponse("once"))
    script = [say("", call("edit", file_path="a.txt", old_string="zwei", new_string="drei")), say("I see.")]
    session = open_session(tmp_path, script, person=person)
    say_to(session, "go")
    assert person.asked == []
    assert [result.status for result in results(session)] == ["error"]


def test_once_allows_once_and_session_allows_the_same_again(tmp_path: Path) -> None:
    calls = [say("", call("bash", command=COMMAND)) for _ in range(3)]
    person = Person(ApprovalResponse("once"), ApprovalResponse("session"))
    saved: list[str] = []
    session = open_session(tmp_path, [*calls, say("Done.")], person=person, saved=saved)
    say_to(session, "go")
    assert [ask.preview for ask in person.asked] == [COMMAND, COMMAND]
    assert len(results(session)) == 3
    assert saved == []


def test_always_saves_the_exact_rule_that_was_shown(tmp_path: Path) -> None:
    saved: list[str] = []
    person = Person(ApprovalResponse("always"))
    session = open_session(tmp_path, [say("", call("bash", command=COMMAND)), say("Done.")], person=person, saved=saved)
    say_to(session, "go")
    assert saved == [person.asked[0].always] == [f"bash({COMMAND})"]


class Refusing(list[str]):
    """A config that cannot be written."""

    def extend(self, _: Iterable[str]) -> None:
        raise ConfigError("config.toml cannot be changed: No space left on device.")


def test_a_rule_that_cannot_be_saved_holds_for_the_session_and_the_call_runs(tmp_path: Path) -> None:
    calls = [say("", call("bash", command=COMMAND))] * 2
    person = Person(ApprovalResponse("always"))
    session = open_session(tmp_path, [*calls, say("Done.")], person=person, saved=Refusing())
    told = [event.message for event in say_to(session, "go") if isinstance(event, Noticed)]
    assert told == [
        f"Allowed for this session only: bash({COMMAND}). config.toml cannot be changed: No space left on device."
    ]
    assert len(person.asked) == 1
    assert len(results(session)) == 2


def test_a_changed_input_is_asked_about_as_the_call_that_it_makes(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(1, 31))
    (tmp_path / "a.txt").write_text(lines)
    (tmp_path / "b.txt").write_text(lines)
    edit = call("edit", file_path="a.txt", old_string="line 20", new_string="twenty")
    person = Person(None)
    reads = [call("read", file_path="a.txt"), call("read", file_path="b.txt")]
    session = open_session(tmp_path, [say("", *reads, edit), say("Done.")], person=person)
    say_to(session, "go")
    (ask,) = person.asked
    now = asyncio.run(ask.revise({**edit.input, "file_path": "b.txt", "new_string": "score"}))
    assert now.title == "Edit b.txt"
    assert "@@ -17,7 +17,7 @@" in now.preview
    assert "-line 20\n+score\n" in now.preview
    with pytest.raises(ToolError):
        asyncio.run(ask.revise({**edit.input, "old_string": "nowhere"}))


def test_always_where_no_rule_can_be_saved_allows_once_and_tells_of_no_rule(tmp_path: Path) -> None:
    """A program may answer so whatever is offered."""
    person = Person(ApprovalResponse("always"), ApprovalResponse("no"))
    calls = [say("", call("bash", command="echo x > .env"))] * 2
    session = open_session(tmp_path, [*calls, say("Done.")], person=person)
    told = [event.message for event in say_to(session, "go") if isinstance(event, Noticed)]
    assert (told, len(person.asked)) == ([], 2)


def test_the_question_tells_why_no_rule_can_be_saved(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    session = open_session(tmp_path, [say("", call("bash", command="echo x > .env")), say("Done.")], person=person)
    say_to(session, "go")
    assert person.asked[0].always == ""
    assert person.asked[0].unsaved == "calls on protected files ask each time"


def test_no_and_why_reach_the_model(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("no", "use the Makefile in sub"))
    session = open_session(tmp_path, [say("", call("bash", command=COMMAND)), say("I will.")], person=person)
    say_to(session, "go")
    assert results(session)[0].status == "denied"
    assert "use the Makefile in sub" in results(session)[0].output
    assert messages(session)[-1].text == "I will."


def test_an_edited_command_runs_as_it_was_edited_and_a_forbidden_one_does_not(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once", input={"command": "echo safer > out.txt"}))
    session = open_session(tmp_path, [say("", call("bash", command=COMMAND)), say("Ran.")], person=person)
    say_to(session, "go")
    assert (tmp_path / "out.txt").read_text() == "safer\n"


def test_with_nobody_there_what_would_ask_is_denied(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("", call("bash", command=COMMAND)), say("Then not.")])
    say_to(session, "go")
    assert results(session)[0].status == "denied"
    assert "No one can approve it" in results(session)[0].output


def test_plan_mode_changes_nothing_and_says_why(tmp_path: Path) -> None:
    script = [say("", call("write", file_path="a.txt", content="x")), say("Only a plan, then.")]
    session = open_session(tmp_path, script, mode="plan", person=Person(ApprovalResponse("once")))
    say_to(session, "go")
    assert not (tmp_path / "a.txt").exists()
    assert "plan mode" in results(session)[0].output


def test_all_calls_of_a_reply_are_allowed_at_once_as_they_were_shown(tmp_path: Path) -> None:
    made = [call("bash", command=f"make part{n}") for n in range(3)]
    person = Person(ApprovalResponse("all"))
    session = open_session(
        tmp_path, [say("", *made), say("", call("bash", command="make more")), say("Done.")], person=person
    )
    say_to(session, "go")
    first, after = person.asked
    assert [other.preview for other in first.others] == ["make part1", "make part2"]
    assert after.preview == "make more"
    assert after.others == ()
    assert [result.status == "denied" for result in results(session)] == [False, False, False, True]


def test_what_needs_no_approval_or_cannot_work_is_not_among_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    reply = [
        call("bash", command="make a"),
        call("read", file_path="a.txt"),
        call("edit", file_path="a.txt", old_string="zwei", new_string="drei"),
        call("bash", command="make b"),
    ]
    person = Person(ApprovalResponse("no"), ApprovalResponse("no"))
    session = open_session(tmp_path, [say("", *reply), say("I see.")], person=person)
    say_to(session, "go")
    assert [[other.preview for other in ask.others] for ask in person.asked] == [["make b"], []]


def test_a_call_that_never_ran_has_its_title(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    edit = call("edit", file_path="a.py", old_string="x", new_string="y")
    wrong = call("edit", file_path="a.py", old_string="z", new_string="y")
    session = open_session(tmp_path, [say("", edit, wrong), say("ok")])
    say_to(session, "go")
    assert [result.title for result in results(session)] == ["Edit a.py", "Edit a.py"]


def test_a_job_may_be_asked_for_again_and_again_where_other_calls_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    asked = {}
    for name, given in (("bash_output", {"id": "job-1"}), ("read", {"file_path": "a.txt"})):
        person = Person()
        calls = [say("", call(name, f"{name}-{n}", **given)) for n in range(5)]
        start = say("", call("bash", "start", command="sleep 60", run_in_background=True))
        session = open_session(tmp_path, [start, *calls, say("Done.")], person=person, mode="yolo")
        say_to(session, "go")
        session.close()
        asked[name] = [result.status for result in results(session)[1:]].count("error")
    assert asked == {"bash_output": 0, "read": 2}


def test_a_call_is_decided_about_as_it_is_meant_and_runs_so(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.txt"
    project.mkdir()
    outside.write_text("secret\n")
    (project / "a.txt").write_text("one\n")
    script = [
        say("", call("default_api:Read", "1", path="@a.txt")),
        say("", call("Read", "2", path=f"@{outside}")),
        say("", call("Bash", "3", cmd="touch made", explanation="to see")),
        say("", call("run_shell_command", "4", command="ls")),
        say("Done."),
    ]
    person = Person(ApprovalResponse("no"), ApprovalResponse("once"))
    session = open_session(project, script, person=person)
    say_to(session, "go")
    inside, denied, made, unknown = results(session)
    assert inside.output.endswith("one")
    assert (inside.name, denied.status) == ("read", "denied")
    assert "secret" not in denied.output
    assert [request.call.input for request in person.asked] == [{"file_path": str(outside)}, {"command": "touch made"}]
    assert made.output.endswith("[ignored, since this tool has no such parameter: explanation]")
    assert (project / "made").exists()
    assert unknown.output.endswith("(as bash)")
    said = [call.name for message in messages(session) for call in message.calls]
    assert said == ["read", "read", "bash", "bash"]


def test_the_first_call_that_nobody_can_allow_tells_what_to_expect_and_the_others_do_not(tmp_path: Path) -> None:
    script = [say("", call("bash", command=COMMAND)), say("", call("bash", command="make test")), say("Then not.")]
    session = open_session(tmp_path, script, attended=False)
    events = say_to(session, "go")
    first, second = (result.output for result in results(session))
    assert first.endswith("continue without them and say at the end what could not be run.")
    assert second.endswith("so it is denied")
    told = [event.why for event in events if isinstance(event, PermissionDecided)]
    assert not any("continue without them" in why for why in told), "the advice is for the model alone"


def test_a_run_without_a_person_says_at_its_start_what_will_be_denied(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Hello."), say("Again.")], attended=False)
    events = say_to(session, "go", "on")
    first, later = (message for message in messages(session) if message.role == "user")
    assert "Non-interactive run, no one can approve calls: edits and commands that may change files are denied." in str(
        first.parts
    )
    assert "Non-interactive run" not in str(later.parts)
    told = [event.message for event in events if isinstance(event, Warned)]
    assert [each.startswith("Non-interactive run, mode ask") for each in told] == [True]


def test_a_run_with_a_person_says_nothing_of_that(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Hello.")])
    say_to(session, "go")
    assert "Nobody" not in str(messages(session))
    assert session.notes == []


def test_a_bare_no_asks_for_no_way_around_it(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, [say("", call("bash", command=COMMAND)), say("Good.")], person=Person(ApprovalResponse("no"))
    )
    say_to(session, "go")
    assert results(session)[0].output.endswith("Do not try another way to the same end.")


def test_the_wider_always_covers_other_arguments_and_nothing_else(tmp_path: Path) -> None:
    saved: list[str] = []
    person = Person(ApprovalResponse("prefix"))
    lines = ("make build 2>&1 | tail -3", "make build fast", "make test", "make build --eval=x", "makes build")
    calls = [say("", call("bash", command=line)) for line in lines]
    session = open_session(tmp_path, [*calls, say("Done.")], person=person, saved=saved)
    say_to(session, "go")
    assert saved == ["bash(make build *)"] == list(person.asked[0].prefixes)
    assert [ask.preview for ask in person.asked] == [
        "make build 2>&1 | tail -3",
        "make test",
        "make build --eval=x",
        "makes build",
    ]


class Config(list[str]):
    """The rules of a config, with each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[list[str]] = []

    def extend(self, rules: Iterable[str]) -> None:
        self.writes.append(list(rules))


def test_the_rules_of_one_answer_are_saved_in_one_write(tmp_path: Path) -> None:
    config = Config()
    person = Person(ApprovalResponse("prefix", rules=("bash(make *)", "bash(cargo test *)")))
    session = open_session(
        tmp_path, [say("", call("bash", command=COMMAND)), say("Done.")], person=person, saved=config
    )
    told = [event.message for event in say_to(session, "go") if isinstance(event, Noticed)]
    assert config.writes == [["bash(make *)", "bash(cargo test *)"]]
    assert told == ["Saved for this project: bash(make *), bash(cargo test *)"]


def test_the_wider_rule_is_saved_as_it_was_edited(tmp_path: Path) -> None:
    saved: list[str] = []
    person = Person(ApprovalResponse("prefix", rules=("bash(make test *)",)))
    session = open_session(tmp_path, [say("", call("bash", command=COMMAND)), say("Done.")], person=person, saved=saved)
    told = [event.message for event in say_to(session, "go") if isinstance(event, Noticed)]
    assert saved == ["bash(make test *)"]
    assert told == ["Saved for this project: bash(make test *)"]


def test_for_this_session_holds_for_the_exact_text_of_what_no_rule_is_saved_for(tmp_path: Path) -> None:
    lines = ("python3 -c 'print(1)'", "for i in 1 2; do echo $i; done", "A=1 make x", "echo x > out.txt")
    calls = [say("", call("bash", command=line)) for line in lines for _ in range(2)]
    person = Person(*[ApprovalResponse("session")] * len(lines))
    saved: list[str] = []
    session = open_session(tmp_path, [*calls, say("Done.")], person=person, saved=saved)
    say_to(session, "go")
    assert [ask.preview for ask in person.asked] == list(lines)
    assert saved == []


def test_after_the_third_question_about_a_command_the_person_is_told_once_how_to_be_asked_less(tmp_path: Path) -> None:
    calls = [say("", call("bash", command=f"make part{n}")) for n in range(6)]

    def told(mode: Mode) -> list[str]:
        person = Person(*[ApprovalResponse("once")] * 6)
        session = open_session(tmp_path, [*calls, say("Done.")], person=person, mode=mode)
        events = say_to(session, "go")
        assert len(person.asked) == 6
        return [event.message for event in events if isinstance(event, Noticed) and "Shift-Tab" in event.message]

    assert (told("ask"), told("auto")) == ([TIRED], [])


def test_a_denial_keeps_the_dot_of_a_hidden_file(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("", call("bash", command="echo x > .envrc")), say("Then not.")])
    say_to(session, "go")
    assert results(session)[0].output.startswith(".envrc is protected. No one can approve it")


def test_all_edits_of_the_session_are_allowed_by_one_answer(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("old\n")
    edits = [call("edit", name, file_path=f"{name}.py", old_string="old", new_string="new") for name in ("a", "b")]
    saved: list[str] = []
    person = Person(ApprovalResponse("session"), ApprovalResponse("no"))
    session = open_session(
        tmp_path, [say("", *edits), say("", call("bash", command=COMMAND)), say("Done.")], person=person, saved=saved
    )
    say_to(session, "go")
    assert person.asked[0].edits
    assert [(tmp_path / name).read_text() for name in ("a.py", "b.py")] == ["new\n", "new\n"]
    assert (session.core.approval.mode, session.history.mode) == ("auto-edit", "auto-edit")
    assert [ask.preview for ask in person.asked[1:]] == [COMMAND], "and nothing but edits"
    assert saved == []


def test_an_edit_outside_of_the_workspace_opens_nothing_else_for_the_session(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside.txt"
    work.mkdir()
    write = call("write", file_path=str(outside), content="x\n")
    person = Person(ApprovalResponse("session"))
    session = open_session(work, [say("", write), say("Done.")], person=person)
    say_to(session, "go")
    assert not person.asked[0].edits
    assert session.core.approval.mode == "ask"


def test_the_answer_that_allows_a_program_in_the_sandbox_runs_this_call_there_too(tmp_path: Path) -> None:
    cover = UndoCover(1_000_000, 1_000, frozenset())
    workspace = Workspace(tmp_path, (tmp_path,), home=tmp_path / "home", sandboxed=True, undo=cover)
    for answer, inside in (
        (ApprovalResponse("prefix"), True),
        (ApprovalResponse("once"), False),
        (ApprovalResponse("session"), False),
    ):
        saved: list[Rule] = []
        journal = MemorySession()
        gate = ApprovalGate(
            TRAITS, Rules(), "ask", workspace, Person(answer), _no_preview, saved.extend,
            OnDemand(partial(TimedRules, journal, journal.append)),
        )  # fmt: skip
        script = beginning(
            ToolCall("c", "bash", {"command": "python3 -c 1"}), {tool.name: tool for tool in tools()}["bash"]
        )
        decided = asyncio.run(gate.decide(script)).decision
        assert decided is not None
        assert (decided.decision, decided.rule, decided.contained) == ("allow", f"user:{answer.choice}", inside)
        assert [*map(str, saved)] == ["sandbox(python3 *)"] * inside


def test_a_question_names_a_path_outside_once_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for folder in (work, home):
        folder.mkdir()
    workspace = Workspace(work, (work,), home=home, sandboxed=True, undo=UndoCover(1_000_000, 1_000, frozenset()))
    person, journal, bash = Person(ApprovalResponse("no")), MemorySession(), {one.name: one for one in tools()}["bash"]
    gate = ApprovalGate(
        TRAITS, Rules(), "auto", workspace, person, _no_preview, lambda _: None,
        OnDemand(partial(TimedRules, journal, journal.append)),
    )  # fmt: skip
    for there, full in (("~", home), ("..", tmp_path)):
        line = ToolCall("c", "bash", {"command": f"ls -la {there}; mount | grep -E ' /root| / '"})
        asyncio.run(gate.decide(beginning(line, bash)))
        outside = [reason for reason in person.asked[-1].why.split("\n") if reason.endswith("outside the workspace")]
        assert outside == [f"{full} is outside the workspace"]


def test_nothing_is_gathered_for_a_question_that_nobody_can_answer(tmp_path: Path) -> None:
    person, journal, bash = (
        Person(ApprovalResponse("once")),
        MemorySession(),
        {tool.name: tool for tool in tools()}["bash"],
    )
    gate = ApprovalGate(
        TRAITS, Rules(), "ask", Workspace(tmp_path, home=tmp_path), person, _no_preview, lambda _: None,
        OnDemand(partial(TimedRules, journal, journal.append)), attended=False,
    )  # fmt: skip
    shown: list[ApprovalRequest] = []

    async def by_hooks(ask: ApprovalRequest) -> Outcome:
        shown.append(ask)
        return NOTHING

    later = ToolCall("d", "bash", {"command": "make install"})
    call = beginning(ToolCall("c", "bash", {"command": COMMAND}), bash)
    decided = asyncio.run(gate.decide(call, [(later, bash)], by_hooks))
    assert decided.why_refused.startswith("make may change files. No one can approve it")
    assert (person.asked, shown[0].prefixes, shown[0].others) == ([], (), ())
    gate.attended = True
    asyncio.run(gate.decide(call, [(later, bash)], by_hooks))
    assert [(ask.prefixes, len(ask.others)) for ask in person.asked] == [(("bash(make build *)",), 1)]


async def _no_preview(*_: object) -> str:
    return ""


# The stage of approval alone: rules, hooks and the person decide about one value.


def stage_of(folder: Path, person: Person, ask_hooks: Any = None, **session: Any) -> ApprovalStage:
    gate = open_session(folder, [], person=person, **session).core.approval
    prepare = Prepare(TOOLS, FoundTools(dict(TRAITS)), folder)
    return ApprovalStage(gate, prepare, ask_hooks)


def test_a_reading_call_is_allowed_on_its_path_and_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    person = Person()
    call = judged(stage_of(tmp_path, person), a_call("read", file_path="a.txt"))
    assert (call.paths, call.result, person.asked) == ((tmp_path / "a.txt",), None, [])
    assert call.decision is not None
    assert call.decision.decision == "allow"


@pytest.mark.parametrize(
    ("answer", "status"),
    [(ApprovalResponse("once"), None), (ApprovalResponse("no", "Use make."), "denied"), (None, "denied")],
)
def test_the_persons_answer_ends_the_call_or_lets_it_run(
    tmp_path: Path, answer: ApprovalResponse | None, status: str | None
) -> None:
    person = Person(answer)
    call = judged(stage_of(tmp_path, person), a_call("bash", command="touch a"))
    assert len(person.asked) == 1
    assert (call.result.status if call.result else None) == status
    assert ("Use make." in call.why_refused) is (answer is not None and answer.reason == "Use make.")


def test_a_rule_that_denies_asks_nobody(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    stage = stage_of(tmp_path, person, rules=parse_rules((), (), ["bash(touch *)"]))
    call = judged(stage, a_call("bash", command="touch a"))
    assert call.result is not None
    assert (call.result.status, person.asked) == ("denied", [])


def test_input_that_the_person_edited_is_what_will_run(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once", input={"command": "touch b"}))
    call = judged(stage_of(tmp_path, person), a_call("bash", command="touch a"))
    assert (call.call.input, call.asked.input) == ({"command": "touch b"}, {"command": "touch a"})


def test_the_later_calls_of_the_reply_are_offered_with_the_question(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    later = (ToolCall("c2", "bash", {"command": "touch b"}), ToolCall("c3", "nothing", {}))
    judged(stage_of(tmp_path, person), replace(a_call("bash", command="touch a"), later=later))
    assert [other.call.call_id for other in person.asked[0].others] == ["c2"]


@pytest.mark.parametrize(("answer", "asked"), [("allow", 0), ("deny", 0), ("", 1)])
def test_hooks_may_answer_in_place_of_the_person(tmp_path: Path, answer: Any, asked: int) -> None:
    person = Person(ApprovalResponse("once"))

    async def hooks(_: ApprovalRequest) -> Outcome:
        return Outcome(Verdict(answer, "A hook says so."))

    call = judged(stage_of(tmp_path, person, hooks), a_call("bash", command="touch a"))
    assert len(person.asked) == asked
    assert (call.result is not None) is (answer == "deny")
