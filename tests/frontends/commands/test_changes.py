"""/diff and /review on a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.message import Message, Text
from agentcli.frontends.run.findings import CHANGES
from tests.agent.open_session import open_session
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import completions, type_
from tests.system.test_git_changes import repository as repository


class Sending(ScriptedContext):
    """A context that keeps what is sent along with prompts."""

    along = ""

    def send(self, text: str, *along: object) -> None:
        super().send(text)
        self.along = "".join(getattr(part, "text", "") for part in along)


@pytest.fixture
def context(repository: Path) -> Sending:
    return Sending(session=open_session(repository, []))


def test_diff_shows_the_working_tree_a_branch_or_a_commit(context: Sending) -> None:
    assert "edited" in "\n".join(type_(context, "/diff git"))
    text = "\n".join(type_(context, "/diff main"))
    assert "Changes in this branch since main:" in text
    assert "committed on the branch" in text
    assert "no branch or commit nonsense" in "\n".join(type_(context, "/diff nonsense"))
    assert completions("diff", context)[:2] == ["git", "main"]


def test_a_review_sends_the_changes_and_asks_for_a_list_of_places(context: Sending) -> None:
    assert type_(context, "/review main only the tests") == [
        "to the model: Review this branch since main. only the tests"
    ]
    assert "+committed on the branch" in context.along
    assert "path/to/file.py:42" in context.along
    assert "Change nothing" in context.along


def test_a_review_without_an_argument_lets_one_choose(context: Sending) -> None:
    context.answers = [0]
    assert type_(context, "/review") == ["to the model: Review the working tree."]
    assert context.asked[:3] == ["Review which changes?", "Uncommitted changes", "This branch since main"]
    context.answers = [2]
    assert type_(context, "/review")[0].endswith("Second.")
    assert type_(context, "/review") == [], "left without a choice"


def test_words_that_are_no_revision_are_wishes(context: Sending) -> None:
    assert type_(context, "/review look at errors") == ["to the model: Review the working tree. look at errors"]
    assert "no branch or commit mian" in type_(context, "/review mian")[0]


def test_without_changes_there_is_nothing_to_review(tmp_path: Path) -> None:
    assert "not a git repository" in type_(Sending(session=open_session(tmp_path, [])), "/review")[0]


def reviewed(context: Sending, answer: str) -> None:
    journal = context.session.journal
    journal.append(Message("user", (Text(f"How\n\n{CHANGES}\n+x", True, "reminder"), Text("Review it."))))
    journal.append(Message("assistant", (Text(answer),)))


def test_findings_are_chosen_from_a_list_or_opened_by_number(context: Sending) -> None:
    assert type_(context, "/review findings") == ["No findings. /review looks for some."]
    file = next(context.session.cwd.glob("*.txt"))
    reviewed(context, f"1. **[high] {file.name}:2** Wrong.\n2. [low] gone.py:3 Also wrong.")
    assert type_(context, "/review findings 1") == [f"opened {file.name}:2"]
    assert type_(context, "/review findings 2") == ["No file gone.py."]
    assert type_(context, "/review findings 3") == ["No finding 3: the review has 2."]
    context.answers, context.asked = [0], []
    assert type_(context, "/review findings") == [f"opened {file.name}:2"]
    assert context.asked == ["Open which of 2 findings: 1 high, 1 low?", f"{file.name}:2", "gone.py:3"]


def test_the_findings_of_the_newest_review_are_meant(context: Sending) -> None:
    reviewed(context, "- old.py:1 first")
    reviewed(context, "- new.py:2 second")
    context.session.journal.append(Message("user", (Text("And other.py:3?"),)))
    context.session.journal.append(Message("assistant", (Text("- other.py:3 is fine"),)))
    assert type_(context, "/review findings 1") == ["No file new.py."]
