from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.terminal.input.fuzzy import SLICE, Listing

PATHS = st.lists(st.text(alphabet="abcX/_.", min_size=1, max_size=12), max_size=30, unique=True)
QUERIES = st.lists(st.text(alphabet="abcx/", min_size=1, max_size=4), min_size=1, max_size=6)


def holds(path: str, query: str) -> bool:
    letters = iter(path.lower())
    return all(char in letters for char in query)


@given(PATHS, QUERIES)
def test_exactly_the_paths_with_these_letters_in_this_order_are_found_whatever_was_asked_before(
    paths: list[str], queries: list[str]
) -> None:
    listing = Listing(paths)
    for query in queries:
        assert set(listing.find(query, 100, seconds=60).paths) == {path for path in paths if holds(path, query)}


def test_a_name_that_begins_so_comes_before_one_that_merely_holds_the_letters() -> None:
    paths = ["docs/a_view_of_it.md", "deep/in/view.py", "v_i_e_w.py", "v/i/e/w.py"]
    assert Listing(paths).find("view", 10).paths == (
        "deep/in/view.py",
        "docs/a_view_of_it.md",
        "v_i_e_w.py",
        "v/i/e/w.py",
    )


def test_a_name_that_begins_so_is_found_however_many_hold_it() -> None:
    paths = [f"a_b{n}" for n in range(1_000)] + ["b_first"]
    assert Listing(paths).find("b", 10).paths[0] == "b_first"


def test_without_time_a_key_finds_little_and_the_next_ones_find_the_rest() -> None:
    paths = [f"m{n}" for n in range(3 * SLICE)] + ["deep/in/view.py"]
    listing = Listing(paths)
    first = listing.find("dvpy", 10, seconds=0)
    assert (first.paths, first.whole) == ((), False)
    asked = 1
    while not (found := listing.find("dvpy", 10, seconds=0)).whole:
        asked += 1
    assert found.paths == ("deep/in/view.py",)
    assert asked > 1


def test_letters_that_no_path_has_are_looked_for_nowhere() -> None:
    assert Listing(["abc"]).find("abz", 10, seconds=0).whole


def test_a_capital_letter_that_grows_when_lowered_moves_no_other() -> None:
    assert Listing(["İx/view.py"]).find("vpy", 10).paths == ("İx/view.py",)
