"""Windows that servers state, in the answers of the common ones, and in their refusals of a prompt that is too long."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentcli.core.event import Warned
from agentcli.core.message import Usage
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.context_windows import stated_window, window_in
from agentcli.providers.endpoint_facts import EndpointMemory
from agentcli.providers.scripted.model import Reply, say
from agentcli.providers.settings import ProviderSettings
from tests.agent.open_session import ended, open_session
from tests.loopback import Asked, Loopback, Refuse
from tests.providers.hearing import ONCE
from tests.providers.test_capabilities import said
from tests.tables import each_row


@contextmanager
def server(answers: Mapping[str, Any]) -> Iterator[str]:
    """A server that answers these paths with JSON, and all others with 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answers.get(self.path)).encode()
            self.send_response(200 if self.path in answers else 404)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


@each_row(
    ("answers", "window"),
    [
        (
            {"/v1/models": {"data": [{"id": "other", "max_model_len": 1}, {"id": "qwen", "max_model_len": 32768}]}},
            32768,
        ),
        ({"/v1/models": {"data": [{"id": "qwen"}]}, "/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096),
        ({"/api/show": {"model_info": {"qwen2.context_length": 131072, "x": "y"}}}, 131072),
        ({"/api/show": {"parameters": "stop x\nnum_ctx   8192", "model_info": {"qwen2.context_length": 131072}}}, 8192),
        ({"/v1/models": {"data": "none"}, "/props": [1], "/api/show": {"model_info": {"a.context_length": "x"}}}, 0),
        ({}, 0),
    ],
)
def test_the_window_is_read_where_a_server_states_it(answers: Mapping[str, Any], window: int) -> None:
    with server(answers) as url:
        assert stated_window(f"{url}/v1", "qwen", None, 5.0) == window


@each_row(
    ("answer", "window"),
    [
        ("prompt is too long: 212345 tokens > 200000 maximum", 200_000),
        ("The input token count (1048600) exceeds the maximum number of tokens allowed (1048575).", 1_048_575),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8_192),
        ("the request exceeds the available context size. {'n_prompt_tokens': 9000, 'n_ctx': 4096}", 4_096),
        ("request (9000 tokens) exceeds the available context size (4096 tokens)", 4_096),
        ("prompt is too long", 0),
    ],
)
def test_the_window_is_read_in_a_refusal(answer: str, window: int) -> None:
    assert window_in(answer) == window


def test_a_session_on_a_server_of_ones_own_learns_its_window_from_the_first_refusal(tmp_path: Path) -> None:
    refusals = iter([Refuse(400, message="This model's maximum context length is 30000 tokens.")])

    def answer(_: Asked) -> Reply | Refuse:
        return next(refusals, None) or say("Hi.", usage=Usage(10, 5))

    memory = EndpointMemory()
    with Loopback(answer, strict=False) as own:
        settings = {"local": ProviderSettings("local", "anthropic", own.url)}
        found = spec("local/qwen", providers=settings)
        model = connect(found, settings["local"], {}, ONCE, memory=memory)
        session = open_session(tmp_path, [], model=found, wrapped=lambda _: model)
        events = said(session, model, "hello")
        ended(events)
        [warning] = [event.message for event in events if isinstance(event, Warned)]
        assert "a window of 200,000 tokens is assumed" in warning
        assert (session.core.model.window, session.core.model.window_stated) == (30_000, True)
        again = connect(found, settings["local"], {}, ONCE, memory=memory)
        assert again.spec.window == 30_000
