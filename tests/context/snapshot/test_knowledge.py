"""Knowledge of two snapshots becomes one."""

from __future__ import annotations

from agentcli.context.snapshot.knowledge import merged_knowledge
from tests.tables import each_row


@each_row(
    ("former", "new", "left"),
    [
        ((), ("One.",), ("One.",)),
        (("One.",), (), ("One.",)),
        (("One.",), ("Two.",), ("One.", "Two.")),
        (("One two.",), ("One two!",), ("One two.",)),
        (("One two.",), ("Two, one.",), ("One two.",)),
        (("One two three.",), ("One two.",), ("One two three.",)),
        (("One two",), ("One two three.",), ("One two three.",)),
        (("One two.", "Other."), ("So: One two. And three.",), ("Other.", "So: One two. And three.")),
        (("One two. [#3]",), ("One two. Three. [#9]",), ("One two. Three. [#9]",)),
        (("One two. [#3]",), ("One two. [#9]",), ("One two. [#3]",)),
        # Four of five words in common are nearly the same, if names and numbers are.
        (("alpha beta gamma delta",), ("alpha beta gamma delta epsilon",), ("alpha beta gamma delta",)),
        (("alpha beta gamma delta kappa",), ("alpha beta gamma delta iota",), ("alpha beta gamma delta kappa", "alpha beta gamma delta iota")),
        (("the port of it is 80",), ("the port of it is 90",), ("the port of it is 80", "the port of it is 90")),
        (("alpha beta gamma delta is 80",), ("alpha beta gamma delta was is 80",), ("alpha beta gamma delta is 80",)),
        (("alpha beta gamma delta is 80",), ("alpha beta gamma delta is at 80 or 90",), ("alpha beta gamma delta is 80", "alpha beta gamma delta is at 80 or 90")),
    ],
)  # fmt: skip
def test_what_says_nothing_new_is_left_out_and_what_says_more_replaces(
    former: tuple[str, ...], new: tuple[str, ...], left: tuple[str, ...]
) -> None:
    assert merged_knowledge(former, new, ()) == left


ITEM = "The cache of the server is on disk."


@each_row(
    ("gone", "stays"),
    [
        ((), True),
        (("",), True),
        (("...",), True),
        (("The cache of the server is on disk",), False),
        (("THE CACHE (of the server) is on disk",), False),
        (("The cache of the ser",), False),
        (("The cache of the se",), True),
        (("cache of the server is on disk",), True),
        (("The cache of the server is on disk, no longer in memory",), False),
        (("Other", "The cache of the server is on disk. [#4]"), False),
    ],
)
def test_an_obsolete_line_is_meant_if_its_beginning_is_repeated(gone: tuple[str, ...], stays: bool) -> None:
    assert merged_knowledge((ITEM, "Other thing."), (), gone) == ((ITEM,) if stays else ()) + ("Other thing.",)


def test_an_item_is_compared_with_the_forty_that_share_most_words_with_it() -> None:
    former = [f"common {n} {'x' * (n + 1)}" for n in range(50)]
    assert merged_knowledge(former, ("common 0 x",), ()) == tuple(former)
    newest = merged_knowledge(former, ("common",), ())
    assert newest == tuple(former), "a word that one of the newest forty has"
    gone = merged_knowledge(["common", *former[:40]], ("common",), ())
    assert gone == ("common", *former[:40])
