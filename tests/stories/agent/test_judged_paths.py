"""A permission holds for the path that was judged, for the one call; where its links lead later does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import Person, open_session, results, say_to


@pytest.fixture
def ctx(tmp_path: Path) -> Path:
    """A workspace beside two files that do not belong to it."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text("[core]\n")
    (tmp_path / "notes.txt").write_text("notes\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    return folder


class Meddler(Person):
    """Says yes, and turns a link while being asked."""

    def __init__(self, link: Path, target: Path) -> None:
        super().__init__(ApprovalResponse("once"))
        self.link, self.target = link, target

    async def __call__(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        self.link.unlink()
        self.link.symlink_to(self.target)
        return await super().__call__(ask)


def test_what_is_allowed_once_is_read_once(ctx: Path) -> None:
    person = Person(ApprovalResponse("once"), ApprovalResponse("no"))
    reads = [say("", call("read", file_path="../notes.txt")) for _ in range(2)]
    session = open_session(ctx, [*reads, say("Done.")], person=person)
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["success", "denied"]
    assert len(person.asked) == 2


def test_what_is_allowed_for_the_session_is_not_asked_about_again(ctx: Path) -> None:
    person = Person(ApprovalResponse("session"))
    reads = [say("", call("read", file_path="../notes.txt")) for _ in range(2)]
    session = open_session(ctx, [*reads, say("Done.")], person=person)
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["success", "success"]
    assert len(person.asked) == 1


def test_a_link_that_is_turned_while_the_person_is_asked_leads_nowhere(ctx: Path, tmp_path: Path) -> None:
    (ctx / "link").symlink_to(tmp_path / "notes.txt")
    person = Meddler(ctx / "link", tmp_path / "secret.txt")
    session = open_session(ctx, [say("", call("read", file_path="link")), say("Done.")], person=person)
    say_to(session, "go")
    assert str(tmp_path / "notes.txt") in person.asked[0].why
    (result,) = results(session)
    assert result.status == "error"
    assert "secret\n" not in result.output


@pytest.mark.parametrize("target", ["../secret-folder", ".git"])
def test_a_command_of_the_same_reply_cannot_turn_the_link_of_a_later_edit(
    ctx: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "secret-folder").mkdir()
    (ctx / "real").mkdir()
    (ctx / "link").symlink_to("real")
    reply = say("", call("bash", command=f"ln -sfn {target} link"), call("write", file_path="link/new", content="x"))
    session = open_session(ctx, [reply, say("Done.")], mode="auto-edit", person=Person(ApprovalResponse("once")))
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["success", "error"]
    assert not (ctx / target / "new").exists()
    assert not (ctx / "real/new").exists()


def test_a_tilde_behind_a_dot_is_a_name_and_not_the_home_folder(
    ctx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    session = open_session(ctx, [say("", call("read", file_path="./~/secret.txt")), say("Done.")])
    say_to(session, "go")
    (result,) = results(session)
    assert result.status == "error"
    assert "secret\n" not in result.output


def test_an_edit_outside_is_shown_as_a_diff_and_made_when_it_is_allowed(ctx: Path, tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"), ApprovalResponse("once"))
    script = [
        say("", call("read", file_path="../notes.txt")),
        say("", call("edit", file_path="../notes.txt", old_string="notes", new_string="better notes")),
        say("Done."),
    ]
    session = open_session(ctx, script, person=person)
    say_to(session, "go")
    assert "+better notes" in person.asked[1].preview
    assert (tmp_path / "notes.txt").read_text() == "better notes\n"


@pytest.mark.parametrize("name", ["secret.txt", "missing.txt"])
def test_what_stands_outside_is_not_told_before_somebody_allows_it(ctx: Path, name: str) -> None:
    edit = call("edit", file_path=f"../{name}", old_string="a", new_string="b")
    session = open_session(ctx, [say("", edit), say("Done.")])
    say_to(session, "go")
    (result,) = results(session)
    assert result.status == "denied"
    assert "is outside the workspace. No one can approve it, so it is denied" in result.output


def test_a_search_reaches_the_folder_that_its_pattern_names_and_was_judged(ctx: Path, tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"), ApprovalResponse("no"))
    script = [
        say("", call("glob", pattern="../*.txt")),
        say("", call("glob", pattern=f"{tmp_path}/*.txt")),
        say("Done."),
    ]
    session = open_session(ctx, script, person=person)
    say_to(session, "go")
    first, second = results(session)
    assert "notes.txt" in first.output
    assert second.status == "denied"
    assert person.asked[0].always == f"glob({tmp_path})"
