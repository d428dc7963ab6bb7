"""Plan of a batch: its options, stored beside its tasks, and the next step of each task. Pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.extras.batch.plan import Start
from tests.extras.batch.test_agent_process import attempted, said, work_in
from tests.tables import each_row


@each_row(
    ("check", "why"), [("yes", "printed more than 1,000,000,000 bytes"), ("sleep 600", "was stopped after 0.5 s")]
)
def test_a_check_ends_within_its_time_and_size(tmp_path: Path, check: str, why: str) -> None:
    work = work_in(tmp_path)
    task = replace(work.task, check=check, max_time=0.5 if "sleep" in check else None)
    work = replace(work, start=Start(task), plan=replace(work.plan, boxed=False))
    row = attempted(work, said(0))
    assert (row.state, row.check, row.commit) == ("failed", 124, "")
    assert why in row.why
    kept = (work.folder / "check.txt").read_bytes()
    assert len(kept) <= 10_001_000
    assert why.encode() in kept
