"""No text, however it is built, keeps the readers of free text busy for long."""

import pytest

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.command_results import is_test_run, outcome, read_tests
from agentcli.context.ledger.ledger import Ledger
from agentcli.context.ledger.shell_effects import effects
from agentcli.context.ledger.standing_rules import rule_sentences
from agentcli.context.snapshot.form import Snapshot, flaws, parse
from agentcli.context.snapshot.language import language
from agentcli.context.snapshot.reconcile import ledger_lines, merged
from agentcli.context.snapshot.verify import Evidence, verified, verified_text
from agentcli.core.text.secrets import redact
from tests.context.folding import folded
from tests.context.story import Story
from tests.sampling import sampled

PIECES = [
    "a",
    "a.",
    "a-",
    "a+",
    "a/",
    "a_",
    "aB",
    "0",
    "0f",
    "a@",
    "<a",
    "`",
    '"',
    "'a",
    "-a ",
    "1,000",
    "。",
    "漢",
    "a: ",
    "- ",
    "<<E\n",
    "<thinking>",
    "<state_snapshot>",
    "<!--",
    "a=",
    "[",
    "\\",
    "Never a. ",
]
pytestmark = pytest.mark.timeout(120)


@pytest.mark.full
@pytest.mark.parametrize("piece", sampled(PIECES, 3))
def test_a_monotonous_text_is_read_at_once(piece: str) -> None:
    text = piece * ((20_000 if piece == "。" else 60_000) // len(piece))  # each of them is a sentence of its own
    redact(text)
    language(text)
    rule_sentences(text)
    effects(text)
    is_test_run(text)
    read_tests(text)
    outcome(text, failed=True)
    parse(f"<state_snapshot><key_knowledge>{text}")
    flaws(text)
    evidence = Evidence([text])
    verified(Snapshot(goal=text, knowledge=(text[:2_000], text)), evidence)
    verified_text(text[:50_000], evidence)


@pytest.mark.parametrize("piece", sampled(PIECES, 2))
def test_a_monotonous_command_is_remembered_at_once(piece: str) -> None:
    story = Story()
    story.user("go")
    story.runs(piece * (30_000 // len(piece)), piece * 10_000, 1)
    ledger = folded(Ledger(), story.records)
    merged(Snapshot("g", knowledge=(piece * 500,), actions=(piece * 500,)), None, ledger, SnapshotSettings())
    assert sum(map(len, ledger_lines(ledger))) < 10_000


@pytest.mark.parametrize("tag", ["<thinking>", "<thinking></analysis>", "<THINKING><analysis>"])
def test_a_reply_of_many_open_scratchpads_is_read_at_once(tag: str) -> None:
    reply = tag * 200_000
    assert parse(f"{reply}<state_snapshot><overall_goal>go</overall_goal></state_snapshot>")
