"""The most frequent acts pass few files: a reader who follows one through the code opens no more than these."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Answer, Loopback

PACKAGE = Path(__file__).parent.parent / "agentcli"
TRACED = """
import os, sys, threading
first, last, which, *arguments = sys.argv[1:]
entered = []

def see(frame, event, _):
    code = frame.f_code
    by_clock = isinstance(threading.current_thread(), threading.Timer)  # it may fire in any act, or in none
    if event in ("call", "return") and code.co_filename.startswith(PACKAGE) and not by_clock:
        entered.append((event, code.co_filename, code.co_qualname))

from agentcli.__main__ import main
threading.setprofile(see), sys.setprofile(see)
code = main(arguments)
sys.setprofile(None), threading.setprofile(None)
judged = max(at for at, (event, _, name) in enumerate(entered) if event == "call" and name == last)
begins = [at for at, (event, _, name) in enumerate(entered[:judged]) if event == "call" and name == first]
begin = begins[int(which)]
end = max(at for at, (event, _, name) in enumerate(entered) if event == "return" and name == last)
calls = [(file, name) for event, file, name in entered[begin:end] if event == "call"]
files = {file for file, name in calls if not name.rpartition(".")[2].startswith("<")}  # no lambda, no module
sys.stderr.write("".join(f"entered {os.path.relpath(file, PACKAGE)}\\n" for file in sorted(files)))
sys.exit(code)
"""


@dataclass(frozen=True)
class Act:
    """A run with these replies of the model, the functions with which the act begins and ends, and the most files it may enter."""

    name: str
    arguments: tuple[str, ...]
    replies: tuple[Answer, ...]
    first: str
    last: str
    among: str
    """A file that it passes for certain."""
    most: int
    which: str = "0"
    """The index of its beginning among the entries into `first`; -1 for the last act: what the first one of a session finds out once is no part of it."""


PROMPT = Act(
    "prompt", ("hello",), (say("All done."),), "AgentSession.run", "AgentSession._turn", "agent/session.py", 82
)
CLEAN, ALSO = (
    call("bash", command=f"npm test && rm -rf {folder}", description="Test and clean") for folder in ("dist", "build")
)
APPROVAL = Act(
    "approval", ("test it", "--mode", "auto"), (say("", CLEAN), say("", ALSO), say("Done.")),
    "execute", "ApprovalStage.judge", "permissions/shell/command_line.py", 39, "-1",
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("act", [PROMPT, APPROVAL], ids=lambda act: act.name)
def test_an_act_passes_few_files(act: Act, tmp_path: Path) -> None:
    with Loopback([*act.replies]) as server:
        program = Program(
            tmp_path, server.env, ("-c", f"PACKAGE = {str(PACKAGE)!r}\n{TRACED}", act.first, act.last, act.which)
        )
        subprocess.run(["git", "init", "-q"], cwd=program.work, env=program.env, check=True)
        ran = program.run("-p", *act.arguments, "--trust", "-m", "anthropic/claude-sonnet-4-5", "-o", "json")
    assert ran.code == 0, ran.err
    entered = [line.removeprefix("entered ") for line in ran.err.split("\n") if line.startswith("entered ")]
    entered = [file for file in entered if file != "core/dataclass.py"]  # every value is made by it
    assert act.among in entered
    assert len(entered) <= act.most, entered
