"""The program's server, started as a user starts it, and a client of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from tests.e2e.program import Program


class Answer:
    """The answer to a request."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.body = answer.status, answer.read()
        self.headers = {name.lower(): value for name, value in answer.getheaders()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Serving:
    """`agentcli serve --port 0`; `token` is that of a page that is logged in."""

    def __init__(self, program: Program, *arguments: str, port: int = 0) -> None:
        self._program, self._arguments = program, arguments
        self.port, self.token = port, ""

    def __enter__(self) -> Serving:
        more = ("serve", "--port", str(self.port), *self._arguments)
        self.process = self._program.start(*more, stderr=subprocess.STDOUT)
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/#login=(\S+)", line):
                self.port, self.code = int(found[1]), found[2]
            if "works once" in line:
                return self
        raise AssertionError(f"The server has ended: {''.join(said)}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for each in json.loads(self._program.run("ps", "--json").out):
            if each["pid"] not in (0, os.getpid()):  # one has ended; a test may share a session of its own process
                subprocess.run(["kill", str(each["pid"])], check=False)
        if self.process.stdout is not None:
            self.process.stdout.close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """Another login link."""
        return self._program.run("serve", "link").out.strip()

    def log_in(self) -> None:
        self.token = self.post("/api/login", {"code": self.code}).json["token"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request(method, path, body, dict(headers or {}))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, {**self._authorized, **headers})

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        kind = {"content-type": "application/json"}
        return self.ask("POST", path, json.dumps(body).encode(), {**kind, **self._authorized, **headers})

    def events(self, session: str, after: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield ids and events until the connection ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request(
                "GET", f"/api/sessions/{session}/events", headers={**self._authorized, "last-event-id": after}
            )
            answer = connection.getresponse()
            assert answer.status == 200
            given = ""
            for raw in answer:
                line = raw.decode().rstrip("\n")
                if line.startswith("id: "):
                    given = line[4:]
                elif line.startswith("data: "):
                    yield given, json.loads(line[6:])
        finally:
            connection.close()

    @property
    def _authorized(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}
