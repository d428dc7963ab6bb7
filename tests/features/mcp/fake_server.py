"""A small server of the Model Context Protocol on stdio, without the SDK: its behaviour is laid down in its arguments.

`python fake_server.py [FAULT …]`: see `FAULTS`. A file `tools.json` in the current folder replaces its tools.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FAULTS = (
    "silent",  # answers nothing
    "exits",  # ends at once, with a last line on stderr
    "lingers",  # closes stdout half a second before it exits or dies
    "chatter",  # prints text between its messages
    "latin",  # sends bytes that are no UTF-8
    "stubborn",  # ignores SIGTERM and the end of stdin
    "changes",  # tells of changed tools after each call
    "resources",  # offers a resource and a prompt
    "refuses-relist",  # answers the second list with an error
    "hangs-relist",  # never answers the second list
    "nonsense-relist",  # answers the second list with what no list is
    "refuses-prompts",  # declares prompts and resources, and refuses to list them
    "late",  # answers nothing before there is a file `go`
    "no-resources",  # declares resources and lists none
    "newest",  # knows the newest revision of the protocol, in which it cannot ask, and the one before
    "deep",  # has a tool with a schema nested 220 deep
    "wordy",  # writes a line to stderr when it is started, and one when a call is answered
    "pages",  # lists its tools on two pages
)
TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Say a text again.", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "die", "description": "End the server in the middle of a call.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answer.", "inputSchema": {"type": "object"}},
    {"name": "peek", "description": "Look, and change nothing.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "sensitive", "description": "Needs a person.", "inputSchema": {"type": "object"}, "_meta": {"anthropic/requiresUserInteraction": True}},
]  # fmt: skip


def send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def log(line: str) -> None:
    with open("fake.log", "a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def tools() -> list[dict[str, Any]]:
    file = Path("tools.json")
    return json.loads(file.read_text()) if file.exists() else TOOLS


def called(number: int, params: dict[str, Any], faults: set[str]) -> None:
    name, given = params["name"], params.get("arguments") or {}
    log(f"call {name} {json.dumps(given)}")
    match name:
        case "die":
            print("fatal: out of cheese", file=sys.stderr, flush=True)
            if "lingers" in faults:
                linger()
            os._exit(3)
        case "vanish":
            os._exit(3)
        case "flood":
            sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "result": {"content": "')
            for _ in range(given["mb"]):
                sys.stdout.buffer.write(b"x" * 1_000_000)
            sys.stdout.buffer.write(b'"}, "id": %d}\n' % number)
            sys.stdout.buffer.flush()
            return
        case "unreadable":
            send({"id": number, "result": 5})
            return
        case "empty":
            send({"id": number, "result": {}})
            return
        case "hang":
            return
        case "crawl":
            token, step = params.get("_meta", {}).get("progressToken"), 0
            while not Path("enough").exists():
                time.sleep(0.05)
                step += 1
                send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
        case "slow":
            token = params.get("_meta", {}).get("progressToken")
            for step in range(3):
                send(
                    {
                        "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": step, "total": 3},
                    }
                )
        case "picture":
            data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
            send({"id": number, "result": {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}})
            return
        case "blocks":
            send({"id": number, "result": {"content": given["blocks"]}})
            return
        case "ask" if "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {}):
            given = {"text": "elicitation is not available on this connection"}
        case "ask":
            send({"id": "q1", "method": "elicitation/create", "params": {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}})  # fmt: skip
            answer = json.loads(sys.stdin.buffer.readline())
            given = {"text": json.dumps(answer.get("result"))}
        case "form" | "page":
            asked: dict[str, Any] = {"message": "Who are you?"}
            properties = {
                "name": {"type": "string", "title": "Your name"},
                "age": {"type": "integer"},
                "size": {"type": "number"},
                "sure": {"type": "boolean"},
                "colour": {"type": "string", "enum": ["red", "blue"]},
                "left": {"type": "string", "default": "as it was"},
                "empty": {"type": "string"},
                "hero": {"type": "string", "oneOf": [{"const": "h1", "title": "Superman"}, {"const": "h2"}]},
                "pet": {"type": "string", "enum": ["p1", "p2"], "enumNames": ["Cats"], "default": "p1"},
                "tools": {
                    "type": "array",
                    "items": {"anyOf": [{"const": "t1", "title": "Saw"}, {"const": "t2", "title": "Axe, large"}]},
                },
            }
            form = {"requestedSchema": {"type": "object", "properties": properties, "required": ["name"]}}
            page = {"mode": "url", "url": given.get("url", ""), "elicitationId": "e1"}
            send(
                {"id": "q1", "method": "elicitation/create", "params": {**asked, **(form if name == "form" else page)}}
            )
            given = {"text": json.dumps(json.loads(sys.stdin.buffer.readline()).get("result"))}
        case "roots":
            send({"id": "r1", "method": "roots/list"})
            given = {"text": json.dumps(json.loads(sys.stdin.buffer.readline()).get("result"))}
        case "environment":
            given = {"text": json.dumps(dict(os.environ))}
        case "fails":
            send({"id": number, "result": {"content": [{"type": "text", "text": "no such thing"}], "isError": True}})
            return
        case _:
            pass
    if "wordy" in faults:
        print("a call was answered", file=sys.stderr, flush=True)
    send({"id": number, "result": {"content": [{"type": "text", "text": str(given.get("text", "done"))}]}})
    if "changes" in faults:
        send({"method": "notifications/tools/list_changed"})


def answered(message: dict[str, Any], faults: set[str], lists: list[int]) -> None:
    number, params = message["id"], message.get("params") or {}
    match message["method"]:
        case "server/discover" if "newest" in faults:
            info = {"name": "fake", "version": "1"}
            head = {
                "supportedVersions": ["2026-07-28", "2025-11-25"],
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            send({"id": number, "result": {**head, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}})
        case "initialize":
            offered: dict[str, Any] = {"tools": {"listChanged": True}}
            if faults & {"resources", "refuses-prompts", "no-resources"}:
                offered |= {"resources": {}, "prompts": {}}
            info = {"name": "fake", "version": "1"}
            head = {"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": info}
            send({"id": number, "result": {**head, "instructions": "Use echo to say things."}})
        case "tools/list":
            lists.append(number)
            log("tools/list")
            if "hangs-relist" in faults and len(lists) > 1:
                return
            if "nonsense-relist" in faults and len(lists) > 1:
                send({"id": number, "result": {"tools": [{"name": 5}]}})
            elif "refuses-relist" in faults and len(lists) > 1:
                send({"id": number, "error": {"code": -32603, "message": "not now"}})
            elif "deep" in faults:
                schema: dict[str, Any] = {"type": "string"}
                for _ in range(220):
                    schema = {"type": "object", "properties": {"a": schema}}
                send({"id": number, "result": {"tools": [{"name": "deep", "inputSchema": schema}]}})
            elif "pages" in faults and not params.get("cursor"):
                send({"id": number, "result": {"tools": tools()[:1], "nextCursor": "2"}})
            else:
                send({"id": number, "result": {"tools": tools()[1:] if "pages" in faults else tools()}})
        case "resources/list" | "prompts/list" if "refuses-prompts" in faults:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
        case "resources/list" | "resources/templates/list" if "no-resources" in faults:
            send({"id": number, "result": {"resources": [], "resourceTemplates": []}})
        case "resources/list":
            send({"id": number, "result": {"resources": [{"uri": "note://1", "name": "first note"}]}})
        case "resources/read":
            send({"id": number, "result": {"contents": [{"uri": params["uri"], "text": "buy milk"}]}})
        case "prompts/list":
            argument = {"name": "topic", "required": True}
            send(
                {
                    "id": number,
                    "result": {"prompts": [{"name": "summarise", "arguments": [argument, {"name": "style"}]}]},
                }
            )
        case "prompts/get":
            text = f"Summarise {params['arguments']}"
            send({"id": number, "result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}})
        case "tools/call":
            called(number, params, faults)
        case _:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def linger() -> None:
    os.close(1)
    time.sleep(0.5)


def main(faults: set[str]) -> None:
    log(f"start {os.getpid()} {os.environ.get('FAKE_NAME', '')}".rstrip())
    if "exits" in faults:
        if "lingers" in faults:
            linger()
        sys.exit("no licence found")
    if "stubborn" in faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "wordy" in faults:
        print("serving on stdio", file=sys.stderr, flush=True)
    while "late" in faults and not Path("go").exists():
        time.sleep(0.01)
    lists: list[int] = []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            log("cancelled")
        if message.get("method") == "notifications/roots/list_changed":
            log("roots changed")
        if "silent" in faults or "id" not in message or "method" not in message:
            continue
        if "chatter" in faults:
            print("Welcome!", flush=True)
        if "latin" in faults:
            sys.stdout.buffer.write(b"gr\xfc\xdfe\n")
        answered(message, faults, lists)
    while "stubborn" in faults:
        time.sleep(1)


if __name__ == "__main__":
    main(set(sys.argv[1:]))
