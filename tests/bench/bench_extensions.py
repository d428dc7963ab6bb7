"""What extensions cost at the start of a one-shot, beside one without any.

    python -m tests.bench.bench_extensions

Run it where bytecode may be written; every figure is the median of several runs in turns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentcli.features.extensions.skeleton import CODE
from tests.bench.bench_start import PROGRAM, ratio, say_line, together
from tests.e2e.program import Program

RUNS = 15
SMALL = 10


def main() -> None:
    """Print the processor time with ten small extensions beside that with none."""
    with tempfile.TemporaryDirectory() as name:
        program = Program(Path(name))
        extensions(program.base / "config" / "agentcli" / "extensions")
        shot = (*PROGRAM, "-p", "hi", "-m", "script:echo")
        commands: dict[str, Sequence[str]] = {
            "none": (*shot, "--no-extensions"),
            "ten": shot,
        }
        took = {what: cpu for what, (cpu, _) in together(commands, program, RUNS).items()}
    say_line("ten", f"{(took['ten'] - took['none']) * 1000:.0f} ms, {ratio(took['ten'], took['none'], 'none')}")


def extensions(folder: Path) -> None:
    """Write small extensions with a tool, a command and a handler each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(SMALL):
        (folder / f"small{number}.py").write_text(CODE.replace("NAME", f"small{number}"))


if __name__ == "__main__":
    main()
