"""OpenTelemetry from the real program to a real receiver: what arrives, and that a collector out of order costs nothing."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program, Ran
from tests.features.otel.collector import attributes, collector

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
USAGE = {"input": 10, "output": 5, "cache_read": 1_000, "cache_write": 100}


def ran(base: Path, script: dict[str, Any], *arguments: str, **env: str) -> Ran:
    """One headless run with a scripted model that has prices."""
    program = Program(base, env)
    file = base / "script.json"
    file.write_text(json.dumps(script))
    program.config(
        f'[agent]\ntitles = false\n[models."script/{file}"]\n'
        "prices = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }\n"
    )
    return program.run("-p", "secret plan", "-m", f"script:{file}", "--mode", "yolo", *arguments)


def bash(command: str) -> dict[str, Any]:
    return {"calls": [{"name": "bash", "input": {"command": command}, "id": f"id-{command}"}], "usage": USAGE}


def test_a_run_is_one_trace_with_its_requests_tools_tokens_and_cost(tmp_path: Path) -> None:
    script = {"replies": [bash("echo secret"), bash("exit 3"), {"text": "secret done", "usage": USAGE}]}
    with collector() as to:
        done = ran(tmp_path, script, "-o", "json", AGENTCLI_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=to.url)
    assert (done.code, done.err.count("OpenTelemetry")) == (0, 0)
    result = json.loads(done.out)
    assert to.resource["service.name"] == "agentcli"
    turn, *inner = to.spans
    names = [span.name.split("/")[0].strip() for span in inner]
    assert names == ["chat", "execute_tool bash", "chat", "execute_tool bash", "chat"]
    assert {span.parent_span_id for span in inner} == {turn.span_id}
    assert {span.trace_id for span in to.spans} == {turn.trace_id}
    about = attributes(turn)
    assert about["gen_ai.operation.name"] == "invoke_agent"
    assert about["gen_ai.conversation.id"] == result["session_id"]
    assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (3 * 1_110, 15)
    assert about["agentcli.cost"] == pytest.approx(result["cost"])
    first, good, _, bad, _ = map(attributes, inner)
    assert (first["gen_ai.provider.name"], first["gen_ai.usage.cache_read.input_tokens"]) == ("script", 1_000)
    assert first["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert (good["gen_ai.tool.name"], good["gen_ai.tool.call.id"]) == ("bash", "id-echo secret")
    assert (bad["error.type"], inner[3].status.code, inner[1].status.code) == ("error", 2, 0)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in to.spans)
    assert turn.end_time_unix_nano >= max(span.end_time_unix_nano for span in inner)
    (cost,) = to.metrics["agentcli.cost"].sum.data_points
    assert cost.as_double == pytest.approx(result["cost"])
    tokens = {
        attributes(point)["gen_ai.token.type"]: point.sum
        for point in to.metrics["gen_ai.client.token.usage"].histogram.data_points
    }
    assert tokens == {"input": 3 * 1_110, "output": 15}
    durations = to.metrics["gen_ai.client.operation.duration"].histogram.data_points
    counted = [attributes(point)["gen_ai.operation.name"] for point in durations for _ in range(point.count)]
    assert sorted(counted) == ["chat"] * 3 + ["execute_tool"] * 2 + ["invoke_agent"]
    sent = b"".join(body for _, body in to.bodies).replace(b"id-echo secret", b"")
    assert b"secret" not in sent, "no content unless it is asked for"


def test_content_is_sent_only_on_request_and_redacted(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    script = {"replies": [bash(f"echo {token}"), {"text": "All done."}]}
    with collector() as to:
        more = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true", "OTEL_SERVICE_NAME": "mine"}
        ran(tmp_path, script, AGENTCLI_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=to.url, **more)
    turn, chat, tool, last = to.spans
    assert "secret plan" in attributes(turn)["gen_ai.input.messages"]
    assert "All done." in attributes(last)["gen_ai.output.messages"]
    assert "echo" in attributes(tool)["gen_ai.tool.call.arguments"]
    assert attributes(tool)["gen_ai.tool.call.result"]
    assert json.loads(attributes(chat)["gen_ai.output.messages"])[0]["parts"][0]["type"] == "tool_call"
    assert to.resource["service.name"] == "mine"
    ids = attributes(tool)["gen_ai.tool.call.id"].encode()
    assert token.encode() not in b"".join(body for _, body in to.bodies).replace(ids, b"")


def test_a_subagent_is_a_part_of_its_parents_trace_and_counted_once(tmp_path: Path) -> None:
    task = {"name": "task", "input": {"description": "look", "prompt": "look", "agent": "general"}}
    script = {
        "replies": [
            {"calls": [task], "usage": USAGE},
            {"text": "Found.", "usage": USAGE},
            {"text": "Done.", "usage": USAGE},
        ]
    }
    with collector() as to:
        done = ran(tmp_path, script, "-o", "json", AGENTCLI_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=to.url)
    turns = [span for span in to.spans if span.name.startswith("invoke_agent")]
    assert [span.name for span in turns] == ["invoke_agent agentcli", "invoke_agent general"]
    assert turns[1].parent_span_id == turns[0].span_id
    assert len({attributes(span)["gen_ai.conversation.id"] for span in turns}) == 2
    points = to.metrics["agentcli.cost"].sum.data_points
    assert sum(point.as_double for point in points) == pytest.approx(json.loads(done.out)["cost"])


def test_a_failed_request_is_an_error_with_its_retries(tmp_path: Path) -> None:
    fault = {"text": "x", "fault": {"cause": "overloaded", "message": "secret words"}}
    with collector() as to:
        flags = ("--set", "retry.attempts=2", "--set", "retry.first=0.01")
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        done = ran(
            tmp_path,
            {"replies": [fault]},
            *flags,
            AGENTCLI_OTEL="1",
            OTEL_EXPORTER_OTLP_ENDPOINT=to.url,
            TRACEPARENT=parent,
        )
    assert done.code != 0
    turn, chat = to.spans
    assert [attributes(span)["error.type"] for span in (turn, chat)] == ["overloaded"] * 2
    assert [span.status.code for span in (turn, chat)] == [2, 2]
    assert [event.name for event in chat.events] == ["retry"]
    assert turn.trace_id.hex() == parent.split("-")[1], "a trace around the run is continued"
    assert b"secret" not in b"".join(body for _, body in to.bodies)


@pytest.mark.full
@pytest.mark.parametrize("state", ["down", "hangs"])
def test_a_collector_out_of_order_costs_no_time_and_is_named_once(tmp_path: Path, state: str) -> None:
    script = {"replies": [*[bash(f"echo {n}") for n in range(3)], {"text": "Done."}]}
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with collector(hangs=True) as to:
        endpoint = to.url if state == "hangs" else nobody
        begun = time.monotonic()
        plain = ran(tmp_path, script)
        between = time.monotonic()
        done = ran(tmp_path, script, AGENTCLI_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
        took, usual = time.monotonic() - between, between - begun
    assert (done.code, done.out) == (plain.code, plain.out)
    assert done.err.count("OpenTelemetry: the collector did not") == 1
    assert "Traceback" not in done.err
    assert took < usual + 8, "the SDK itself would wait for 10 seconds and more"


def test_the_variables_of_other_programs_switch_nothing_on(tmp_path: Path) -> None:
    with collector() as to:
        done = ran(tmp_path, {"replies": [{"text": "Done."}]}, OTEL_EXPORTER_OTLP_ENDPOINT=to.url)
        off = ran(
            tmp_path,
            {"replies": [{"text": "Done."}]},
            AGENTCLI_OTEL="1",
            OTEL_SDK_DISABLED="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=to.url,
        )
    assert (done.code, off.code, to.bodies) == (0, 0, [])


@pytest.mark.full
def test_what_cannot_work_is_said_once_and_by_doctor(tmp_path: Path) -> None:
    grpc = {"AGENTCLI_OTEL": "1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    done = ran(tmp_path, {"replies": [{"text": "Done."}]}, **grpc)
    assert (done.code, done.out.strip(), done.err.count("sends http/protobuf only")) == (0, "Done.", 1)
    assert "warn  OpenTelemetry: OTEL_EXPORTER_OTLP_PROTOCOL is grpc" in Program(tmp_path, grpc).run("doctor").out
    assert "ok    OpenTelemetry: traces and metrics go to http://localhost:4318, without content" in (
        Program(tmp_path, {"AGENTCLI_OTEL": "1"}).run("doctor").out
    )
    odd = ran(tmp_path, {"replies": [{"text": "Done."}]}, AGENTCLI_OTEL="1", OTEL_EXPORTER_OTLP_TIMEOUT="soon")
    assert (odd.code, odd.out.strip()) == (0, "Done.")


def test_a_run_without_the_switch_imports_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path)
    code = "import sys\nfrom agentcli.__main__ import main\ntry:\n    main(['-p', 'x', '-m', 'script:echo'])\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    done = Program(tmp_path, command=("-c", code)).run()
    assert "agentcli.agent.session" in done.err
    assert not any(name in done.err for name in ("opentelemetry", "agentcli.features.otel."))
    assert program.sessions.is_dir()
