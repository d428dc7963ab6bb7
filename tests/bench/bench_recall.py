"""What is lost in a long session, and how long it takes to look for it.

`python -m tests.bench.bench_recall [TURNS] [FACTS] [RECORDS]`: planted facts under every policy with an honest, an empty and a
lying summariser, before (`recall` saw outputs of calls only) and after; then searches of a session of so many records on disk.

`python -m tests.bench.bench_recall PROBES.json FOLDER`: how many passages are found by other words. A probe names a `session`, a file of
FOLDER, and the beginning of a `text` in it, and has a `query` in other words and three `wordings` of it, separated by ` | `.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from agentcli.agent.calls.call import PrintedEvents
from agentcli.agent.tool_context import SessionToolContext, offer
from agentcli.context.settings import POLICIES
from agentcli.core.journal import SessionText
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body
from agentcli.core.text.passage import passages
from agentcli.core.tool import ToolLimits
from agentcli.extras.importers.sessions import read
from agentcli.permissions.paths import Workspace
from agentcli.sessions.imported import Imported
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.tools.lib.literals import literals
from agentcli.tools.registry import run, tools
from tests.bench.planted import SUMMARISERS, led
from tests.sessions.imported import store_imported

PATTERNS = (
    "timeout_77_0",
    "(?i)COMPONENT-4242\\b",
    "strategy-1311|strategy-9999",
    r"port \d+ of 999\b",
    "nowhere at all",
)


def losses(turns: int = 300, facts: int = 100) -> None:
    """Print what becomes of the facts, policy by policy."""
    print(f"{turns} turns, {facts} facts     compactions  in view  recalled  lost  (before: recalled  lost)")
    for policy in POLICIES:
        for summariser in SUMMARISERS:
            found = led(policy, summariser, turns, facts)
            print(
                f"{policy:9} {summariser:9} {found.compactions:14} {found.in_view:10} {found.recalled:9} {found.lost:5} "
                f"{found.before:17} {found.lost_before:5}",
                flush=True,
            )


def big_session(root: Path, records: int) -> Session:
    """A session of so many records of the usual size."""
    bodies = tuple(("2026-01-01T00:00:00Z", body(n)) for n in range(records))
    imported = Imported("agentcli", "Long", str(root), "demo/demo", "2026-01-01T00:00:00Z", bodies)
    info = store_imported(root / "sessions", imported, root)
    return Store(root / "sessions").open(info.project_id, info.id)


def body(n: int) -> Body:
    """The record of this number: prompts, calls and outputs of some 2,000 characters in turn."""
    match n % 4:
        case 0:
            return Message("user", (Text(f"Go on with component-{n}, on port {n} of {n % 1_000}."),), n // 4 + 1)
        case 1:
            given = {"file_path": f"src/m{n}.py", "content": f"timeout_{n}_{n % 7} = {n}\n" * 20}
            return Message("assistant", (Text(f"strategy-{n} it is."), ToolCall(f"c{n}", "write", given)), n // 4 + 1)
        case 2:
            return ToolResult(f"c{n - 1}", "write", "success", f"{n}: some line of output, value {n * 7}\n" * 50)
        case _:
            return Message("assistant", (Text(f"Part {n} is done."),), n // 4 + 1)


def searches(session: Session) -> dict[str, tuple[float, int, int]]:
    """For each pattern the seconds of the processor until all hits are known, the records read, and the hits."""
    found = {}
    for pattern in PATTERNS:
        regex = re.compile(pattern)
        begun, read, hits = time.process_time(), 0, 0
        for entry in session.candidates(literals(regex)):
            read += 1
            hits += any(regex.search(passage.text) for passage in passages(entry, session.output))
        found[pattern] = (time.process_time() - begun, read, hits)
    return found


@dataclass(frozen=True)
class Probe:
    """A passage, by the file of its session and the beginning of its text, and searches for it in other words."""

    session: str
    text: str
    query: str
    wordings: str


def paraphrased(probes: Sequence[Probe], folder: Path) -> Counter[str]:
    """Return how many passages are on the first page: by the query, its wordings, either, and four of their own words."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as root:
        sessions = {name: _stored(folder / name, Path(root)) for name in dict.fromkeys(each.session for each in probes)}
        for probe in probes:
            session = sessions[probe.session]
            wanted = [record.seq for record in session.records() if probe.text in _said(record.body)]
            own = " ".join(sorted({*re.findall(r"\w{5,}", probe.text)}, key=lambda word: (-len(word), word))[:4])
            one, three, words = (
                any(f"\n[{seq} " in f"\n{page}" for seq in wanted)
                for page in (_page(session, text) for text in (probe.query, probe.wordings, own))
            )
            found.update({"query": one, "wordings": three, "either": one or three, "own words": words})
        for session in sessions.values():
            session.close()
    return found


def _stored(file: Path, root: Path) -> Session:
    bodies = tuple(read(file).bodies)
    info = store_imported(
        root, Imported("agentcli", file.name, str(root), "demo/demo", "2026-01-01T00:00:00Z", bodies), root
    )
    return Store(root).open(info.project_id, info.id)


def _said(body: Body) -> str:
    return "\n".join(part.text for part in body.parts if isinstance(part, Text)) if isinstance(body, Message) else ""


def _page(session: Session, pattern: str) -> str:
    ctx = SessionToolContext(Workspace(Path("/"), (), home=Path("/")), session, ToolLimits(), PrintedEvents())
    ctx.add([offer(SessionText, SessionText(session))])
    [recall] = tools({"recall"})
    return asyncio.run(run(recall, ctx, "x", {"pattern": pattern})).output


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1].endswith(".json"):
        probes = [Probe(**each) for each in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
        for how, count in paraphrased(probes, Path(sys.argv[2])).items():
            print(f"{how:10} {count:3} of {len(probes)}")
        return
    turns, facts, records = (int(each) for each in [*sys.argv[1:4], *("300", "100", "100000")[len(sys.argv) - 1 :]])
    losses(turns, facts)
    with tempfile.TemporaryDirectory() as folder:
        session = big_session(Path(folder), records)
        begun = time.process_time()
        steps = [begun, *(time.process_time() for _ in session.index())]
        longest = max((later - one for one, later in pairwise(steps)), default=0.0)
        took = f"{time.process_time() - begun:.1f} s in {len(steps) - 1} steps, the longest {longest * 1e3:.0f} ms"
        print(f"\n{records:,} records; index made anew in {took}")
        for pattern, (seconds, read, hits) in searches(session).items():
            print(f"{pattern:32} {seconds * 1e3:8.0f} ms {read:7} read {hits:5} hits")
        session.close()


if __name__ == "__main__":
    main()
