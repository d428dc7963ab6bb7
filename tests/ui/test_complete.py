from __future__ import annotations

import subprocess
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentcli.ui.complete import Completion, Files, Listing, Words
from agentcli.ui.draw import Item

COMMANDS = [
    Words("compress", "Shorten"),
    Words("context", "Show"),
    Words("mode", "Switch", lambda: [Item("ask"), Item("plan")]),
]


def completion(folder: Path) -> Completion:
    files = Files(folder)
    files.refresh()
    ends = time.monotonic() + 10
    while not files.find("") and time.monotonic() < ends:
        time.sleep(0.01)
    return Completion(COMMANDS, files)


def labels(complete: Completion, before: str) -> list[str]:
    return [item.label for item in complete(before).items]


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


@given(
    st.lists(st.text(alphabet="abcX/_.", min_size=1, max_size=12), max_size=30, unique=True),
    st.text(alphabet="abcx/", min_size=1, max_size=4),
)
def test_exactly_the_paths_with_these_letters_in_this_order_are_found(paths: list[str], query: str) -> None:
    def holds(path: str) -> bool:
        letters = iter(path.lower())
        return all(char in letters for char in query)

    assert set(Listing(paths).find(query, 100)) == {path for path in paths if holds(path)}


def test_a_name_that_begins_so_comes_before_one_that_merely_holds_the_letters() -> None:
    found = Listing(["docs/a_view_of_it.md", "deep/in/view.py", "v_i_e_w.py"]).find("view", 10)
    assert found == ["deep/in/view.py", "docs/a_view_of_it.md", "v_i_e_w.py"]


def test_among_a_hundred_thousand_files_a_key_costs_little_more_than_reading_their_names() -> None:
    paths = [f"package_{n % 100}/module_{n % 1000}/file_{n}_of_many.py" for n in range(100_000)]
    listing = Listing(paths)
    began = time.perf_counter()
    for path in paths:
        "zz" in path  # noqa: B015 - what one look at each name costs here
    reading = time.perf_counter() - began
    slowest = 0.0
    for query in ("f", "file_9", "pkg9mod", "fl99999y", "zzz", "pmfpy"):
        began = time.perf_counter()
        listing.find(query, 50)
        slowest = max(slowest, time.perf_counter() - began)
    assert slowest < 40 * reading
