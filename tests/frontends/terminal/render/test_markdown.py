from __future__ import annotations

import gc
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.terminal.render.markdown import LONGEST, lines
from agentcli.frontends.terminal.render.markdown_blocks import TABLE_ROWS, Block, Blocks
from agentcli.frontends.terminal.style import DARK, LIGHT, MUTE, PLAIN, Look, Theme
from agentcli.system.cells import ESCAPE, width
from tests.tables import each_row

LINKED = Look(DARK, links=True)
WORDS = st.sampled_from(
    ["# ", "- ", "  - ", "1. ", "> ", "```py\n", "```\n", "| a | b |\n|---|---|\n", "| x |", "**b**", "_i_", "`c`", "~~s~~", "word", "日本語",
     "👩\u200d💻", "\n", "\n\n", "<b>", "</kbd>", "[t](http://x.org)", "https://x.org/a_(b).", "![p](q)", "&#x202e;", "<br>", "    ", "---", "[x] ", "a" * 50]
)  # fmt: skip
SOURCE = st.lists(WORDS, max_size=25).map("".join)


def shown(source: str, columns: int = 80, look: Look = Look(PLAIN)) -> list[str]:  # noqa: B008 - immutable
    return [ESCAPE.sub("", line) for line in lines(Block(source, gap=False), columns, look)]


def test_a_block_leaves_no_garbage_behind() -> None:
    source = "# A _b_\n\n- c **d** `e`\n  - [f](http://x.org)\n\n> g\n\n| a |\n|---|\n| 1 |\n"
    shown(source)
    gc.collect()
    gc.disable()
    try:
        shown(source)
        assert gc.collect() < 10
    finally:
        gc.enable()


@given(SOURCE, st.integers(10, 100), st.sampled_from([DARK, LIGHT, PLAIN, MUTE]), st.booleans())
def test_any_source_gives_lines_that_fit_and_end_what_they_begin(
    source: str, columns: int, theme: object, links: bool
) -> None:
    for line in lines(Block(source), columns, Look(theme, links=links)):  # type: ignore[arg-type]
        assert width(line) <= columns
        assert "\x1b" not in ESCAPE.sub("", line)
        assert "\n" not in line
        opened = re.findall(r"\x1b\]8;[^;]*;([^\x1b]*)", line)
        assert not opened or opened[-1] == ""
        last = line.rfind("\x1b")
        assert last < 0 or line.startswith("\x1b[0m", last)


@pytest.mark.full
@given(st.lists(st.sampled_from(["one", "<Foo>", "<i>", "</kbd>", "(x)", "日本", "&lt;"]), min_size=1, max_size=8))
def test_no_word_of_a_paragraph_is_left_out(words: list[str]) -> None:
    text = "".join(shown(" ".join(["a", *words]), 30)).replace(" ", "")
    assert text == "a" + "".join(words).replace("&lt;", "<")


def test_names_of_python_keep_their_underscores() -> None:
    assert shown("Rename it in __init__.py; __eq__ stays. __Note__ and __two words__ are **bold**.") == [
        "Rename it in __init__.py; __eq__ stays. Note and two words are bold."
    ]


def test_tags_are_shown_and_never_obeyed() -> None:
    assert shown("use <Foo> here </kbd>") == ["use <Foo> here </kbd>"]
    assert shown("<details>\nhidden\n</details>") == ["<details>", "hidden", "</details>"]


def test_an_entity_smuggles_no_control_character() -> None:
    assert shown("a&#x202e;b") == ["a\\u202eb"]


def test_lists_keep_their_numbers_and_show_tasks_as_boxes() -> None:
    assert shown("3. three") == ["3. three"]
    assert shown("- [ ] open\n- [x] done\n- a\n  - b\n    1. c") == ["☐ open", "✔ done", "• a", "  ◦ b", "    1. c"]


def test_a_wrapped_item_hangs_under_its_text() -> None:
    assert shown("- one two three four", 15) == ["• one two three", "  four"]


def test_the_lines_of_a_paragraph_stay_lines() -> None:
    assert shown("first\nsecond") == ["first", "second"]


def test_a_quote_has_its_bar_on_each_row() -> None:
    assert shown("> one two words\n> three", 16) == ["▌ one two words", "▌ three"]


def test_code_keeps_its_blanks_and_is_coloured_where_its_language_is_known() -> None:
    assert shown("```\na\n\n  b\n```") == ["  a", "", "    b"]
    coloured = "\n".join(lines(Block("```python\ndef f(): pass\n```"), 80, Look(DARK)))
    assert "\x1b[35mdef\x1b[0m" in coloured
    assert "\x1b" not in "\n".join(lines(Block("```nonsense\ndef f\n```"), 80, Look(DARK)))
    assert "\x1b[3" not in "\n".join(lines(Block("```python\nx = 'a'\n```"), 80, Look(PLAIN)))


def test_an_address_is_a_link_where_the_terminal_takes_it() -> None:
    (line,) = lines(Block("see [here](https://example.org/a) and https://example.com/b.", gap=False), 80, LINKED)
    assert re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\", line) == ["https://example.org/a", "https://example.com/b"]
    assert ESCAPE.sub("", line) == "see here and https://example.com/b."


def test_an_address_is_written_out_where_it_does_not() -> None:
    (line,) = lines(Block("see [here](https://example.org/a)", gap=False), 80, Look(DARK))
    assert "\x1b]8;" not in line
    assert ESCAPE.sub("", line) == "see here (https://example.org/a)"


@each_row(
    ("source", "text"),
    [
        ("[a](javascript:alert(1))", "a (javascript:alert(1))"),
        ("[a](data:text/html,x)", "a (data:text/html,x)"),
        ("[a](src/cart.py)", "a (src/cart.py)"),
        ("[https://good.example](https://bad.example/)", "https://good.example (https://bad.example/)"),
        ("![a cat](https://example.org/c.png)", "image: a cat"),
    ],
)
def test_where_a_link_leads_is_never_hidden(source: str, text: str) -> None:
    assert shown(source, 80, LINKED) == [text]


def test_a_link_that_was_wrapped_is_one_link() -> None:
    rows = lines(Block("https://example.org/" + "a" * 60, gap=False), 40, LINKED)
    ids = {re.findall(r"\x1b\]8;id=(\w+);(https[^\x1b]+)", row)[0] for row in rows}
    assert len(rows) == 2
    assert len(ids) == 1


def test_a_table_has_columns_as_wide_as_it_needs() -> None:
    assert shown("| Name | n |\n|:--|--:|\n| 日本 | 1 |\n| x | 22 |") == [
        "Name   n",
        "────  ──",
        "日本   1",
        "x     22",
    ]


def test_a_wide_table_wraps_its_cells_and_loses_no_word() -> None:
    source = "| A | B |\n|---|---|\n| " + "word " * 20 + "| " + "x" * 50 + " |\n| c | d |"
    rows = shown(source, 40)
    assert "".join(rows).count("word") == 20
    assert "".join(rows).count("x") == 50
    assert sum(row.startswith("┈") for row in rows) == 1


def test_a_table_without_room_is_listed_row_by_row() -> None:
    head = "| " + " | ".join("ABCDEFGH") + " |\n|" + "---|" * 8
    row = "| " + " | ".join(f"value number {n}" for n in range(8)) + " |"
    rows = shown(f"{head}\n{row}\n{row}", 40)
    assert "A: value number 0" in rows
    assert "H: value number 7" in rows
    assert rows.count("─" * 20) == 1


def test_the_pieces_of_a_long_table_share_their_columns_and_repeat_no_head() -> None:
    rows = [f"| {n} | {'y' * (n % 7)}z |" for n in range(TABLE_ROWS * 2 + 5)]
    state, done = Blocks().feed("\n".join(["| number | what |", "|--:|---|", *rows, "", ""]))
    assert not state.lines
    text = [line for block in done for line in shown_block(block)]
    assert len(done) == 3
    assert sum("number" in line for line in text) == 1
    assert [line.split()[0] for line in text if line and line.split()[0].isdigit()] == [
        str(n) for n in range(len(rows))
    ]
    assert len({line.index("z") - line.count("y") for line in text if "z" in line}) == 1


def shown_block(block: Block) -> list[str]:
    return [ESCAPE.sub("", line) for line in lines(block, 80, Look(PLAIN))]


def test_what_lies_very_deep_is_still_shown() -> None:
    assert "".join(shown(">" * 200 + " deep", 80)).endswith("deep")
    assert "".join(shown("- " * 200 + "deep", 80)).endswith("deep")


@pytest.mark.parametrize("columns", [12, 20, 40])
def test_what_lies_deep_keeps_room_for_its_words(columns: int) -> None:
    rows = shown("\n".join("  " * n + f"- level {n}" for n in range(12)), columns)
    assert all(width(row) <= columns for row in rows)
    assert all(f"level {n}" in "\n".join(rows) for n in range(12))


def test_what_is_too_long_to_be_parsed_is_shown_as_it_is_written() -> None:
    source = "[" * (LONGEST + 1)
    assert "".join(shown(source)) == source


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_the_last_line_of_a_diff_is_coloured_like_the_others(theme: Theme) -> None:
    *_, added = lines(Block("```diff\n-a\n+b\n```", gap=False), 80, Look(theme))
    assert added == f"  {theme.paint('good', '+b')}"


def test_code_keeps_every_line_and_gets_none() -> None:
    assert shown("```py\n\nx = 1\n\n\n```") == ["", "  x = 1", "", ""]
