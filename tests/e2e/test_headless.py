"""Runs without a person: output, exit codes, limits, and a result whatever happens."""

from __future__ import annotations

import json
import signal
import subprocess
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.box import entrance_program
from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Loopback, Refuse
from tests.sampling import first

CLAUDE, GEMINI = "anthropic/claude-sonnet-5", "google/gemini-3.8-flash"


def test_the_answer_and_nothing_else_is_on_stdout(program: Program) -> None:
    ran = program.run("-p", "hello there", "-m", "script:echo")
    assert (ran.code, ran.out) == (0, "hello there\n")


def test_piped_text_comes_before_the_prompt(program: Program) -> None:
    assert program.run("-p", "second", "-m", "script:echo", stdin="first\n").out == "first\n\nsecond\n"
    assert program.run("-p", "-", "-m", "script:echo", stdin="all of it").out == "all of it\n"


def test_piped_output_is_what_a_terminal_would_show_of_it(program: Program) -> None:
    bar = "".join(f"\r\x1b[32m{n:3}% compiled\x1b[0m" for n in range(101)) + "\n1 error\n"
    assert program.run("-p", "fix", "-m", "script:echo", stdin=bar).out == "100% compiled\n1 error\n\nfix\n"


def test_json_is_one_object_with_the_fields_of_the_contract(program: Program) -> None:
    ran = program.run("-p", "hi", "-m", "script:echo", "-o", "json")
    [result] = ran.lines
    wanted = (
        "type timestamp status subtype text session_id turns duration_ms usage cost permission_denials error exit_code"
        " verified"
    )
    assert set(wanted.split()) == set(result)
    assert (result["text"], result["status"], result["turns"]) == ("hi", "success", 1)


def test_stream_json_begins_with_init_and_ends_with_the_result(program: Program) -> None:
    ran = program.ask("-p", "go", "-m", "script:steps:2")
    kinds = [line["type"] for line in ran.lines]
    assert kinds[0] == "init"
    assert kinds[-1] == "result"
    assert {"message", "tool_call", "tool_result", "permission", "usage"} <= set(kinds)
    init = ran.lines[0]
    assert {"schema_version", "session_id", "model", "cwd", "mode", "tools"} <= set(init)
    pieces = "".join(line["text"] for line in ran.of("message") if line.get("delta"))
    whole = "".join(line["text"] for line in ran.of("message") if line["role"] == "assistant" and not line.get("delta"))
    assert pieces == whole


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-p", "x", "--nonsense"], 2),
        (["-p", "x", "-C", "/no/such/folder"], 2),
        (["-p", "x", "--mode", "wild"], 2),
        (["-p", "x"], 41),
        (["-p", ""], 42),
        (["-p", "x", "-m", "script:no-such-script"], 42),
        (["resume", "no-such-session", "-p", "x", "-m", "script:echo"], 42),
        (["-p", "x", "-m", "script:echo", "--set", "context.soft=warm"], 52),
        (["-p", "x", "-m", "script:steps:9", "--max-turns", "2"], 53),
    ],
)
def test_every_way_to_fail_has_its_code_and_a_result(program: Program, arguments: list[str], code: int) -> None:
    ran = program.ask(*arguments)
    assert ran.code == code, ran
    assert ran.result["exit_code"] == code
    assert ran.result["status"] == "error"
    assert ran.result["error"]


def test_a_model_that_only_an_untrusted_folder_names_needs_trust(program: Program) -> None:
    (program.work / ".agentcli").mkdir()
    (program.work / ".agentcli" / "config.toml").write_text('model = "script:echo"\n')
    ran = program.ask("-p", "hi")
    assert (ran.code, ran.result["subtype"]) == (55, "untrusted")
    assert "--trust" in ran.result["error"]
    assert program.run("-p", "hi", "--trust").out == "hi\n"


def test_a_failed_request_has_its_code_and_keeps_the_prompt(program: Program) -> None:
    with Loopback([Refuse(401, "authentication_error", "invalid x-api-key")]) as server:
        program.more = server.env
        ran = program.ask("-p", "remember me", "-m", CLAUDE)
    assert (ran.code, ran.result["exit_code"]) == (41, 41)
    [said] = [r["parts"] for r in program.records() if r["kind"] == "message"]
    assert [part["text"] for part in said if not part["synthetic"]] == ["remember me"]


def test_a_run_that_may_go_on_later_names_its_session_if_that_is_stored(program: Program) -> None:
    with Loopback(lambda _: Refuse(500)) as server:
        program.more = {**server.env, "AGENTCLI_RETRY__ATTEMPTS": "2", "AGENTCLI_RETRY__FIRST": "0"}
        stored = program.ask("-p", "hi", "-m", CLAUDE)
        fleeting = program.ask("-p", "hi", "-m", CLAUDE, "--no-session")
    assert (stored.code, fleeting.code) == (75, 75)
    assert stored.err.endswith(f"`agentcli resume {stored.result['session_id']}` continues this run.\n")
    assert "Gave up after 2 requests" in fleeting.result["error"]
    assert "resume" not in fleeting.err + fleeting.out
    assert "agentcli -c" not in stored.err + fleeting.err


@pytest.mark.full
def test_a_limit_of_cost_that_cannot_hold_is_told(program: Program) -> None:
    told = "The price of local/some is not known, so limits in USD have no effect"
    with Loopback(lambda _: say("fine")) as server:
        program.config(f'[providers.local]\nkind = "anthropic"\nbase_url = "{server.url}"')
        program.more = server.env
        for limit in (("--max-cost", "1"), ("--set", "budget.session.cost=1")):
            assert program.run("-p", "hi", "-m", "local/some", *limit).err.count(told) == 1
        assert told not in program.run("-p", "hi", "-m", "local/some").err
        priced = ("--set", 'models."local/some".prices={input = 1, output = 1}')
        assert told not in program.run("-p", "hi", "-m", "local/some", "--max-cost", "1", *priced).err


@pytest.mark.full
@pytest.mark.parametrize("command", ["rm -rf build", "rm -rf build; rm -f x"])
def test_what_is_not_allowed_is_denied_and_listed_and_the_run_goes_on(program: Program, command: str) -> None:
    script = program.base / "script.json"
    calls = [{"name": "bash", "input": {"command": command}}]
    script.write_text(json.dumps({"replies": [{"calls": calls}, {"text": "I was not allowed."}]}))
    ran = program.ask("-p", "clean up", "-m", f"script:{script}")
    assert ran.code == 0
    [denial] = ran.result["permission_denials"]
    assert (denial["name"], denial["input"]) == ("bash", {"command": command})
    assert [line["status"] for line in ran.of("tool_result")] == ["denied"]
    told = program.run("-p", "clean up", "-m", f"script:{script}").err
    assert f"Bash {command} (rm deletes files; allow it with --allow 'bash({command})')" in told
    allowed = program.ask("-p", "clean up", "-m", f"script:{script}", "--allow", f"bash({command})")
    assert [line["status"] for line in allowed.of("tool_result")] == ["success"]
    assert allowed.result["permission_denials"] == []


@pytest.mark.skipif(detect().kind != "bubblewrap", reason="no sandbox that says what it refuses works here")
def test_a_command_that_its_sandbox_refused_is_listed_once_with_its_remedy(program: Program) -> None:
    subprocess.run(["git", "init", "-q"], cwd=program.work, check=True)
    write = "python3 write.py"
    (program.work / "write.py").write_text("open('.g' 'it/hooks/made', 'w')")
    script = program.base / "script.json"
    calls = [{"name": "bash", "input": {"command": line}} for line in (write, write, "cat missing")]
    script.write_text(json.dumps({"replies": [{"calls": [call]} for call in calls] + [{"text": "It failed."}]}))
    given = ("-p", "write", "-m", f"script:{script}", "--mode", "auto")
    ran = program.ask(*given)
    assert [(denied["name"], denied["input"], denied["rule"]) for denied in ran.result["permission_denials"]] == [
        ("bash", {"command": write}, "mode auto")
    ]
    [denied] = [line for line in program.run(*given).err.splitlines() if line.startswith("agentcli: denied:")]
    assert "its sandbox refused it: “OSError: [Errno 30] Read-only file system: '.git/hooks/made'”" in denied
    allowed = program.ask(*given, "--allow", "bash(python3 *)")
    assert (allowed.result["permission_denials"], (program.work / ".git/hooks/made").exists()) == ([], True)


@pytest.mark.skipif(detect().kind != "bubblewrap" or entrance_program() is None, reason="no network by host here")
def test_a_host_that_nobody_can_allow_is_listed_once_with_its_remedy(program: Program) -> None:
    fetch = "curl -sS http://b.example/; curl -sS http://b.example/; curl -sS http://bad.example/"
    script = program.base / "script.json"
    calls = [{"name": "bash", "input": {"command": fetch}}]
    script.write_text(json.dumps({"replies": [{"calls": calls}] * 2 + [{"text": "It could not be fetched."}]}))
    given = ("-p", "fetch", "-m", f"script:{script}", "--mode", "auto", "--deny", "network(bad.example)")
    ran = program.ask(*given)
    assert [(denied["name"], denied["input"], denied["rule"]) for denied in ran.result["permission_denials"]] == [
        ("network", {"host": "b.example"}, "mode auto"),
        ("network", {"host": "bad.example"}, "network(bad.example)"),
    ]
    hosts = [line["host"] for line in ran.of("permission") if line["decision"] == "deny"]
    assert hosts == ["b.example", "bad.example"]
    denied = [line for line in program.run(*given).err.splitlines() if line.startswith("agentcli: denied:")]
    assert denied == [
        "agentcli: denied: Network b.example (curl asked for it, but no rule names this host; "
        "allow it with --allow 'network(b.example)')",
        "agentcli: denied: Network bad.example (denied by the rule network(bad.example))",
    ]


@pytest.mark.full
def test_the_remedy_for_a_denied_line_is_a_rule_for_the_command_that_the_reason_names(program: Program) -> None:
    script = program.base / "script.json"
    calls = [{"name": "bash", "input": {"command": "echo begin && rm -rf build; ls | head -3"}}]
    script.write_text(json.dumps({"replies": [{"calls": calls}, {"text": "I was not allowed."}]}))
    told = program.run("-p", "clean up", "-m", f"script:{script}").err
    assert "(rm deletes files; allow it with --allow 'bash(rm -rf build)')" in told
    allowed = program.ask("-p", "clean up", "-m", f"script:{script}", "--allow", "bash(rm -rf build)")
    assert [line["status"] for line in allowed.of("tool_result")] == ["success"]


@pytest.mark.full
def test_a_flag_allows_a_rule_for_a_number_of_calls_or_a_time_of_this_run(program: Program) -> None:
    script = program.base / "script.json"
    calls = [{"name": "bash", "input": {"command": f"rm -rf build{number}"}} for number in range(3)]
    script.write_text(json.dumps({"replies": [{"calls": calls}, {"text": "Done."}]}))

    def statuses(*more: str) -> list[str]:
        return [
            line["status"] for line in program.ask(*more, "-p", "clean up", "-m", f"script:{script}").of("tool_result")
        ]

    assert sorted(statuses("--allow", "Bash(rm -rf *) for 2 calls")) == ["denied", "success", "success"]
    assert statuses("-c") == ["denied"] * 3  # nothing of it is resumed
    assert statuses("--allow", "bash(rm -rf *) for 1m") == ["success"] * 3
    for wrong in ("bash(rm -rf *) for 0 calls", "bash(rm -rf *) for 25h", "brush for 2 calls"):
        assert program.run("-p", "clean up", "-m", f"script:{script}", "--allow", wrong).code == 2
    explained = program.run("permissions", "explain", "rm -rf build1", "--allow", "bash(rm -rf *) for 2 calls")
    assert explained.out.startswith("allow: allow bash(rm -rf *)")


def fix(asked: Any) -> Any:
    """A model that reads a file, edits it and says that it is done, whatever the wire."""
    replies = [
        say("I look.", call("read", file_path="a.txt"), call("read", file_path="b.txt"), thinking="Let me see."),
        say("I edit.", call("edit", file_path="a.txt", old_string="old", new_string="new"), thinking="Simple."),
        say("Done."),
    ]
    steps = sum(1 for turn in asked.turns if turn["role"] in ("assistant", "model"))
    return replies[min(steps, 2)]


@pytest.mark.full
def test_both_providers_leave_the_same_records_but_for_what_is_theirs(tmp_path: Path) -> None:
    told = []
    for name, model in (("claude", CLAUDE), ("gemini", GEMINI)):
        program = Program(tmp_path / name)
        program.base.mkdir()
        (program.work / "a.txt").write_text("old\n")
        (program.work / "b.txt").write_text("of no use\n")
        with Loopback(fix) as server:
            program.more = server.env
            ran = program.ask("-p", "change it", "-m", model, "--mode", "auto-edit")
        assert ran.code == 0, ran.err
        assert (program.work / "a.txt").read_text() == "new\n"
        told.append([_neutral(record, program) for record in program.records()])
    assert told[0] == told[1]
    assert sum(record["kind"] == "tool_result" for record in told[0]) == 3


def _neutral(record: dict[str, Any], program: Program) -> dict[str, Any]:
    """A record without what differs between runs and providers."""
    text = json.dumps(record).replace(str(program.base), "HOME")
    bare = json.loads(text)
    for key in ("id", "time", "prev", "provider", "model", "usage", "cost", "call_id", "system"):
        bare.pop(key, None)
    for part in bare.get("parts", ()):
        for key in ("call_id", "signature", "meta"):
            part.pop(key, None)
    for key in ("id", "calls", "started"):
        bare.get("data", {}).pop(key, None)
    if "tools" in bare:  # Gemini is not offered `multi_edit`
        bare["tools"] = [tool for tool in bare["tools"] if tool["name"] != "multi_edit"]
    # Gemini signs a reply with a last text that is empty: that is the provider's, not the conversation's.
    bare["parts"] = [part for part in bare.get("parts", ()) if part.get("text") != ""]
    return bare


@pytest.mark.full
def test_the_next_request_after_a_resume_begins_with_the_bytes_of_the_last_one(program: Program) -> None:
    (program.work / "AGENTS.md").write_text("Write tests first.\n")
    for model in (CLAUDE, GEMINI):
        with Loopback(fix) as server:
            program.more = server.env
            (program.work / "a.txt").write_text("old\n")
            long_enough_to_be_cached = "".join(f"line {n} of some length\n" for n in range(1_000))
            (program.work / "b.txt").write_text(long_enough_to_be_cached)
            assert program.ask("-p", "change it", "-m", model, "--mode", "auto-edit").code == 0
            (program.work / "AGENTS.md").write_text("Changed meanwhile.\n")
            assert program.ask("resume", "--last", "-p", "and now?").code == 0
        before, after = server.requests[-2], server.requests[-1]
        assert not any(asked.refused for asked in server.requests)
        head = "system" if before.wire == "anthropic" else "systemInstruction"
        assert before.json["tools"] == after.json["tools"]
        assert json.dumps(_bare(before.json[head])) == json.dumps(_bare(after.json[head]))
        assert _bare(after.turns[: len(before.turns)]) == _bare(before.turns)
        assert after.model == before.model
        read = after.usage.get("cache_read_input_tokens") or after.usage.get("cachedContentTokenCount")
        assert read, after.usage


def _bare(value: Any) -> Any:
    """Without cache marks, which may move."""
    if isinstance(value, dict):
        return {key: _bare(inner) for key, inner in value.items() if key != "cache_control"}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value


def long_turn(asked: Any) -> Any:
    """Sixty steps of reading on one prompt, then the end; counted by what the answers say, since history gets shorter."""
    long_turn.step += 1  # type: ignore[attr-defined]
    step = long_turn.step  # type: ignore[attr-defined]
    if step > 60:
        return say("All sixty read.")
    return say(f"Step {step}.", call("read", file_path=f"f{step}.txt"), thinking=f"Next is {step}.")


@pytest.mark.full
@pytest.mark.parametrize(
    "model", [CLAUDE, *(pytest.param(name, marks=pytest.mark.slow) for name in (GEMINI, "anthropic/claude-sonnet-5-5"))]
)
def test_sixty_steps_on_one_prompt_cross_the_hard_mark_and_go_on(program: Program, model: str) -> None:
    for step in range(1, 61):
        lines = [f"file {step} line {line} holds the value {step * line}" for line in range(120)]
        (program.work / f"f{step}.txt").write_text("\n".join(lines))
    long_turn.step = 0  # type: ignore[attr-defined]
    with Loopback(long_turn, window=32_000) as server:
        program.more = server.env
        program.config(f'[models."{model}"]\nwindow = 32000\nmax_output = 4000\n')
        ran = program.ask("-p", "Read all sixty files. Never skip one.", "-m", model, seconds=110)
    assert ran.code == 0, (ran.result, ran.err)
    assert ran.result["text"] == "All sixty read."
    assert not [asked.refused for asked in server.requests if asked.refused]
    assert [line for line in ran.of("compaction") if line["status"] == "compressed"] or ran.of("prune")
    assert "Never skip one." in json.dumps(server.requests[-1].json)


@pytest.mark.full
def test_a_prompt_that_is_too_long_is_compacted_and_sent_once_more(program: Program) -> None:
    """The window is smaller than the table says: only the provider's refusal tells."""
    for n in range(6):
        (program.work / f"f{n}.txt").write_text("\n".join(f"{n} {line} some words to fill it" for line in range(400)))

    def plan(asked: Any) -> Any:
        plan.step += 1  # type: ignore[attr-defined]
        n = plan.step - 1  # type: ignore[attr-defined]
        return say(f"Read {n}.", call("read", file_path=f"f{n}.txt")) if n < 6 else say("Read them.")

    plan.step = 0  # type: ignore[attr-defined]
    with Loopback(plan, window=16_000) as server:
        program.more = server.env
        ran = program.ask("-p", "read", "-m", CLAUDE)
    assert ran.code == 0, (ran.result, ran.err)
    assert [asked for asked in server.requests if "too long" in asked.refused]
    assert "overflow" in [line["trigger"] for line in ran.of("compaction")]


def test_sigint_and_sigterm_end_the_turn_in_good_order(program: Program) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = program.start("-p", "go", "-m", "script:long-reply", "-o", "stream-json")
        assert process.stdout is not None
        seen = ""
        while '"delta": true' not in seen:
            seen += process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert process.returncode == code, err
        assert json.loads(out.strip().split("\n")[-1])["exit_code"] == code
    assert program.run("resume", "--last", "-p", "still there?", "-m", "script:echo").code == 0


@pytest.mark.full
def test_a_hook_is_told_of_a_compaction_and_cannot_break_it(program: Program) -> None:
    told = program.base / "told.json"
    program.config(f"[hooks]\npre_compress = \"cat > '{told}'; exit 3\"\n")
    ran = program.ask("demo", "-p", seconds=90)
    assert ran.code == 0, ran.err
    assert json.loads(told.read_text())["trigger"] == "manual"
    assert [line["status"] for line in ran.of("compaction")] == ["compressed"]
    assert any("PreCompress" in line["message"] for line in ran.of("warning"))


def test_no_session_writes_nothing(program: Program) -> None:
    assert program.run("-p", "hi", "-m", "script:echo", "--no-session").code == 0
    assert not [kind for kind in ("config", "data", "state", "cache") if (program.base / kind).exists()]
    assert program.run("-p", "one", "-m", "script:echo").code == 0
    before = program.records()
    ran = program.ask("resume", "--last", "-p", "two", "--no-session", "--fork")
    assert (ran.code, ran.result["text"]) == (0, "two")
    assert program.records() == before


def test_a_model_that_repeats_itself_fails_the_run(program: Program) -> None:
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": [{"name": "list", "input": {}}]}], "then": "repeat"}))
    ran = program.ask("-p", "look", "-m", f"script:{script}")
    assert (ran.code, ran.result["subtype"], ran.result["turns"]) == (1, "failed", 11)
    assert ran.result["error"].startswith("Stopped")


@pytest.mark.full
def test_a_resumed_session_has_its_model_mode_and_todo_list_back(program: Program) -> None:
    script = program.base / "script.json"
    todo = {"name": "todo", "input": {"todos": [{"content": "find the bug", "status": "in_progress"}]}}
    script.write_text(json.dumps({"replies": [{"calls": [todo]}, {"text": "Noted."}], "then": "repeat"}))
    assert program.ask("-p", "plan it", "-m", f"script:{script}", "--mode", "auto-edit").code == 0
    again = {"replies": [{"calls": [{"name": "todo", "input": {}}]}, {"text": "Still noted."}]}
    script.write_text(json.dumps(again))
    ran = program.ask("resume", "--last", "-p", "what is left?")
    init = ran.lines[0]
    assert (init["model"], init["mode"]) == (f"script/{script}", "auto-edit")
    assert "find the bug" in ran.of("tool_result")[0]["output"]


@pytest.mark.full
def test_pictures_and_files_named_in_a_prompt_reach_the_model(program: Program) -> None:
    png = (
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000"
        "000049454e44ae426082"
    )
    (program.work / "dot.png").write_bytes(bytes.fromhex(png))
    (program.work / "note.txt").write_text("the word is mango\n")
    for model, where in ((CLAUDE, '"type": "image"'), (GEMINI, "inlineData")):
        with Loopback(lambda _: say("I see.")) as server:
            program.more = server.env
            assert program.ask("-p", "look at @dot.png and @note.txt", "-m", model).code == 0
        sent = json.dumps(server.requests[0].json)
        assert where in sent
        assert "the word is mango" in sent


@pytest.mark.full
def test_the_switches_keep_auto_compaction_and_pruning_away(program: Program) -> None:
    for step in range(1, 13):
        (program.work / f"f{step}.txt").write_text(f"file {step} some words to fill the window\n" * 300)
    replies = [{"calls": [{"name": "read", "input": {"file_path": f"f{n}.txt"}}]} for n in range(1, 13)]
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [*replies, {"text": "Read."}]}))
    name = f"script:{script}"
    program.config(f'[models."{script}"]\nwindow = 30000\nmax_output = 4000\n')
    free = program.ask("-p", "read", "-m", name)
    assert free.code == 0
    assert free.of("prune") or free.of("compaction")
    program.more = {"AGENTCLI_DISABLE_AUTOCOMPACT": "1", "AGENTCLI_DISABLE_PRUNE": "1"}
    bound = program.ask("-p", "read", "-m", name)
    assert bound.code == 54
    assert not bound.of("prune")
    assert not bound.of("compaction")
    assert "auto-compaction is switched off" in bound.result["error"]


@pytest.mark.full
def test_a_resumed_session_takes_the_system_prompt_and_the_folder_of_its_run(program: Program) -> None:
    def system(*arguments: str) -> str:
        assert program.ask(*arguments, "-p", "hi").code == 0
        return "\n".join(block["text"] for block in server.requests[-1].json["system"])

    with Loopback(lambda _: say("I see.")) as server:
        program.more = server.env
        first = system("-m", CLAUDE)
        assert system("resume", "--last") == first
        assert system("resume", "--last", "--append-system-prompt", "Be brief.") == f"{first}\nBe brief."
        assert system("resume", "--last") == f"{first}\nBe brief."
        more = program.base / "more"
        more.mkdir()
        assert f"Also in the workspace: {more}" in system("resume", "--last", "--add-dir", str(more))
        assert system("resume", "--last", "--system-prompt", "You sing.").startswith("You sing.\n")
        session = next(program.sessions.glob("*/*/session.json")).parent.name
        elsewhere = system("resume", session, "-C", str(more))
        assert f"Folder: {more}\n" in elsewhere
        assert system("resume", session, "-C", str(more)) == elsewhere


@pytest.mark.full
def test_a_policy_asked_for_once_stays_with_the_session(program: Program) -> None:
    assert program.ask("-p", "one", "-m", "script:echo").code == 0
    assert program.ask("resume", "--last", "-p", "two", "--set", "context.policy=sliding").code == 0
    assert json.loads(program.run("context", "plan", "--json").out)["policy"] == "sliding"
    assert (
        json.loads(program.run("context", "plan", "--json", "--set", "context.policy=gemini").out)["policy"] == "gemini"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    first(1, [(("-p", "hi"), 41), (("resume", "nothing", "-p", "hi"), 42), (("-p", ""), 42), ((), 41)]),
)
def test_a_run_that_fails_before_its_session_opens_warns_of_the_settings_all_the_same(
    program: Program, arguments: tuple[str, ...], code: int
) -> None:
    program.config("[general]\nmodle = 'script:echo'\n")
    ran = program.ask(*arguments)
    assert ran.code == ran.result["exit_code"] == code
    assert ["modle" in line["message"] for line in ran.of("warning")] == [True]
    assert ran.err.count("modle") == 1
    assert program.run(*arguments).err.count("modle") == 1


def test_an_open_session_tells_each_warning_of_the_settings_once(program: Program) -> None:
    program.config("[general]\nmodle = 'script:echo'\n")
    ran = program.ask("-p", "hi", "-m", "script:echo")
    warnings = [each for each in ran.of("warning") if "modle" in each["message"]]
    assert (ran.code, ran.err.count("modle"), len(warnings)) == (0, 1, 1)


@pytest.mark.parametrize(
    "prompt", first(2, ["/model", "/model anthropic/claude-sonnet-5", "/quit", "/unknowncommand", "/git:typo x"])
)
def test_a_command_that_only_the_terminal_has_is_bad_input_and_no_prompt(program: Program, prompt: str) -> None:
    ran = program.ask("-p", prompt, "-m", "script:echo")
    assert (ran.code, ran.result["exit_code"]) == (42, 42)
    assert prompt.split()[0] in ran.err
    assert "Put a space before it" in ran.err
    assert not program.sessions.exists()


@pytest.mark.parametrize(
    ("prompt", "said"),
    first(
        2,
        [
            ("/budget", "No budget is set."),
            ("/context all", "Context window of script/echo, in tokens\nused"),
            ("/status", "model         "),
            ("/permissions", "Mode: ask."),
            ("/diff", "No file has been changed in this session."),
            ("/compress --preview", "Policy auto."),
        ],
    ),
)
def test_a_report_works_without_a_person_as_at_the_terminal(program: Program, prompt: str, said: str) -> None:
    ran = program.ask("-p", prompt, "-m", "script:echo")
    assert ran.code == 0, ran.err
    assert said in ran.result["text"]
    assert (ran.result["usage"]["input"], ran.of("compaction")) == (0, [])


def test_a_report_goes_to_stdout_alone(program: Program) -> None:
    ran = program.run("-p", "/usage turn", "-m", "script:echo")
    assert (ran.code, ran.out, ran.err) == (0, "Nothing spent yet.\n", "")
    assert program.run("-p", "hi", "-m", "script:echo").err.count("Non-interactive run, mode ask: edits") == 1


def test_an_argument_that_a_command_does_not_take_starts_nothing(program: Program) -> None:
    for prompt, takes in (
        ("/prune x", "/context prune undo"),
        ("/context x", "/context prune"),
        ("/status x", "/status checks"),
    ):
        ran = program.run("-p", prompt, "-m", "script:echo")
        assert ran.code == 2
        assert f"or {takes}" in ran.err
    assert program.run("-p", "/permissions remove", "-m", "script:echo").code == 42


@pytest.mark.parametrize(
    "prompt",
    first(
        2,
        [
            " /model",
            "/etc/hosts is odd",
            "/tmp is full",
            "/login answers 500",
            "/a:1 b",
            "/a:b c\nd",
            "/tmp",
            "/* why? */",
            "/ is what?",
        ],
    ),
)
def test_a_prompt_that_merely_begins_with_a_slash_is_said(program: Program, prompt: str) -> None:
    assert program.run("-p", prompt, "-m", "script:echo").out.strip() == prompt.strip()


@pytest.mark.full
def test_the_name_of_a_server_may_begin_a_command_that_is_not_known_yet(program: Program) -> None:
    servers = '{"mcpServers": {"fake": {"command": "true"}}}'
    prompts = {"/fake:x y": 0, "/fake": 42, "/other:x y": 42}
    for prompt, code in prompts.items():
        assert program.run("-p", prompt, "-m", "script:echo", "--mcp-config", servers).code == code, prompt


def test_what_is_piped_in_is_no_command(program: Program) -> None:
    ran = program.run("-p", "which is it?", "-m", "script:echo", stdin="/model\n/bin\n")
    assert (ran.code, ran.out) == (0, "/model\n/bin\n\nwhich is it?\n")


@pytest.mark.parametrize("prompt", ["/compress", "/compact the parser"])
def test_a_compaction_may_be_asked_for_by_either_name(program: Program, prompt: str) -> None:
    ran = program.ask("-p", prompt, "-m", "script:echo")
    assert ran.code == 0
    assert [line["trigger"] for line in ran.of("compaction")] == ["manual"]


@pytest.mark.full
def test_a_compaction_a_prune_and_files_are_taken_back_without_a_person(program: Program) -> None:
    write = {"name": "write", "input": {"file_path": "a.txt", "content": "new\n"}}
    replies = [{"calls": [write]}, {"text": "word " * 3_000}, {"text": "so it is"}]
    (program.work / "script.json").write_text(json.dumps({"replies": replies}))
    ran = program.run("-p", "write it", "-m", "script:script.json", "--mode", "auto-edit")
    assert ran.code == 0, ran.err
    assert program.run("resume", "--last", "-p", "is it?").code == 0
    ran = program.ask("resume", "--last", "-p", "/compress")
    assert ran.of("compaction")[0]["status"] == "compressed"
    back = program.ask("resume", "--last", "-p", "/uncompress")
    assert back.code == 0, back.err
    assert "The context has" in back.result["text"]
    assert (program.work / "a.txt").exists()
    assert program.run("resume", "--last", "-p", "/undo").code == 0
    assert not (program.work / "a.txt").exists()
    assert program.run("resume", "--last", "-p", "/prune undo").code == 42


@pytest.mark.full
def test_a_review_without_a_person_lists_its_findings(program: Program) -> None:
    subprocess.run(["git", "init", "-q"], cwd=program.work, check=True)
    (program.work / "cart.py").write_text("total = 0\n")
    (program.work / "script.json").write_text(
        json.dumps({"replies": [{"text": "1. **[high] cart.py:1** The total is always 0."}]})
    )
    ran = program.ask("-p", "/review", "-m", "script:script.json")
    assert ran.code == 0, ran.err
    finding = {"severity": "high", "path": "cart.py", "line": 1, "text": "The total is always 0."}
    assert ran.result["findings"] == [finding]
    assert "findings" not in program.ask("-p", "hello", "-m", "script:echo").result
    assert program.ask("-p", "/review", "-m", "script:echo").result["findings"] == [], (
        "found nothing, not: nothing found out"
    )


@pytest.mark.full
def test_a_session_is_handed_off_without_a_person(program: Program) -> None:
    first = program.ask("-p", "We build a bridge. Never use wood.", "-m", "script:echo")
    old = first.result["session_id"]
    ran = program.ask("resume", old, "--handoff", "the pillars", "-p", "go on", "-m", "script:echo")
    assert ran.code == 0, ran.err
    new = ran.result["session_id"]
    assert new != old
    beginning, *_ = program.records(new)
    assert beginning["kind"] == "compaction"
    assert "Never use wood." in beginning["snapshot"]
    assert beginning["snapshot"].splitlines()[3] in ran.err
    assert program.run("--handoff", "x", "-p", "go on").code == 2
    assert program.run("sessions", "check").code == 0


@pytest.mark.full
@pytest.mark.parametrize("name", ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5-20250929", "sonnet-4-5"])
def test_a_model_by_its_dated_id_or_its_short_name_is_priced_limited_and_cached(program: Program, name: str) -> None:
    numbers = count()
    with Loopback(lambda _: say("I look.", call("glob", pattern=f"*{next(numbers)}*"))) as server:
        program.more = server.env
        ran = program.ask("-p", "go", "-m", name, "--max-cost", "0.03")
        first = server.requests[0]
    assert (ran.code, ran.result["subtype"]) == (53, "limit")
    assert ran.result["cost"] >= 0.03
    assert first.model == (f"claude-{name}" if name == "sonnet-4-5" else name.rpartition("/")[2])
    assert "cache_control" in first.body.decode()
    assert first.json["max_tokens"] > 16_000


@pytest.mark.full
def test_a_claude_behind_chat_completions_is_cached_and_its_cache_is_paid_for(program: Program) -> None:
    steps = [say("I look.", call("list", path=".")), say("And again.", call("list", path="..")), say("Done.")]
    with Loopback(steps) as server:
        program.more = server.env
        program.config(
            f'[providers.gate]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "OPENAI_API_KEY"\n'
            '[models."gate/anthropic/claude-sonnet-4.5"]\nprices = {input = 4.0, output = 20.0}\n'
        )
        ran = program.ask("-p", "go " * 1_000, "-m", "gate/anthropic/claude-sonnet-4.5")
        assert ran.code == 0, ran.err
        assert all("cache_control" in asked.body.decode() for asked in server.requests)
    first, *later = [line for line in ran.of("usage") if line["kind"] == "reply"]
    assert first["cache_write"] > 1_000
    assert all(line["cache_read"] > first["cache_write"] / 2 for line in later)
    for line in (first, *later):
        paid = line["input"] * 4 + line["cache_read"] * 0.4 + line["cache_write"] * 5 + line["output"] * 20
        assert line["cost"] == pytest.approx(paid / 1e6)


def test_names_of_other_agents_do_the_same_and_say_ours_on_stderr(program: Program) -> None:
    ran = program.run("exec", "--yolo", "hi", "-m", "script:echo")
    assert (ran.code, ran.out) == (0, "hi\n")
    assert "agentcli: `exec` is -p here.\nagentcli: --yolo is --mode yolo here.\n" in ran.err
    assert "Nothing spent yet." in program.run("-p", "/usage", "-m", "script:echo").out
