"""An editor on `agentcli acp`, over pipes: what it is sent, valid by the SDK's models, and its answers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tests.e2e.program import Program
from tests.frontends.acp.editor import Json, validate

SECONDS = 60.0


class Editor:
    """A process of the agent, and the messages that it has sent."""

    def __init__(self, program: Program, *arguments: str, takes: Callable[[Json], bool] = lambda _: False) -> None:
        """`takes` gets each message first; what it takes is neither checked nor kept."""
        self._program, self._arguments, self._takes = program, arguments, takes
        self._asked: dict[int, str] = {}
        self._changed = threading.Condition()
        self.messages: list[Json] = []

    def __enter__(self) -> Editor:
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = self._program.start("acp", *self._arguments, **pipes)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.answer(self.ask("initialize", protocolVersion=1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(10)
        self._reader.join()
        self.process.stdout.close()

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        number = len(self._asked) + 1
        self._asked[number] = method
        self._write({"id": number, "method": method, "params": params})
        return number

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    def answer(self, number: int) -> Json:
        """The answer to a request."""
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def load(self, session: str) -> None:
        """Load a session."""
        answer = self.answer(self.ask("session/load", sessionId=session, cwd=str(self._program.work), mcpServers=[]))
        assert "result" in answer, answer

    def prompt(self, session: str, text: str) -> int:
        """Prompt; the id of the request."""
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def choose(self, question: Json, choice: str) -> None:
        """Answer a permission request."""
        self._write({"id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": choice}}})

    def until(self, wanted: Callable[[Json], bool], after: int = 0) -> Json:
        """The first message that is wanted."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(map(wanted, self.messages[after:])), SECONDS), self.messages
            return next(filter(wanted, self.messages[after:]))

    def question(self, text: str) -> Json:
        """The permission request in which a text occurs."""
        return self.until(
            lambda message: message.get("method") == "session/request_permission" and text in json.dumps(message)
        )

    def said(self, text: str, kind: str = "agent_message_chunk") -> None:
        """Wait until the texts of one kind contain a text."""
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.text(kind), SECONDS), self.text(kind)

    def updates(self, kind: str) -> list[Json]:
        """The updates of one kind."""
        sent = [message["params"]["update"] for message in self.messages if message.get("method") == "session/update"]
        return [update for update in sent if update["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """The texts of one kind."""
        return "".join(update["content"]["text"] for update in self.updates(kind))

    def _write(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if self._takes(message):
                continue
            validate(message, self._asked)
            with self._changed:
                self.messages.append(message)
                self._changed.notify_all()
