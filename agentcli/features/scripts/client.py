"""Program in which a script of the model runs: it has its code, the standard library and one connection.

It runs as `python -I -S -c SOURCE` in a sandbox, so it imports none of our modules. A script that takes over this
program has only the connection, with which it can request the same calls.
"""

from __future__ import annotations

import ctypes
import json
import linecache
import os
import re
import resource
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any

CHANNEL = 3
"""Descriptor of the connection."""
STACK = 512 * 1024
"""Bytes of the stack of a thread."""
FILES = 64
"""Open descriptors at most."""
SCRIPT = "<script>"

Tools = dict[str, tuple[str, list[str]]]
"""Tools of a server by their names as attributes: the name of a call, and the parameters."""


class ToolError(Exception):
    """A call that failed or was refused; its text is the reason."""


class Output(str):
    """The text of a result. `exit_code` is that of a command; None for other calls."""

    exit_code: int | None = None


class Calls:
    """Calls over the connection. Calls of threads that all wait are sent together."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reader = connection.makefile("rb")
        self._changed = threading.Condition()
        self._working = 1
        self._waiting: list[dict[str, Any]] = []
        self.most_threads = 1

    def begin(self) -> dict[str, Any]:
        """Return the first line of the other side."""
        first: dict[str, Any] = json.loads(self._reader.readline())
        return first

    def make(self, name: str, given: dict[str, Any]) -> Output:
        """Make a call and return its output. Raise ToolError."""
        order = threading.current_thread().name
        entry: dict[str, Any] = {"order": order, "call": {"name": name, "input": given}, "result": None}
        with self._changed:
            self._waiting.append(entry)
            self._working -= 1
            self._send_if_all_wait()
            while entry["result"] is None:
                self._changed.wait()
        result = entry["result"]
        if not result["ok"]:
            raise ToolError(result["output"])
        output = Output(result["output"])
        output.exit_code = result.get("exit_code")
        return output

    def gather(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Return what a function returns for each item. The calls for all items are made together."""
        each = list(items)
        results: list[Any] = [None] * len(each)
        errors: list[BaseException] = []

        def work(numbers: range) -> None:
            try:
                for number in numbers:
                    results[number] = _called(function, each[number])
            except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
                errors.append(error)
            finally:
                self._leave()

        count = min(len(each), self.most_threads)
        shares = {f"{first:06}": range(first, len(each), count) for first in range(count)}
        threads = [
            threading.Thread(target=work, args=(share,), name=name, daemon=True) for name, share in shares.items()
        ]
        with self._changed:
            self._working += count
        for thread in threads:
            thread.start()
        self._leave()
        for thread in threads:
            thread.join()
        with self._changed:
            self._working += 1
        if errors:
            raise errors[0]
        return results

    def _leave(self) -> None:
        with self._changed:
            self._working -= 1
            self._send_if_all_wait()

    def _send_if_all_wait(self) -> None:
        if self._working > 0 or not self._waiting:
            return
        batch, self._waiting = sorted(self._waiting, key=lambda entry: entry["order"]), []
        line = json.dumps({"calls": [entry["call"] for entry in batch]})
        self._connection.sendall(line.encode() + b"\n")
        answer = self._reader.readline()
        if not answer:
            os._exit(1)
        for entry, result in zip(batch, json.loads(answer)["results"], strict=True):
            entry["result"] = result
        self._working += len(batch)
        self._changed.notify_all()


class Function:
    """A tool as a function. Its parameters may be given by their names, or in their order."""

    def __init__(self, calls: Calls, name: str, parameters: list[str]) -> None:
        self._calls, self._name, self._parameters = calls, name, parameters

    def __call__(self, *values: Any, **named: Any) -> Output:
        if len(values) == 1 and isinstance(values[0], dict) and not named:
            return self._calls.make(self._name, values[0])
        if len(values) > len(self._parameters):
            raise TypeError(f"{self!r} takes no more than {len(self._parameters)} values")
        given = dict(zip(self._parameters, values, strict=False))
        for name, value in named.items():
            given[f"-{name}" if f"-{name}" in self._parameters else name] = value
        return self._calls.make(self._name, given)

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(self._parameters)})"


class Server:
    """The tools of a server as attributes."""

    def __init__(self, calls: Calls, name: str, tools: Tools) -> None:
        self._calls, self._name, self._tools = calls, name, tools

    def __getattr__(self, name: str) -> Function:
        if name.startswith("__"):
            raise AttributeError(name)
        full, parameters = self._tools.get(_plain(name)) or (f"mcp__{self._name}__{name}", [])
        return Function(self._calls, full, parameters)

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return sorted(self._tools)


class Servers:
    """The servers as attributes."""

    def __init__(self, calls: Calls, servers: dict[str, Tools]) -> None:
        self._calls, self._servers = calls, servers

    def __getattr__(self, name: str) -> Server:
        if name.startswith("__"):
            raise AttributeError(name)
        return Server(self._calls, name, self._servers.get(_plain(name), {}))

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return sorted(self._servers)


def _called(function: Callable[..., Any], item: Any) -> Any:
    """Call a function with an item. A dictionary holds the parameters of a tool by name."""
    if isinstance(function, Function) and isinstance(item, dict):
        return function(**item)
    return function(item)


def _plain(name: str) -> str:
    """Return a name as an attribute is written."""
    return re.sub(r"\W", "_", name)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def confine(memory: int, program: bytes) -> None:
    """Limit memory and descriptors, and give up writing files and starting processes, for good."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: FILES,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    code = ctypes.create_string_buffer(program, len(program))
    filters = _Filter(len(program) // 8, ctypes.addressof(code))
    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.byref(filters), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


def _shown(error: BaseException) -> str:
    """Return a traceback with the script's own lines."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == SCRIPT]
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)])


def main() -> None:
    """Run the script that the other side sends, and exit with 1 if it fails."""
    calls = Calls(socket.socket(fileno=CHANNEL))
    start = calls.begin()
    calls.most_threads = start["threads"]
    threading.stack_size(STACK)
    code = start["code"]
    linecache.cache[SCRIPT] = (len(code), None, code.splitlines(keepends=True), SCRIPT)
    names: dict[str, Any] = {name: Function(calls, name, parameters) for name, parameters in start["tools"].items()}
    names |= {"gather": calls.gather, "mcp": Servers(calls, start["servers"]), "ToolError": ToolError}
    names |= {"json": json, "re": re}
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    confine(start["memory"], bytes.fromhex(start["filter"]))
    status = 0
    try:
        exec(compile(code, SCRIPT, "exec"), {"__name__": "__main__", **names})  # noqa: S102 - the sandbox holds it
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException as error:  # noqa: BLE001 - a script may raise anything; the model gets it
        sys.stdout.flush()
        print(_shown(error), end="", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
