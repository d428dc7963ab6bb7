"""Session files that are damaged or made to do harm: each is imported or refused with one sentence, and nothing lies outside the store.

    python -m tests.attack.hostile_session_files [COUNT]

Each attack takes a session file of one of the programs, spoils it in one way, and has `sessions import` read it; what was imported
is shown, checked and exported as a page.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentcli.core.sanitise import harmful
from tests.e2e.program import Program, Ran

SAMPLES = Path(__file__).parents[1] / "extras" / "importers" / "sessions" / "samples"
INPUT = 42
"""The exit code for a file that cannot be taken over."""
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**400, -(10**30), "", "x", "\ud800", "2026-99-99", "9999-12-31T23:59:59Z"),
    *([], {}, [[]], [None], [1], ["x"], [{}], {"type": "text"}, {"": {}}, {"text": 5}, {"$set": {"messages": [7]}}),
)
ESCAPING = (
    "../../../../../../../../escaped",
    "..",
    ".",
    "/",
    "BASE/escaped",
    "a/../../../../../escaped",
    "escaped\0",
    "\x1b]0;owned\x07\x1b[2J\x1b[31m",
    "\u202egnp.exe",
    "\r\n\x08\x08spoofed",
    "-rf",
    "~/escaped",
    "$(touch escaped)",
    "x" * 5000,
    "con\u0301\ufeff",
    '"><script>alert(1)</script>',
)
NAMES = re.compile(
    r"id|uuid|path|dir|cwd|root|name|title|summary|file|key|model|provider|kind|status|digest|sha", re.IGNORECASE
)
OWN = {
    "replies": [
        {
            "text": "I work.",
            "calls": [
                {"name": "write", "input": {"file_path": "new.txt", "content": "x\n"}},
                {"name": "bash", "input": {"command": "seq 1 20000"}},
            ],
        },
        {"text": "Done."},
    ]
}
"""The model's text in the session of our own that is exported and then damaged."""


@dataclass(frozen=True)
class Attack:
    """One spoiled file: how, from which sample, and what it holds."""

    way: str
    sample: str
    data: bytes


def truncated(data: bytes, dice: random.Random) -> bytes:
    """Cut off anywhere."""
    return data[: dice.randrange(len(data))]


def flipped(data: bytes, dice: random.Random) -> bytes:
    """A few bits changed."""
    spoiled = bytearray(data)
    for _ in range(dice.choice((1, 1, 3, 50))):
        spoiled[dice.randrange(len(spoiled))] ^= 1 << dice.randrange(8)
    return bytes(spoiled)


def zeroed(data: bytes, dice: random.Random) -> bytes:
    """A stretch of NULs, as after a crash."""
    start = dice.randrange(len(data))
    length = dice.choice((1, 8, 512, 4096))
    return data[:start] + b"\0" * length + data[start + (length if dice.random() < 0.5 else 0) :]


def deep(data: bytes, dice: random.Random) -> bytes:
    """A line, or a value, that is nested deeper than any reader can follow."""
    depth = dice.choice((900, 5_000, 200_000))
    shell = dice.choice(((b'{"a":', b"1", b"}"), (b"[", b"", b"]")))
    nest = shell[0] * depth + shell[1] + shell[2] * depth
    if dice.random() < 0.5:
        lines = data.split(b"\n")
        lines.insert(dice.randrange(len(lines) + 1), nest)
        return b"\n".join(lines)
    strings = list(re.finditer(rb'"[^"\\]*"(?=[,}])', data))
    place = dice.choice(strings)
    return data[: place.start()] + nest + data[place.end() :]


def huge(data: bytes, dice: random.Random) -> bytes:
    """One string of megabytes."""
    strings = list(re.finditer(rb'"[^"\\]*"(?=[,}])', data))
    place = dice.choice(strings)
    return (
        data[: place.start()]
        + b'"'
        + dice.choice((b"x", b" ", b"<!--", b"\\n", b"../")) * 1_000_000
        + b'"'
        + data[place.end() :]
    )


def shuffled(data: bytes, dice: random.Random) -> bytes:
    """Lines in another order, twice, or left out."""
    lines = data.split(b"\n")
    return (
        b"\n".join(dice.choice(lines) for _ in lines)
        if dice.random() < 0.5
        else b"\n".join(dice.sample(lines, len(lines)))
    )


def mixed(data: bytes, dice: random.Random) -> bytes:
    """Lines of another program's file in between."""
    lines, others = data.split(b"\n"), samples()[dice.choice(sorted(samples()))].split(b"\n")
    for _ in range(3):
        lines.insert(dice.randrange(len(lines) + 1), dice.choice(others))
    return b"\n".join(lines)


def encoded(data: bytes, dice: random.Random) -> bytes:
    """Another encoding, other line ends, or something before the first line."""
    text = data.decode()
    ways = (
        text.encode("utf-16"),
        b"\xef\xbb\xbf" + data,
        data.replace(b"\n", b"\r\n"),
        b"\xff" + data,
        data.replace(b"\n", b"\r"),
    )
    return dice.choice(ways)


def mistyped(data: bytes, dice: random.Random) -> bytes:
    """A value of the wrong type at any field."""
    return _changed(data, dice, lambda holder, key: dice.choice(STRANGE), 1)


def escaping(data: bytes, dice: random.Random) -> bytes:
    """Paths that lead out, control characters and tags wherever something has a name."""
    evil = dice.choice(ESCAPING)
    return _changed(data, dice, lambda holder, key: evil, dice.choice((1, 3, 1000)), named=True)


def twinned(data: bytes, dice: random.Random) -> bytes:
    """Ids that are no longer unique, and parents that lead in a circle."""
    ids = re.findall(rb'"(?:id|uuid|parentUuid|parentId|call_id|tool_use_id)": ?"([^"]+)"', data)
    for _ in range(3 if ids else 0):
        data = data.replace(dice.choice(ids), dice.choice(ids))
    return data


WAYS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    way.__name__: way
    for way in (truncated, flipped, zeroed, deep, huge, shuffled, mixed, encoded, mistyped, escaping, twinned)
}


def _changed(
    data: bytes, dice: random.Random, value: Callable[[Any, Any], Any], times: int, *, named: bool = False
) -> bytes:
    text = data.decode()
    try:
        rows, whole = [json.loads(text)], True
    except ValueError:
        rows, whole = [json.loads(line) for line in text.split("\n") if line], False
    places = [(holder, key) for holder, key in _places(rows) if not named or NAMES.search(str(key))]
    for holder, key in dice.sample(places, min(times, len(places))):
        if isinstance(holder, dict) and dice.random() < 0.1:
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = value(holder, key)
    return "\n".join(map(json.dumps, rows)).encode() if not whole else json.dumps(rows[0], indent=1).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Any = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


@cache
def samples() -> dict[str, bytes]:
    """A session file of each program and kind; one of our own is made by the program."""
    found = {path.name: path.read_bytes() for path in sorted(SAMPLES.iterdir()) if path.suffix in (".json", ".jsonl")}
    with tempfile.TemporaryDirectory() as base:
        program = Program(Path(base))
        script = program.base / "script.json"
        script.write_text(json.dumps(OWN))
        ran = program.run("-p", "Work", "-m", f"script:{script}", "--mode", "yolo", "-o", "json")
        session = json.loads(ran.out)["session_id"]
        for name, more in (("own.json", ("--keep-secrets",)), ("own-redacted.json", ())):
            program.run("sessions", "export", session, "--format", "json", "-o", name, *more)
            found[name] = (program.work / name).read_bytes()
    return found


def attacks(count: int, seed: int = 0) -> Iterator[Attack]:
    """So many, every way on every sample in turn."""
    pairs = [(way, sample) for way in WAYS for sample in samples()]
    random.Random(seed).shuffle(pairs)
    for number in range(count):
        way, sample = pairs[number % len(pairs)]
        yield Attack(f"{way} {seed}:{number}", sample, WAYS[way](samples()[sample], random.Random(f"{seed}:{number}")))


def found(program: Program, attack: Attack) -> list[str]:
    """The fault in how the program treated the file; empty where it held."""
    file = program.work / "session"
    file.write_bytes(attack.data.replace(b"BASE", str(program.base).encode()))
    before = _outside(program)
    ran = program.run("sessions", "import", "session")
    wrong = list(_faults(ran))
    wrong += [f"{path} appeared or changed outside of the store" for path in sorted(_outside(program) ^ before)]
    sessions = list(program.sessions.glob("*/*")) if program.sessions.exists() else []
    if ran.code == 0:
        wrong += _usable(program, ran.out.strip())
    elif any(session.name != "lock" for session in sessions):
        wrong.append(
            f"refused, and yet in the store: {[str(session.relative_to(program.sessions)) for session in sessions]}"
        )
    return wrong


def _faults(ran: Ran) -> Iterator[str]:
    lines = ran.err.splitlines()
    if ran.code not in (0, INPUT):
        yield f"ended with {ran.code}: {ran.err[-300:]}"
    if "Traceback" in ran.err:
        yield f"a traceback: {ran.err[-600:]}"
    if ran.code == 0 and any(not line.startswith("note: ") for line in lines):
        yield f"more than notes: {ran.err[:300]}"
    if ran.code == INPUT and (len(lines) != 1 or ran.out):
        yield f"more than one sentence: {ran.err[:300]}"
    if any(harmful(line) for line in [*lines, *ran.out.splitlines()]):
        yield f"control characters were shown: {ran.err[:300]!r}"
    if any(len(line) > 2000 for line in lines):
        yield f"a line of {max(map(len, lines))} characters was shown"


def _usable(program: Program, session: str) -> Iterator[str]:
    commands = (
        ("check", session),
        ("show", session),
        ("list",),
        ("export", session, "--format", "html", "-o", "page.html"),
    )
    for command in commands:
        ran = program.run("sessions", *command)
        if ran.code != 0 or "Traceback" in ran.err:
            yield f"imported, and then `sessions {command[0]}` ended with {ran.code}: {(ran.err or ran.out)[-400:]}"
    page = program.work / "page.html"
    if page.exists() and b"<script>alert(1)" in page.read_bytes():
        yield "the exported page has a script in it"
    page.unlink(missing_ok=True)
    if any(session.name.startswith(".incoming") for session in program.sessions.glob("*/*")):
        yield "a draft was left in the store"


def _outside(program: Program) -> frozenset[tuple[str, int]]:
    """Every file that is not in the store, with its size; logs and what the runner itself writes apart."""
    store, own = program.sessions, {program.base / "stdout", program.base / "stderr"}
    seen = []
    for path in (path for top in (program.base, program.base.parent) for path in _walk(top, program)):
        if (
            path not in own
            and store not in path.parents
            and program.base / "state" not in path.parents
            and path.is_file()
        ):
            seen.append((str(path), path.stat().st_size))
    return frozenset(seen)


def _walk(top: Path, program: Program) -> Iterator[Path]:
    return (
        top.rglob("*") if top == program.base else (path for path in top.iterdir() if path.name.startswith("escaped"))
    )


def main(count: int) -> int:
    """Run the attacks and say what was found; the number of those that did harm."""
    harm, imported = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number, attack in enumerate(attacks(count)):
            base = Path(folder) / str(number)
            base.mkdir()
            wrong = found(Program(base), attack)
            imported += any((base / "data").rglob("session.json"))
            harm += bool(wrong)
            for what in wrong:
                print(f"{attack.way} {attack.sample}: {what}", flush=True)
    print(f"{harm} of {count} files did harm; {imported} were imported")
    return harm


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)))
