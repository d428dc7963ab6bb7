"""agentcli as a solver of Inspect AI: `inspect eval TASK --solver agentcli/agentcli --model PROVIDER/MODEL`. Only
Inspect imports it.

The program runs in the sample's sandbox, where it must be installed. The sample records its messages, reply and tokens.
"""

from __future__ import annotations

import os
import shlex
from typing import Any
from uuid import uuid4

from inspect_ai.model import ChatMessage, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import sandbox
from pydantic import TypeAdapter

from agentcli.core.errors import ContextError, LimitReached
from agentcli.extras.harnesses.inspect_ai.transcript import Transcript, transcript, usage
from agentcli.providers.registry import variables_of

_FIXED = "-o stream-json --mode yolo --set checkpoints.seconds=0 --set agent.confirm_done=true"
_CONTAINED = "--set permissions.destructive=allow --set general.sandbox=off"
"""Flags in a container, which is a sandbox itself."""
_SCORED = (0, LimitReached.exit_code, ContextError.exit_code)
"""Exit codes of scored runs: any other means that the run did not work as it should."""
_NO_MODEL = ("none", "mockllm")
_MESSAGES: TypeAdapter[list[Any]] = TypeAdapter(list[ChatMessage])


@solver  # type: ignore[untyped-decorator]
def agentcli(model: str = "", arguments: str = "", program: str = "agentcli") -> Solver:
    """Solve a sample with agentcli, in its sandbox.

    `model` replaces Inspect's model, `arguments` are more arguments of agentcli as in a shell, `program` is its command.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        name = model or str(state.model)
        if name.partition("/")[0] in _NO_MODEL:
            raise ValueError("Name the model of agentcli: --model PROVIDER/MODEL, or -S model=PROVIDER/MODEL.")
        done, code, said = await _run(state.input_text, name, [*shlex.split(program)], shlex.split(arguments))
        # An undone task is a result, not an error of the run.
        if code not in _SCORED and done.result.get("subtype") != "incomplete":
            raise RuntimeError(f"agentcli ended with exit code {code}: {done.result.get('error') or said.strip()}")
        state.messages = _MESSAGES.validate_python(done.messages)
        state.output = ModelOutput.model_validate(done.output)
        state.metadata["agentcli"] = _facts(done)
        state.completed = True
        return state

    return solve


async def _run(prompt: str, model: str, program: list[str], arguments: list[str]) -> tuple[Transcript, int, str]:
    """Run agentcli in the sandbox of the sample; return what it did, its exit code and its standard error."""
    box = sandbox()
    file = f"/tmp/agentcli-{uuid4().hex}.jsonl"
    contained = shlex.split(_CONTAINED) if await _is_contained(box) else []
    words = [*program, "-p", "-", *shlex.split(_FIXED), *contained, "-m", model, *arguments]
    # The event lines may exceed Inspect's limit for output.
    command = ["/bin/sh", "-c", f"{shlex.join(words)} >{file}"]
    keys = {name: os.environ[name] for name in variables_of(model.partition("/")[0]) if name in os.environ}
    # The text of a task is never a command of agentcli.
    text = f"Task:\n{prompt}" if prompt.lstrip()[:1] in ("/", "!", "#") else prompt
    ran = await box.exec(command, input=text, env=keys)
    try:
        lines = await box.read_file(file)
    finally:
        await box.exec(["rm", "-f", file])
    done = transcript(lines.split("\n"))
    ended = done.result.get("exit_code")
    return done, ended if isinstance(ended, int) else ran.returncode or 1, ran.stderr


async def _is_contained(box: Any) -> bool:
    """Return True if a sandbox is a container or another machine."""
    try:
        await box.connection()
    except NotImplementedError:
        return False
    except ConnectionError:
        return True
    return True


def _facts(done: Transcript) -> dict[str, Any]:
    result = done.result
    names = ("session_id", "subtype", "turns", "error", "permission_denials")
    spent = usage(result.get("usage") or {}, result.get("cost"))
    return {**{name: result[name] for name in names if result.get(name)}, "usage": spent}
