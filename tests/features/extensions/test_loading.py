"""Faults of an extension: each is named once with its line, and none ends a session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.extensions.running import HEAD, folder, outputs, play, warnings, write
from tests.frontends.python.embedded import calls

ON = "@on('tool_call', timeout=0.3)\n"
FAULTS = {
    "syntax": ("def f(:\n    pass", "import: SyntaxError: invalid syntax (mine.py:3)."),
    "indentation": ("def f():\npass", "import: IndentationError: expected an indented block"),
    "null byte": ("x = 1\0", "import: "),
    "not utf-8": (b"x = '\xff'", "import: "),
    "import": ("import no_such_module", "import: ModuleNotFoundError: No module named 'no_such_module' (mine.py:3)."),
    "name": ("x = y", "import: NameError: name 'y' is not defined (mine.py:3)."),
    "exit at import": ("import sys\nsys.exit(3)", "import: Ended: SystemExit: 3 (mine.py:4)."),
    "interrupt at import": ("raise KeyboardInterrupt", "import: Ended: KeyboardInterrupt (mine.py:3)."),
    "recursion at import": ("def f():\n    f()\nf()", "import: RecursionError: maximum recursion depth exceeded"),
    "unknown event": ("@on('tool_cal')\ndef f(e): ...", "import: There is no event 'tool_cal'."),
    "tool without docstring": ("@tool\ndef look(a: str): ...", "import: The tool look has no docstring."),
    "tool without type": ("@tool\ndef look(a):\n    'Look.'", "import: The tool look: the parameter a has no type."),
    "tool of ours": ("@tool\ndef bash(a: str):\n    'Run.'", "import: The agent has a tool named bash already."),
    "stop iteration": ("raise StopIteration", "import: Ended: StopIteration (mine.py:3)."),
    "exception": (f"{ON}def f(call):\n    1 / 0", "tool_call: ZeroDivisionError: division by zero (mine.py:5)."),
    "deep exception": (
        f"def g():\n    return [][1]\n{ON}def f(call):\n    g()",
        "tool_call: IndexError: list index out of range (mine.py:4).",
    ),
    "exit": (f"import sys\n{ON}def f(call):\n    sys.exit(0)", "tool_call: Ended: SystemExit: 0 (mine.py:6)."),
    "interrupt": (f"{ON}def f(call):\n    raise KeyboardInterrupt", "tool_call: Ended: KeyboardInterrupt (mine.py:5)."),
    "cancel": (
        f"import asyncio\n{ON}async def f(call):\n    raise asyncio.CancelledError",
        "tool_call: Ended: CancelledError.",
    ),
    "generator exit": (
        f"{ON}async def f(call):\n    raise GeneratorExit",
        "tool_call: Ended: GeneratorExit (mine.py:5).",
    ),
    "hang": (f"import time\n{ON}def f(call):\n    time.sleep(60)", "tool_call: it took too long and was given up"),
    "busy": (f"{ON}def f(call):\n    while True: pass", "tool_call: it took too long and was given up"),
    "async hang": (
        f"import asyncio\n{ON}async def f(call):\n    await asyncio.sleep(60)",
        "tool_call: it took too long and was given up",
    ),
    "blocked loop": (
        f"import time\n{ON}async def f(call):\n    time.sleep(60)",
        "tool_call: it took too long and was given up",
    ),
    "number": (f"{ON}def f(call):\n    return 3", "tool_call: tool_call may return deny, ask, replace, not 3."),
    "text": (f"{ON}def f(call):\n    return 'no'", "tool_call: tool_call may return deny, ask, replace, not 'no'."),
    "false": (f"{ON}def f(call):\n    return False", "tool_call: tool_call may return deny, ask, replace, not False."),
    "an allow": (
        f"from agentcli.extension import Decision\n{ON}def f(call):\n    return Decision('allow')",
        "tool_call: tool_call may return deny, ask, replace, not Decision(",
    ),
    "too many parameters": (f"{ON}def f(call, ctx, more): ...", "tool_call: TypeError: f() missing 1 required"),
    "large output": (
        "@on('tool_result')\ndef f(result):\n    return 'x' * 100_000_000",
        "tool_result: a text of 100,000,000 characters was cut to 20,000.",
    ),
    "state": (f"{ON}def f(call, ctx):\n    ctx.state['x'] = object()", "state: its state is not JSON: "),
    "large state": (
        f"{ON}def f(call, ctx):\n    ctx.state['x'] = 'x' * 2_000_000",
        "state: its state has 2,000,009 characters; 1,000,000 are allowed.",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line_and_the_session_goes_on(name: str, tmp_path: Path) -> None:
    code, told = FAULTS[name]
    content = code if isinstance(code, bytes) else (HEAD + code).encode()
    (folder(tmp_path) / "mine.py").write_bytes(content)
    events = play(tmp_path, calls("bash", command="echo 1"), "Done.")
    said = [text for text in warnings(events) if text.startswith("Extension mine, ")]
    assert said[0].startswith(f"Extension mine, {told}"), said
    assert (events[-1].text, events[-1].exit_code) == ("Done.", 0)
    assert [status for status, _ in outputs(events)] == ["success"]


def test_a_fault_is_told_once_and_after_three_the_extension_is_off(tmp_path: Path) -> None:
    write(tmp_path, "@on('tool_call')\ndef f(call):\n    1 / 0\n")
    events = play(tmp_path, *[calls("bash", command=f"echo {n}") for n in range(5)], "Done.")
    fault, off = warnings(events)
    assert fault == "Extension mine, tool_call: ZeroDivisionError: division by zero (mine.py:5)."
    assert off == "Extension mine is off after 3 faults. /extensions reload loads it again."
    assert [status for status, _ in outputs(events)] == ["success"] * 5


def test_a_tool_that_fails_tells_the_model_and_not_the_person(tmp_path: Path) -> None:
    write(tmp_path, "@tool\ndef look(a: str) -> str:\n    'Look.'\n    return {}[a]\n")
    events = play(tmp_path, calls("look", a="x"), "Done.")
    assert (outputs(events), warnings(events)) == ([("error", "KeyError: 'x'")], [])


@pytest.mark.full
def test_a_tool_with_a_large_result_is_cut(tmp_path: Path) -> None:
    write(tmp_path, "@tool\ndef look(a: str) -> str:\n    'Look.'\n    return 'x' * 100_000_000\n")
    [(status, output)] = outputs(play(tmp_path, calls("look", a="x"), "Done."))
    assert (status, len(output) < 60_000) == ("success", True)


def test_what_an_extension_prints_stays_away_from_stdout(tmp_path: Path) -> None:
    write(tmp_path, "print('imported')\n@on('prompt')\ndef f(prompt):\n    print('x' * 1_000_000)\n")
    env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "agentcli", "-p", "hi", "-m", "script:echo"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=True)
    assert "imported" not in done.stdout
    assert "xxx" not in done.stdout + done.stderr
