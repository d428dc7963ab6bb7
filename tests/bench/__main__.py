"""`python -m tests.bench` runs every bench of the program's speed and memory; `python -m tests.bench NAME ...` runs one with its arguments.

`--list` shows them all, and `NAME --help` what one measures. Other programs are measured beside it if `PEERS` or `PATH` has them.
Each runs in a process of its own, so that one bench does not warm another.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SPEED = ("peers", "turns", "large", "serve", "boxes", "memory")
"""Benches of one-shots and turns beside other programs, of large sessions, of readers, of the sandbox, and of huge replies."""
BENCHES = {path.stem.removeprefix("bench_"): path for path in sorted(Path(__file__).parent.glob("bench_*.py"))}


def about(name: str) -> str:
    """Return what a bench measures: the docstring of its file."""
    return BENCHES[name].read_text(encoding="utf-8").split('"""')[1].strip()


def main(arguments: Sequence[str]) -> int:
    """Run the named bench, or those of speed. Return 1 if one failed, 2 for an unknown name."""
    if not arguments:
        return max([_run(name) for name in SPEED])
    name, *given = arguments
    if name in {"-h", "--help"}:
        print(__doc__)
    elif name == "--list":
        for each in BENCHES:
            print(f"{each:12} {about(each).splitlines()[0]}")
    elif name not in BENCHES:
        print(f"There is no bench {name!r}. `python -m tests.bench --list` shows them all.", file=sys.stderr)
        return 2
    elif given in (["-h"], ["--help"]):
        print(about(name))
    else:
        sys.argv = [str(BENCHES[name]), *given]
        runpy.run_module(f"tests.bench.bench_{name}", run_name="__main__")
    return 0


def _run(name: str) -> int:
    print(f"\n== {name}", flush=True)
    # Bytecode is written, as it is for a user.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return int(subprocess.run([sys.executable, "-m", f"tests.bench.bench_{name}"], env=environment).returncode != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
