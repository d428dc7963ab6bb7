from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from agentcli.frontends.terminal.input.attachments import mentioned
from agentcli.frontends.terminal.input.completion import SHOWN, CommandCompletion, Completion, Files
from agentcli.program.commands import Item
from tests.tables import each_row

COMMANDS = [
    CommandCompletion("compress", "Shorten"),
    CommandCompletion("context", "Show"),
    CommandCompletion("mode", "Switch", lambda: [Item("ask"), Item("plan")]),
]


def completion(folder: Path) -> Completion:
    files = Files(folder)
    files.refresh()
    ends = time.monotonic() + 10
    while not files.find("").whole and time.monotonic() < ends:
        time.sleep(0.01)
    return Completion(COMMANDS, files)


def labels(complete: Completion, before: str) -> list[str]:
    return [item.label for item in complete(before).items]


def settled(complete: Completion, before: str) -> list[str]:
    """The labels once the folder has been read to its end."""
    ends = time.monotonic() + 20
    while complete(before).more and time.monotonic() < ends:
        time.sleep(0.01)
    return labels(complete, before)


def test_commands_their_arguments_and_files_are_completed(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    complete = completion(tmp_path)
    assert labels(complete, "/co") == ["/compress", "/context"]
    assert labels(complete, "/mode p") == ["plan"]
    assert labels(complete, "look at @ma") == ["@src/main.py"]
    assert labels(complete, "look at @sr")[0] == "@src/"
    assert labels(complete, "mail me@ma") == []
    assert labels(complete, "and /co") == []


def test_what_is_complete_has_no_menu(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    complete = completion(tmp_path)
    assert labels(complete, "/mode") == []
    assert labels(complete, "see @a.py") == []


def test_files_that_git_ignores_are_not_offered(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "noise.log").touch()
    (tmp_path / "new.py").touch()
    complete = completion(tmp_path)
    assert labels(complete, "@n")[0] == "@new.py"
    assert "@noise.log" not in labels(complete, "@n")


def test_folders_are_offered_once_and_what_lies_higher_up_comes_first(tmp_path: Path) -> None:
    for name in ("a/b/one.py", "a/b/two.py", "top.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert labels(completion(tmp_path), "@") == ["@top.py", "@a/", "@a/b/", "@a/b/one.py", "@a/b/two.py"]


def test_a_menu_of_files_says_when_more_may_come(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert Completion(COMMANDS, Files(tmp_path))("@a").more
    assert not completion(tmp_path)("@a").more


@pytest.mark.parametrize(("count", "cut"), [(SHOWN, False), (SHOWN + 1, True), (4 * SHOWN, True)])
def test_a_menu_says_when_it_holds_the_first_matches_only(tmp_path: Path, count: int, cut: bool) -> None:
    for n in range(count):
        (tmp_path / f"file{n}").touch()
    menu = completion(tmp_path)("see @fil")
    assert (len(menu.items), menu.cut) == (SHOWN, cut)


def test_in_a_folder_that_was_chosen_what_is_in_it_can_be_chosen_and_enter_sends(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").touch()
    menu = completion(tmp_path)("@lib/")
    assert [item.label for item in menu.items] == ["@lib/a.py"]
    assert not menu.first


def test_an_argument_is_found_by_any_part_of_it_and_a_file_after_a_command_too(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    complete = completion(tmp_path)
    assert labels(complete, "/mode lan") == ["plan"]
    assert labels(complete, "/press") == ["/compress"]
    assert labels(complete, "/compress as in @ma") == ["@main.py"]


def test_a_key_does_not_wait_for_arguments_that_take_long_to_find(tmp_path: Path) -> None:
    go = threading.Event()
    asked = []

    def slow() -> list[Item]:
        asked.append(1)
        assert go.wait(20)
        return [Item("late")]

    complete = Completion([CommandCompletion("resume", "Go on", slow)], Files(tmp_path))
    assert complete("/resume l").more
    assert complete("/resume la").more
    go.set()
    ends = time.monotonic() + 20
    while (menu := complete("/resume la")).more and time.monotonic() < ends:
        time.sleep(0.01)
    assert [item.label for item in menu.items] == ["late"]
    assert len(asked) == 1


def test_files_outside_of_the_project_are_completed_folder_by_folder(tmp_path: Path) -> None:
    for name in ("work/in.py", "other/out.py", "other/out of/x", "other/.hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    complete = completion(tmp_path / "work")

    assert settled(complete, "see @../o") == ["@../other/"]
    assert settled(complete, "see @../other/") == ['@"../other/out of/"', "@../other/out.py"]
    assert settled(complete, "see @../other/.") == ["@../other/.hidden"]
    assert settled(complete, f"see @{tmp_path}/other/OUT.") == [f"@{tmp_path}/other/out.py"]
    for odd in ("/no/such/folder/x", "~no-such-user/x", "/a\0b/x", "/" + "x" * 5_000 + "/y"):
        assert settled(complete, f"see @{odd}") == []


@each_row(
    "name",
    ['a"b c.txt', '"a', 'a"', "two words", "it's", "a\\b", "a\\ b", 'a\\"b', "a b\\", "a#b", "a:10", "a b:1-2", "a.", "a b.", "a(1)", "~a", "@a"],
)  # fmt: skip
def test_what_is_completed_is_attached_whatever_its_name(tmp_path: Path, name: str) -> None:
    for folder in (tmp_path, tmp_path / "sub dir"):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").touch()
    complete = completion(tmp_path)
    offered = [*labels(complete, "@"), *settled(completion(tmp_path / "other"), f"@{tmp_path}/")]
    attached = [path for label in offered for path in mentioned(f"see {label} now", tmp_path)]
    assert len(attached) == len(offered)
    assert attached.count(tmp_path / name) == 2, "as a file of the project, and as one outside"
    assert attached.count(tmp_path / "sub dir" / name) == 1


def test_agents_are_completed_where_a_prompt_begins(tmp_path: Path) -> None:
    (tmp_path / "review.md").touch()
    complete = completion(tmp_path)
    complete.agents = lambda: [Item("@reviewer", "reviews"), Item("@tester")]
    assert labels(complete, "@rev") == ["@reviewer", "@review.md"]
    assert labels(complete, "@reviewer") == []
    assert labels(complete, "see @rev") == labels(complete, "@review.") == ["@review.md"]
    assert labels(complete, "@") == ["@review.md"]


def test_an_agent_or_a_file_that_is_named_whole_is_sent_though_others_begin_so(tmp_path: Path) -> None:
    for name in ("review.md", "doc"):
        (tmp_path / name).touch()
    complete = completion(tmp_path)
    complete.agents = lambda: [Item("@rev"), Item("@reviewer"), Item("@docs")]
    for before, others in (("@rev", ["@reviewer", "@review.md"]), ("@doc", ["@docs"])):
        assert (labels(complete, before), complete(before).first) == (others, False)
    assert complete("@re").first


def test_resources_of_a_server_are_completed_after_its_name(tmp_path: Path) -> None:
    (tmp_path / "docs.md").touch()
    complete = completion(tmp_path)
    listed = [Item("@docs:note://1", "milk"), Item("@docs:note://2"), Item("@other:x")]
    complete.resources = lambda: listed
    assert labels(complete, "see @do") == ["@docs:", "@docs.md"]
    assert labels(complete, "see @docs:") == ["@docs:note://1", "@docs:note://2"]
    assert labels(complete, "see @docs:te://2") == ["@docs:note://2"]
    assert labels(complete, "see @docs:note://1") == []
    assert labels(complete, "see @oth") == ["@other:"]
