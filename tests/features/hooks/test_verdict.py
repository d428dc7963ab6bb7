"""The whole contract of a hook's end: one total function."""

from __future__ import annotations

import json
import random
from typing import Any

from agentcli.features.hooks.files import EVENTS
from agentcli.features.hooks.verdict import Verdict, combined, verdict
from tests.tables import each_row


def said(event: str = "PreToolUse", code: int | None = 0, stderr: str = "", **fields: Any) -> Verdict:
    return verdict(event, code, json.dumps(fields), stderr)


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _some_json(rng: random.Random) -> str:
    values: list[Any] = [
        "deny",
        "allow",
        "block",
        "ask",
        "",
        1,
        None,
        True,
        False,
        [],
        {},
        {"behavior": "allow"},
        "x" * 50,
    ]
    names = [
        "decision",
        "reason",
        "continue",
        "stopReason",
        "systemMessage",
        "permissionDecision",
        "additionalContext",
        "updatedInput",
        "hookEventName",
    ]
    pick = {name: rng.choice(values) for name in rng.sample(names, 4)}
    return json.dumps(pick if rng.random() < 0.5 else {**pick, "hookSpecificOutput": rng.choice([pick, *values])})


def test_it_is_total_and_exit_code_2_always_blocks() -> None:
    rng = random.Random(7)
    odd = [
        "",
        "{",
        "{}",
        "[1]",
        "null",
        "plain text",
        "{" * 100_000,
        '{"a":' * 3_000,
        '{"a": NaN}',
        '{"n": ' + "9" * 5_000 + "}",
        "\x00\ud800",
    ]
    for _ in range(1_000):
        stdout = _some_json(rng) if rng.random() < 0.6 else rng.choice(odd) + rng.choice(["", "\n", " more"])
        code = rng.choice([0, 1, 2, 3, 126, 127, 130, 255, None])
        found = verdict(rng.choice([*EVENTS, "Other"]), code, stdout, rng.choice(["", "why\nmore", "\x1b[2J"]))
        assert found.answer in ("", "allow", "ask", "deny")
        if code == 2:
            assert found.blocks
            assert found.reason
        if found.failed:
            assert not found.blocks


def test_exit_code_2_blocks_with_the_reason_of_the_json_or_else_stderr() -> None:
    assert verdict("PreToolUse", 2, "", "use rg\n").reason == "use rg"
    assert said(code=2, stderr="other", reason="mine").reason == "mine"
    assert said(code=2, **specific("PreToolUse", permissionDecision="allow")).blocks
    assert verdict("Stop", 2, "{broken", "why").reason == "why"


@each_row(
    ("fields", "answer"),
    [
        (specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no"), "deny"),
        (specific("PreToolUse", permissionDecision="ask"), "ask"),
        (specific("PreToolUse", permissionDecision="defer"), "ask"),
        (specific("PreToolUse", permissionDecision="allow"), "allow"),
        ({"decision": "approve"}, "allow"),
        ({"decision": "block", "reason": "no"}, "deny"),
        ({"decision": "deny", "reason": "no"}, "deny"),
        ({}, ""),
    ],
)
def test_the_answers_of_json(fields: dict[str, Any], answer: str) -> None:
    assert said(**fields).answer == answer


def test_a_permission_request_is_answered_in_its_own_form() -> None:
    allowed = said(
        "PermissionRequest",
        **specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"command": "ls"}}),
    )
    assert (allowed.answer, allowed.input) == ("allow", {"command": "ls"})
    denied = said(
        "PermissionRequest",
        **specific("PermissionRequest", decision={"behavior": "deny", "message": "no", "interrupt": True}),
    )
    assert (denied.answer, denied.reason, denied.ends) == ("deny", "no", True)


def test_only_two_events_have_their_plain_text_shown_to_the_model() -> None:
    assert verdict("SessionStart", 0, "hello\n", "").context == "hello"
    assert verdict("UserPromptSubmit", 0, "hello", "").context == "hello"
    assert verdict("PreToolUse", 0, "hello", "") == Verdict()


def test_the_texts_of_json() -> None:
    found = said(
        "PostToolUse",
        systemMessage="to the person",
        **{"continue": False},
        stopReason="enough",
        **specific("PostToolUse", additionalContext="to the model", updatedToolOutput={"stdout": "x"}),
    )
    assert (found.message, found.context, found.ends, found.stop_reason) == (
        "to the person",
        "to the model",
        True,
        "enough",
    )
    assert found.output == {"stdout": "x"}


@each_row(
    ("code", "stdout", "stderr", "failed"),
    [
        (1, "", "Traceback\nmore", "exit 1: Traceback"),
        (127, "", "not found", "exit 127: not found"),
        (1, "out\n", "", "exit 1: out"),
        (None, "", "", "it ended in an unknown way"),
        (0, "{broken", "", "its JSON is invalid: Expecting property name"),
        (0, '{"decision": 5}', "", "its JSON is invalid: decision is not text"),
        (0, '{"decision": "perhaps"}', "", "its JSON is invalid: decision is 'perhaps'"),
        (0, '{"hookSpecificOutput": {"hookEventName": "Stop"}}', "", "its JSON is invalid: hookEventName is Stop"),
    ],
)
def test_a_failure_blocks_nothing_and_says_so(code: int | None, stdout: str, stderr: str, failed: str) -> None:
    found = verdict("PreToolUse", code, stdout, stderr)
    assert found.failed.startswith(failed)
    assert not found.blocks


def test_valid_json_counts_with_any_exit_code() -> None:
    assert said(code=1, decision="block", reason="no").blocks


def test_a_hook_that_runs_in_the_background_answers_in_a_later_line() -> None:
    lines = ['{"async": true, "asyncTimeout": 5}', "noise", '{"systemMessage": "done"}', '{"systemMessage": "late"}']
    assert verdict("SessionStart", 0, "\n".join(lines), "").message == "done"
    assert verdict("SessionStart", 0, lines[0], "") == Verdict()


def test_of_several_the_strongest_answer_counts_and_all_texts() -> None:
    found = combined(
        [
            Verdict("allow", "fine", context="a"),
            Verdict("ask", "hm", input={"x": 1}, context="b"),
            Verdict("deny", "no", input={"x": 2}, message="m"),
            Verdict("deny", "never"),
        ]
    )
    assert (found.answer, found.reason, found.context, found.input) == ("deny", "no\n\nnever", "a\n\nb", {"x": 1})
    assert combined([]) == Verdict()


def test_an_answer_that_cannot_count_is_a_failure_that_says_why() -> None:
    assert said(permissionDecision="deny").failed.endswith("permissionDecision belongs in hookSpecificOutput")
    assert said(permissionDecision="deny", **specific("PreToolUse", permissionDecision="deny")).blocks
    denial = json.dumps(specific("PreToolUse", permissionDecision="deny"), indent=2)
    late = verdict("PreToolUse", 0, f"Shell ready\n{denial}", "")
    assert (late.blocks, late.failed) == (False, "there is other text before its JSON")
    prompt = verdict("UserPromptSubmit", 0, 'hello\n{"decision": "block"}', "")
    assert (prompt.blocks, bool(prompt.failed)) == (False, True)
    assert verdict("UserPromptSubmit", 0, 'see {"a": 1} here\n{"b": 2}', "").failed == ""
    assert verdict("PostToolUse", 0, 'formatted a.json\n"decision"', "").failed == ""


def test_a_traceback_is_told_by_its_last_line() -> None:
    text = "Traceback (most recent call last):\n  File 'x.py'\nRuntimeError: boom\n"
    assert verdict("PreToolUse", 1, "", text).failed == "exit 1: RuntimeError: boom"
    assert verdict("PreToolUse", 1, "", "first\nsecond").failed == "exit 1: first"


def test_an_output_may_be_replaced_under_its_older_name() -> None:
    assert said("PostToolUse", **specific("PostToolUse", updatedMCPToolOutput="short")).output == "short"
    both = specific("PostToolUse", updatedToolOutput="new", updatedMCPToolOutput="old")
    assert said("PostToolUse", **both).output == "new"
