"""Messages of a session that are in force, including those compacted out of the window."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.record import Checkpoint, Compaction
from agentcli.frontends.terminal.render import past_messages
from tests.frontends.terminal.slash import completions, type_
from tests.stories.frontends.test_slash import seqs, talked


def test_a_compaction_hides_no_prompt_from_rewind_and_no_answer_from_copy(tmp_path: Path) -> None:
    context = talked(tmp_path, "the first", "the second")
    session, last = context.session, context.session.history.last_seq
    session.journal.append(Compaction("manual", "compressed", "auto", (1, last), last + 1, "a summary"))
    assert not session.history.entries
    file = context.program.dirs.cache / "copied.txt"
    assert type_(context, "/copy") == [f"Copied 8 characters, also in {file}."]
    assert context.copied == "answer 2"
    assert [record.body.text[:10] for record in past_messages.newest(session.journal, 3)] == [
        "answer 1",
        "the second",
        "answer 2",
    ]
    first, second = seqs(context)
    assert completions("rewind", context) == [str(second), str(first)]
    context.answers.append(0)
    type_(context, f"/rewind {first}")
    assert context.drafted.startswith("the first")
    assert f"before #{first}. /redo undoes this" in context.output[-1]
    assert past_messages.prompts(session.journal) == []
    assert list(past_messages.newest_answers(session.journal)) == []


def test_the_end_of_a_session_is_read_without_its_beginning(tmp_path: Path) -> None:
    context = talked(tmp_path, *(f"prompt {n}" for n in range(5)))
    assert [record.body.text for record in past_messages.newest(context.session.journal, 2)] == ["prompt 4", "answer 5"]
    assert past_messages.newest(context.session.journal, 0) == []


def test_a_prompt_lists_what_its_commands_changed_without_caches_that_git_ignores(tmp_path: Path) -> None:
    context = talked(tmp_path, "the first", "the second")
    journal = context.session.journal
    for folder in ("pkg", "cache"):
        (tmp_path / folder).mkdir()
    (tmp_path / "cache/.gitignore").write_text("*\n")
    made = [str(tmp_path / name) for name in ("pkg", "pkg/made.txt", "cache/last")]
    journal.append(Checkpoint({"cause": "command", "before": dict.fromkeys(made)}))
    journal.append(Checkpoint({"cause": "edits", "before": {str(tmp_path / "other.txt"): None}}))
    assert [dict(point.changes) for point in past_messages.rewind_points(journal)] == [{}, {made[1]: (0, 0)}]
    context.answers.append(0)
    type_(context, "/rewind")
    assert context.listed[0].detail.endswith(" · made.txt")
