"""Hooks that are sent to an address, or ask a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.event import Event, UsageReported, Warned
from agentcli.core.model import Request
from agentcli.features.hooks.files import Hook, HookFile, read_hooks, within
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, say
from tests.agent.open_session import DEMO, ended, open_session, results, say_to
from tests.e2e.program import Program

DENY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "no",
    }
}


class Server(ThreadingHTTPServer):
    """A server of hooks that answers by path, and keeps what it got."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.answers: dict[str, tuple[int, str]] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    def at(self, path: str, body: object = "", status: int = 200) -> str:
        """The address of a path that gives this answer."""
        self.answers[path] = (status, body if isinstance(body, str) else json.dumps(body))
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), json.loads(body)))
        status, text = self.server.answers[self.path]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/deny")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        yield found
        found.shutdown()


def http(url: str, event: str = "PreToolUse", **more: Any) -> Hook:
    return Hook(event, url, timeout=5, source="hooks.json", kind="http", **more)


def played(folder: Path, *hooks: Hook, **more: Any) -> tuple[Any, list[Event]]:
    """A session whose model runs one command, and its events."""
    folder.mkdir(exist_ok=True)
    replies = [say("", call("bash", command="echo ran")), say("done")]

    def script(_: Request) -> Reply:
        return replies.pop(0) if len(replies) > 1 else replies[0]

    session = open_session(folder, script, mode="yolo", hooks=hooks, **more)
    return session, say_to(session, "go")


def test_an_http_hook_gets_the_event_and_its_answer_decides(tmp_path: Path, server: Server, monkeypatch: Any) -> None:
    monkeypatch.setenv("GUARD_TOKEN", "t1")
    headers = (("Authorization", "Bearer $GUARD_TOKEN"), ("X-Other", "[${HOME}]"))
    hook = http(server.at("/deny", DENY), headers=headers, secrets=("GUARD_TOKEN",))
    session, _ = played(tmp_path, hook)
    [(sent, event)] = server.got
    assert (event["hook_event_name"], event["tool_name"], event["tool_input"]["command"]) == (
        "PreToolUse",
        "Bash",
        "echo ran",
    )
    assert (sent["Content-Type"], sent["Authorization"], sent["X-Other"]) == ("application/json", "Bearer t1", "[]")
    assert results(session)[0].status == "denied"


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, "", ""),
        (200, "plain text", "answered with something other than a JSON object"),
        (500, DENY, "answered 500"),
        (302, "", "redirects, which is not followed"),
        (200, {"decision": 7}, "failed (its JSON is invalid: decision is not text)"),
    ],
)
def test_only_a_json_object_of_a_2xx_answer_decides(
    tmp_path: Path, server: Server, status: int, body: object, why: str
) -> None:
    session, events = played(tmp_path, http(server.at("/x", body, status)))
    assert results(session)[0].status == "success"
    said = [event.message for event in events if isinstance(event, Warned)]
    assert [why in one and "did NOT block bash" in one for one in said] == ([True] if why else [])


def test_a_hook_whose_server_is_down_or_silent_blocks_nothing_unless_it_is_strict(tmp_path: Path) -> None:
    down = "http://127.0.0.1:9/x"
    session, events = played(tmp_path / "a", http(down))
    assert results(session)[0].status == "success"
    assert any("could not be reached" in event.message for event in events if isinstance(event, Warned))
    assert results(played(tmp_path / "b", http(down, strict=True))[0])[0].status == "denied"


def judge(*answers: str) -> tuple[ScriptedModel, list[Request]]:
    """A cheap model that gives these answers, and what it is asked."""
    asked: list[Request] = []
    left = list(answers)

    def script(request: Request) -> Reply:
        asked.append(request)
        return say(left.pop(0))

    return ScriptedModel(DEMO, script), asked


def prompt(event: str, text: str = "Is it safe? $ARGUMENTS costs \\$1", **more: Any) -> Hook:
    return Hook(event, text, timeout=5, source="hooks.json", kind="prompt", **more)


def test_a_prompt_hook_asks_the_cheap_model_and_its_cost_is_counted(tmp_path: Path) -> None:
    model, asked = judge('```json\n{"ok": false, "reason": "not now"}\n```')
    session, events = played(tmp_path, prompt("PreToolUse", goes_on=True), summariser=model)
    question = asked[0].messages[0].parts[0].text  # type: ignore[union-attr]
    assert '"command": "echo ran"' in question
    assert question.endswith("costs $1")
    assert results(session)[0].status == "denied"
    assert "not now" in results(session)[0].output
    assert ended(events).ending == "done"
    assert "(hooks): 1 request" in "\n".join(session.report.costs())
    assert any(isinstance(event, UsageReported) and event.kind == "aside" for event in events)


@pytest.mark.parametrize(
    ("event", "answers", "ending", "asked"),
    [
        ("PreToolUse", ['{"ok": false, "reason": "no"}'], "failed", 1),
        ("Stop", ['{"ok": false, "reason": "more"}', '{"ok": true}'], "done", 2),
        ("Stop", ['{"ok": false, "reason": "never", "impossible": true}'], "done", 1),
        ("PermissionRequest", [], "done", 0),
        ("PreToolUse", ["I think so."], "done", 1),
    ],
)
def test_what_a_no_of_the_model_means_depends_on_the_event(
    tmp_path: Path, event: str, answers: Sequence[str], ending: str, asked: int
) -> None:
    model, requests = judge(*answers)
    _, events = played(tmp_path, prompt(event), summariser=model)
    assert (ended(events).ending, len(requests)) == (ending, asked)


def test_files_may_limit_addresses_and_variables_and_types_that_an_event_lacks_are_named(tmp_path: Path) -> None:
    entry = {"type": "http", "url": "http://localhost:1/a", "allowedEnvVars": ["A", "B"], "headers": {"X": "$A"}}
    other = {**entry, "url": "https://evil.example/"}
    ask = {"type": "prompt", "prompt": "ok?"}
    hooks = {"PreToolUse": [{"hooks": [entry, other, ask, {"type": "agent"}, {"type": "http", "url": "ftp://x"}]}]}
    path = tmp_path / "hooks.json"
    limits = {"allowedHttpHookUrls": ["http://localhost:*"], "httpHookAllowedEnvVars": ["A"]}
    path.write_text(json.dumps({"hooks": {**hooks, "SessionStart": [{"hooks": [entry, ask]}]}, **limits}))
    found = read_hooks(path, "hooks.json", project=True)
    assert [(hook.kind, hook.timeout) for hook in found.hooks] == [("http", 60.0), ("http", 60.0), ("prompt", 30.0)]
    assert found.notes == (
        "hooks.json: hooks of type agent are left out: only command, http and prompt run here.",
        "hooks.json: a hook of PreToolUse has no usable url: it is left out.",
        "hooks.json: hooks of type http never run at SessionStart: they are left out.",
        "hooks.json: hooks of type prompt never run at SessionStart: they are left out.",
    )
    kept, notes = within(found.hooks, found)
    assert [(hook.command, hook.secrets) for hook in kept] == [("http://localhost:1/a", ("A",)), ("ok?", ())]
    assert notes == ("hooks.json: https://evil.example/ is not among allowedHttpHookUrls: it is left out.",)
    assert within(found.hooks, HookFile()) == (found.hooks, ())
    assert found.hooks[0].definition.starts == "POST http://localhost:1/a X: $A"
    assert "sees A, B of your environment" in str(found.hooks[0].definition)
    changed = read_hooks(path, "hooks.json", project=True).hooks[2]
    assert changed.definition.starts == "ask the cheap model: ok?"


def test_a_projects_http_hook_is_sent_nothing_before_trust_and_approval(tmp_path: Path, server: Server) -> None:
    program = Program(tmp_path, more={"MY_TOKEN": "t2"})
    (program.work / ".claude").mkdir()
    entry = {"type": "http", "url": server.at("/x"), "headers": {"X": "$MY_TOKEN$HOME"}, "allowedEnvVars": ["MY_TOKEN"]}
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}
    (program.work / ".claude" / "settings.json").write_text(json.dumps(hooks))
    assert program.run("-p", "hi", "-m", "script:echo").code == 0
    assert server.got == []
    assert program.run("-p", "hi", "-m", "script:echo", "--trust").code == 0
    assert [(sent["X"], event["prompt"]) for sent, event in server.got] == [("t2", "hi")]
