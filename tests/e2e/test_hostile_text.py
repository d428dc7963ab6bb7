"""Three hundred hostile strings through every display of the program: none moves the cursor, sets a mode or turns text around."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.core.test_sanitise import BIDI, CONTROLS, HOSTILE, SEQUENCES, TAGS, UNSEEN
from tests.e2e.program import Program
from tests.sampling import sampled
from tests.terminal import Terminal

STRINGS = [f"{text}Zq" for text in dict.fromkeys((*HOSTILE, *SEQUENCES))]
"""The text after each string cannot follow a sequence of our own."""
WRITABLE = [text for text in STRINGS if not re.search("[\ud800-\udfff]", text)]
ARGUABLE = [text for text in WRITABLE if "\0" not in text]
OURS = re.compile(
    rb"\x1b\[[0-9;]*m|\x1b\[[0-9]*[ABCDKLM]|\x1b\[J|\x1b\[[0-9]+;[0-9]+H|\x1b\[\?(?:2026|25|7|2004|1049)[hl]|\x1b\[2[23];2t|\x1b\]0;[^\x00-\x1f\x7f]{0,70}\x07|\x1b\]11;\?\x1b\\|\x1b\]9;agentcli[^\x00-\x1f\x7f]{0,800}\x07|\r|\n|\x07"
)
"""All control sequences that the program itself sends."""
REFUSED = {*CONTROLS, *BIDI, *TAGS, *UNSEEN} - {"\r", "\n"}


def is_clean(raw: bytes) -> None:
    """Only sequences of our own, and none of the strings, came through."""
    for text in STRINGS:
        control = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f].*$", text, re.DOTALL)
        if control:
            assert control.group().encode(errors="replace") not in raw, repr(text)
    rest = OURS.sub(b"", raw).decode(errors="replace")
    found = {letter: rest.index(letter) for letter in REFUSED if letter in rest}
    assert not found, [(letter, rest[max(0, at - 60) : at + 20]) for letter, at in found.items()]
    assert b"Traceback" not in raw


def arranged(program: Program) -> list[str]:
    """A folder with hostile contents and names, and a model that says and does hostile things; returns the arguments."""
    lines = "\n".join(WRITABLE)
    (program.work / "hostile.txt").write_bytes(lines.encode())
    (program.work / "AGENTS.md").write_bytes(lines.encode())
    (program.work / "odd\x1b[2J\u202ename\x9b31m.txt").write_text("\x1b]0;owned\x07Zq\n")
    quoted = "\n".join(ARGUABLE).replace("'", "")
    replies: list[dict[str, Any]] = [
        {
            "thinking": "\n".join(STRINGS),
            "text": "\n\n".join(STRINGS),
            "calls": [{"name": "bash", "input": {"command": f"printf '%s' '{quoted}'", "description": STRINGS[0]}}],
        },
        {"text": "```python\n" + "\n".join(STRINGS) + "\n```", "calls": [{"name": "list", "input": {}}]},
        {"text": "| a |\n|---|\n" + "\n".join(f"| {text.splitlines()[0]} |" for text in STRINGS)},
    ]
    second = [
        {"calls": [{"name": "write", "input": {"file_path": "new\x1b[2J.txt", "content": lines}}]},
        {"calls": [{"name": "bash", "input": {"command": "cat hostile.txt odd*; echo end >&2; false"}}]},
        {"calls": [{"name": "no\x1b[2Jtool\u202e", "input": {"a\x1b[2J": STRINGS}}]},
        {"calls": [{"name": "bash", "input": {"command": "echo \0 \ud800"}}]},
        {"calls": [{"name": "read", "input": {"file_path": text}} for text in STRINGS[::60]]},
        {
            "calls": [
                {"name": "todo_write", "input": {"todos": [{"content": text, "status": "pending"} for text in STRINGS]}}
            ]
        },
        {"text": "The end."},
    ]
    (program.base / "script.json").write_text(json.dumps({"replies": [*replies, *second]}))
    program.config("[ui]\noutput_lines = 2000\ndiff_lines = 2000\nthinking = true\nreplay = 200\n")
    return ["-m", f"script:{program.base / 'script.json'}"]


def name_by_hand(program: Program) -> None:
    """The only session gets a name that `rename` refuses, as if somebody had edited its file."""
    name = "".join(ARGUABLE[::20])
    [session] = [folder.parent for folder in program.sessions.glob("*/*/records")]
    refused = program.run("sessions", "rename", session.name, name)
    assert (refused.code, refused.err.count("control or invisible")) == (42, 1)
    info = json.loads((session / "session.json").read_text())
    (session / "session.json").write_text(json.dumps(info | {"name": name}))


def terminal(program: Program, *arguments: str, **more: Any) -> Terminal:
    return program.terminal(*arguments, env={**program.env, "PAGER": "cat"}, columns=160, rows=50, **more)


def until_idle(t: Terminal) -> None:
    """Answer every question with yes until nothing more comes."""
    for _ in range(25):
        t.settle(0.6, 20)
        if b"1. Yes" not in t.raw[getattr(t, "asked", 0) :]:
            return
        t.asked = len(t.raw)  # type: ignore[attr-defined]
        t.send("1")


COMMANDS = [
    "/context", "/diff", "/why", "/todo", "/tasks", "/tools", "/cost", "/cache", "/permissions", "/sessions", "/memory", "/budget", "/doctor",
    "!cat hostile.txt; ls --show-control-chars", "/stats", "/help nonsense", "/pin 2", "/compress",
]  # fmt: skip


@pytest.mark.slow
def test_nothing_hostile_reaches_the_terminal_by_any_display(program: Program) -> None:
    arguments = arranged(program)
    with terminal(program, *arguments, "\n".join(ARGUABLE)) as t:
        t.until("k/1")
        until_idle(t)
        t.send("go on\r")
        until_idle(t)
        assert "The end." in "\n".join(t.history()), t.history()
        for command in COMMANDS:
            t.send(command + "\r")
            t.settle(0.25, 10)
        t.send("\x0f", until="─ Transcript ─")
        t.settle(0.3, 10)
        t.send("q")
        t.send("/resume\r")
        t.settle(0.4, 10)
        t.send("\x1b")
        t.settle(0.3, 10)
        t.send("\x12")
        t.settle(0.4, 10)
        t.send("\x1b")
        t.settle(0.3, 10)
        t.send("\x04")
        assert t.wait(20) == 0
        is_clean(t.raw)
        shown = t.raw.decode(errors="replace")
        assert shown.count("\\x1b") > 300, "what was there is told, not swallowed"
    said = json.dumps(program.records())
    assert "]52;c;cm0=" in said
    [session] = [folder.parent.name for folder in program.sessions.glob("*/*/records")]
    name_by_hand(program)
    with terminal(program, "resume") as t:
        t.until("Resume which session?")
        t.settle(0.4, 5)
        assert "Zq" in "\n".join(t.screen())
        t.send("\x1b")
        t.settle(0.4, 5)
        t.send("\x04")
        assert t.wait(20) == 0
        is_clean(t.raw)
    with terminal(program, "resume", session) as t:
        t.until("k/1")
        t.settle(1, 20)
        t.send("/sessions\r")
        t.settle(0.4, 5)
        t.send("\x04")
        assert t.wait(20) == 0
        is_clean(t.raw)


@pytest.mark.parametrize(
    "arguments",
    sampled([["-p", "go"], ["sessions", "list"], ["sessions", "show", "--last"], ["sessions", "search", "Zq"], ["context", "show"], ["--nonsense\x1b[2JZq"],
     ["-p", "x", "--mode", "\x1b[2JZq\u202e"], ["-p", "x", "-m", "\x1b]0;x\x07Zq"], ["resume", "\x1b[2JZq", "-p", "x"], ["-p", "x", "-C", "/\x1b[2JZq"],
     ["-p", "x", "--set", "\x1b[2JZq=1"], ["config", "get", "\x1b[2JZq"], ["sessions", "export"]], 3),
    ids=str,
)  # fmt: skip
def test_nothing_hostile_reaches_a_terminal_without_a_person(program: Program, arguments: list[str]) -> None:
    asked = arranged(program)
    if arguments[0] in ("sessions", "context"):
        ran = program.run("-p", "\n".join(ARGUABLE), *asked, "--mode", "yolo")
        assert ran.code == 0, ran.err
        [session] = [folder.parent.name for folder in program.sessions.glob("*/*/records")]
        name_by_hand(program)
        arguments = [session if word == "--last" else word for word in arguments]
        arguments += [session] if arguments[-1] in ("export", "show") else []
    elif arguments == ["-p", "go"]:
        arguments = [*arguments, *asked, "--mode", "yolo"]
    with terminal(program, *arguments) as t:
        t.wait(60)
        is_clean(t.raw)
        assert t.raw.strip()


@pytest.mark.slow
def test_nothing_hostile_reaches_a_plain_terminal(program: Program) -> None:
    with terminal(program, *arranged(program), "--plain", "--mode", "yolo", "\n".join(ARGUABLE)) as t:
        t.until("lists the commands")
        t.settle(1, 20)
        t.send("go on\r")
        t.settle(1, 20)
        for command in COMMANDS:
            t.send(command + "\r")
            t.settle(0.2, 10)
        t.send("\x04")
        assert t.wait(20) == 0
        assert b"\x1b" not in t.raw
        is_clean(t.raw)


@pytest.mark.full
@pytest.mark.parametrize("arguments", sampled([[], ["--plain"], ["-p", "go"], ["doctor"]], 2), ids=str)
def test_nothing_hostile_reaches_the_terminal_by_the_name_of_the_folder(program: Program, arguments: list[str]) -> None:
    folder = program.work / "a\x1b]0;owned\x07Zq\u202e"
    folder.mkdir()
    (folder / ".agentcli").mkdir()
    (folder / ".agentcli/config.toml").write_text("[ui]\nvi = false\n")
    model = [] if arguments == ["doctor"] else ["-m", "script:echo"]
    with terminal(program, *arguments, *model, cwd=str(folder)) as t:
        if arguments in ([], ["--plain"]):
            t.until("Trust this folder?")
            t.send("y")
            for command in ("/status", "/sessions", "/permissions", "/memory", "/mcp", "/doctor"):
                t.settle(0.3, 10)
                t.send(command + "\r")
            t.until("0 damaged")
            t.settle(0.5, 10)
            t.send("\x04")
        t.wait(30)
        is_clean(t.raw)
        assert t.raw.strip()
