"""/diff and /review on a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.open_session import open_session
from tests.integrations.test_git_changes import repository as repository
from tests.ui.contexts import ScriptedContext
from tests.ui.test_slash import completions, type_


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
    assert context.asked[:3] == ["Review which changes?", "What is not committed", "This branch since main"]
    context.answers = [2]
    assert type_(context, "/review")[0].endswith("Second.")
    assert type_(context, "/review") == [], "left without a choice"


def test_words_that_are_no_revision_are_wishes(context: Sending) -> None:
    assert type_(context, "/review look at errors") == ["to the model: Review the working tree. look at errors"]
    assert "no branch or commit mian" in type_(context, "/review mian")[0]


def test_without_changes_there_is_nothing_to_review(tmp_path: Path) -> None:
    assert "not a git repository" in type_(Sending(session=open_session(tmp_path, [])), "/review")[0]
