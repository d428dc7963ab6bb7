from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.terminal.render.markdown_blocks import FENCE_LINES, TABLE_ROWS, TEXT_LINES, Block, Blocks
from tests.frontends.terminal.preview import long_reply

LINES = st.sampled_from(
    ["# Title", "words", "more words", "", "- item", "  - nested", "1. one", "2. two", "```py", "```", "~~~", "code()", "| a | b |",
     "|---|---|", "> quote", "---", "===", "   indented", "* * *", "    ```", "漢字"]
)  # fmt: skip


def blocks(*pieces: str) -> list[Block]:
    state, found = Blocks(), []
    for piece in pieces:
        state, done = state.feed(piece)
        found += done
    return [*found, *state.end()]


def sources(text: str) -> list[str]:
    return [block.source for block in blocks(text)]


@given(st.lists(LINES, max_size=25).map("\n".join), st.lists(st.integers(1, 9), min_size=1))
def test_how_a_reply_was_cut_does_not_change_its_blocks(text: str, sizes: list[int]) -> None:
    pieces, place, n = [], 0, 0
    while place < len(text):
        pieces.append(text[place : place + sizes[n % len(sizes)]])
        place, n = place + sizes[n % len(sizes)], n + 1
    assert blocks(*pieces) == blocks(text)


@given(st.lists(LINES, max_size=25))
def test_no_line_with_words_is_lost_or_said_twice(lines: list[str]) -> None:
    marked = [f"{line} w{n}w" if line.strip() and line[0].isalpha() else line for n, line in enumerate(lines)]
    said = "\n".join(sources("\n".join(marked)))
    for n, line in enumerate(lines):
        if line.strip() and line[0].isalpha():
            assert said.count(f"w{n}w") == 1


def test_a_paragraph_ends_at_a_blank_line_and_a_heading_at_its_own() -> None:
    assert sources("# A\none\ntwo\n\nthree") == ["# A", "one\ntwo", "three"]


def test_each_item_of_a_list_is_its_own_block_and_keeps_what_is_nested() -> None:
    assert blocks("Do:\n- a\n  - b\n- c\n\nend") == [
        Block("Do:", True), Block("- a\n  - b", False), Block("- c", False), Block("end", True)
    ]  # fmt: skip


def test_nothing_counts_inside_a_fence() -> None:
    assert sources("```\n# no\n\n- no\n```\nafter") == ["```\n# no\n\n- no\n```", "after"]


def test_a_fence_inside_an_item_belongs_to_the_item() -> None:
    text = "- a\n  ```\n  x\n\n- y\n  ```\n- b"
    assert sources(text) == ["- a\n  ```\n  x\n\n- y\n  ```", "- b"]


def test_a_long_fence_is_printed_in_pieces_of_the_same_language() -> None:
    code = [f"x{n} = {n}" for n in range(FENCE_LINES * 2 + 3)]
    found = blocks("\n".join(["```py", *code, "```"]))
    assert [block.gap for block in found] == [True, False, False]
    assert all(block.source.startswith("```py\n") for block in found)
    assert [line for block in found for line in block.source.split("\n") if line.startswith("x")] == code


def test_a_fence_that_ends_at_a_cut_leaves_no_empty_block() -> None:
    code = [f"x{n}" for n in range(FENCE_LINES)]
    assert len(blocks("\n".join(["```", *code, "```"]))) == 1


def test_a_table_is_its_own_block_and_a_long_one_is_printed_in_pieces_under_the_same_head() -> None:
    head, rows = "| a | b |\n|---|---|", [f"| {n} | x |" for n in range(TABLE_ROWS * 2)]
    found = blocks("\n".join(["Look:", head, *rows, "", "after"]))
    assert [block.source for block in found] == [
        "Look:", "\n".join([head, *rows[:TABLE_ROWS]]), "\n".join([head, *rows[TABLE_ROWS:]]), "after"
    ]  # fmt: skip
    assert [block.gap for block in found] == [True, True, False, True]
    assert found[2].before == head + "\n| 10 | b |"


def test_a_long_paragraph_is_printed_in_pieces_without_gaps() -> None:
    lines = [f"line {n}" for n in range(TEXT_LINES * 2 + 1)]
    found = blocks("\n".join(lines))
    assert [block.gap for block in found] == [True, False, False]
    assert "\n".join(block.source for block in found) == "\n".join(lines)


def test_the_pieces_of_a_block_are_together_what_was_said() -> None:
    code = ["```py", *(f"x{n} = {n}" for n in range(FENCE_LINES * 2 + 3)), "```"]
    table = ["| a |", "|---|", *(f"| {n} |" for n in range(TABLE_ROWS + 3))]
    text = "\n".join([*code, "", *table])
    assert (
        "\n".join(line for block in blocks(text) for line in ([""] if block.gap else []) + [block.own]) == "\n" + text
    )


def test_an_underlined_line_is_one_heading() -> None:
    assert sources("Title\n---\ntext") == ["Title\n---", "text"]


def test_the_tail_is_what_is_not_finished() -> None:
    state, done = Blocks().feed("one\n\ntwo\nthr")
    assert [block.source for block in done] == ["one"]
    assert state.tail == Block("two\nthr", True)


def test_the_tail_of_a_long_reply_stays_small() -> None:
    state, longest = Blocks(), 0
    for line in long_reply(400).splitlines(keepends=True):
        state, _ = state.feed(line)
        longest = max(longest, len(state.lines))
    assert longest <= FENCE_LINES + 1


def test_the_item_of_a_loose_list_that_is_arriving_stands_apart_from_the_one_before() -> None:
    tails = [Blocks().feed(f"1. one\n{blank}2. tw")[0].tail for blank in ("", "\n")]
    assert [tail.source for tail in tails if tail] == ["1. one\n2. tw", "1. one\n\n2. tw"]
