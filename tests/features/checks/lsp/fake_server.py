"""A language server that finds `bad` in files, and misbehaves as its argument says."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else ""
TEXTS: dict[str, str] = {}
CLEAN: set[str] = set()
LOADED: list[int] = []


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    if HOW == "drips":
        for byte in b"Content-Length: %d\r\n\r\n" % len(body) + body:
            sys.stdout.buffer.write(bytes([byte]))
            sys.stdout.buffer.flush()
            time.sleep(0.2)
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def received() -> Any:
    size = 0
    while (line := sys.stdin.buffer.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            size = int(line.partition(b":")[2])
    return json.loads(sys.stdin.buffer.read(size)) if size else None


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def places(word: str, uri: str) -> list[dict[str, Any]]:
    rows = enumerate(TEXTS[uri].split("\n"))
    return [
        {"uri": uri, "range": span(n, units(row, found.start()), units(row, found.end()))}
        for n, row in rows
        for found in re.finditer(rf"\b{word}\b", row)
    ]


def units(row: str, index: int) -> int:
    return len(row[:index].encode("utf-16-le")) // 2


def diagnose(uri: str, version: int) -> None:
    if HOW == "loading" and not LOADED:
        send({"method": "$/progress", "params": {"token": "t", "value": {"kind": "begin", "title": "Loading"}}})
        send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}})
        time.sleep(2.5)
        send({"method": "$/progress", "params": {"token": "t", "value": {"kind": "end"}}})
        LOADED.append(1)
    if HOW == "slow":
        time.sleep(1.5)
    if HOW == "dies":
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    if HOW == "floods":
        while True:
            send({"method": "window/logMessage", "params": {"type": 3, "message": "x" * 1_000_000}})
    found = [
        {"range": each["range"], "severity": 1, "message": "bad is not good", "code": "E1"}
        for each in places("bad", uri)
    ]
    hint = {"range": span(0, 0, 1), "severity": 4, "message": "a hint"}
    params = {"uri": uri, "version": version, "diagnostics": [*found, hint, "nonsense"]}
    if HOW == "terse":  # as typescript-language-server: without a version, and silent about a file that stays clean
        del params["version"]
        if not found and uri in CLEAN:
            return
    if found:
        CLEAN.discard(uri)
    else:
        CLEAN.add(uri)
    send({"method": "textDocument/publishDiagnostics", "params": params})


def word_at(params: Any) -> str:
    row = TEXTS[params["textDocument"]["uri"]].split("\n")[params["position"]["line"]]
    begin = params["position"]["character"]
    plain = row.encode("utf-16-le")[2 * begin :].decode("utf-16-le")
    found = re.match(r"\w+", plain)
    return found[0] if found else ""


def result(method: str, params: Any) -> Any:
    uri = params["textDocument"]["uri"]
    match method:
        case "textDocument/definition":
            return places(word_at(params), uri)[:1]
        case "textDocument/references":
            return places(word_at(params), uri)
        case "textDocument/hover":
            return {"contents": {"kind": "markdown", "value": f"**{word_at(params)}**: int\x1b[31m"}}
        case "textDocument/documentSymbol":
            child = {"name": "inner", "kind": 12, "range": span(1, 0, 1)}
            return [{"name": "outer", "kind": 5, "range": span(0, 0, 1), "children": [child]}]
        case "textDocument/rename":
            edits = [{"range": each["range"], "newText": params["newName"]} for each in places(word_at(params), uri)]
            changed = re.sub("/work(?=/)", "/other", uri) if HOW == "elsewhere" else uri
            return {"documentChanges": [{"textDocument": {"uri": changed, "version": None}, "edits": edits}]}


if HOW == "silent":
    time.sleep(1_000)
if HOW == "nonsense":
    sys.stdout.write("Welcome to the server!\n" * 10_000)
    sys.stdout.flush()
    time.sleep(1_000)
while (message := received()) is not None:
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        send({"id": 900, "method": "workspace/configuration", "params": {"items": [{"section": "lint.level"}, {}]}})
        send({"id": 901, "method": "no/such/method", "params": {}})
        send({"id": message["id"], "result": {"capabilities": {}}})
    elif method == "textDocument/didOpen":
        document = params["textDocument"]
        TEXTS[document["uri"]] = document["text"]
        diagnose(document["uri"], document["version"])
    elif method == "textDocument/didChange":
        TEXTS[params["textDocument"]["uri"]] = params["contentChanges"][-1]["text"]
        diagnose(params["textDocument"]["uri"], params["textDocument"]["version"])
    elif method and "id" in message and HOW == "mute":
        continue
    elif method and "id" in message and HOW == "refuses":
        send({"id": message["id"], "error": {"code": -32803, "message": "not now"}})
    elif method and "id" in message:
        send({"id": message["id"], "result": result(method, params)})
