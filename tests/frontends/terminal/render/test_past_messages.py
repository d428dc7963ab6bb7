"""Messages of a session that are in force, including those compacted out of the window."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.record import Compaction
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
