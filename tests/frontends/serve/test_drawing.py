from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentcli.frontends.serve.drawing import TAGS, drawn_diff, drawn_reply

EVIL = "<script>alert(1)</script> [x](javascript:alert(1)) ![x](data:text/html,x) <img src=x onerror=alert(1)>"


def elements(trees: list[Any]) -> Iterator[tuple[str, dict[str, str]]]:
    for tree in trees:
        if not isinstance(tree, str):
            yield tree[0], tree[1]
            yield from elements(tree[2:])


def test_a_reply_that_arrives_is_drawn_with_its_finished_blocks_apart() -> None:
    drawn = drawn_reply("# One\n\ntwo\n\n```py\nx = ")
    assert [tag for tag, _ in elements(drawn["closed"])] == ["h1", "p"]
    assert drawn["lines"] == 4
    assert next(elements(drawn["open"]))[0] == "pre"


def test_nothing_that_a_reply_or_a_diff_contains_becomes_another_element_or_a_script() -> None:
    diff = f"--- a/x\n+++ b/{EVIL}\n@@ -1 +1 @@\n-{EVIL}\n+{EVIL}\n"
    for drawn in (drawn_reply(EVIL)["open"], drawn_diff(diff, EVIL)["open"]):
        found = list(elements(drawn))
        assert {tag for tag, _ in found} <= TAGS - {"img"}
        assert {name for _, attributes in found for name in attributes} <= {"class", "href"}
        assert all(attributes["href"].startswith("http") for _, attributes in found if "href" in attributes)


def test_a_numbered_list_keeps_its_first_number() -> None:
    assert next(elements(drawn_reply("3. three")["open"])) == ("ol", {"start": "3"})


def test_the_cells_of_a_table_stand_where_its_author_put_them() -> None:
    found = elements(drawn_reply("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |\n")["open"])
    assert [given.get("class") for tag, given in found if tag in ("th", "td")] == [None, "right", "center"] * 2
