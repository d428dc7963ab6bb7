from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from agentcli.sessions.exporting.rendering import closed_part, diff_rows, rendered
from tests.tables import each_row

BLOCKS = [
    "# Title",
    "Some *words*, and `code`.",
    "- [x] one\n- two\n\n  more of two",
    "1. one\n2. two",
    "```python\ndef f():\n\n    return 1\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "> quoted\n> text",
    "---",
]
DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def f():\n-    return '<1>'\n+    return 2\n@@ -9 +9 @@\n-x\n+y\n"


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6), st.integers(1, 40))
def test_a_reply_drawn_as_it_grows_is_at_last_drawn_like_the_whole_one(blocks: list[str], step: int) -> None:
    text = "\n\n".join(blocks)
    drawn, open_part, lines = "", "", 0
    for end in [*range(step, len(text), step), len(text)]:
        closed, open_part, more = closed_part("\n".join(text[:end].split("\n")[lines:]))
        drawn, lines = drawn + closed, lines + more
    assert drawn + open_part == rendered(text)


@each_row(
    ("markdown", "html"),
    [
        ("[x](javascript:alert(1))", "<span>x</span> (javascript:alert(1))"),
        ("[bank.example](https://evil.example)", '<a href="https://evil.example">bank.example</a> (https://evil.example)'),
        ("[docs](https://x.org/a)", '<a href="https://x.org/a">docs</a>'),
        ("https://x.org/a.", '<a href="https://x.org/a">https://x.org/a</a>.'),
        ("![plan](https://x.org/a.png)", '<a href="https://x.org/a.png">image: plan</a>'),
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"),
    ],
)  # fmt: skip
def test_only_web_addresses_are_followed_and_no_link_hides_where_it_leads(markdown: str, html: str) -> None:
    assert rendered(markdown) == f"<p>{html}</p>\n"


def test_a_task_has_a_box() -> None:
    assert '<li class="task"><span class="box">✔</span> one' in rendered("- [x] one")


def test_a_diff_has_numbers_signs_and_the_colours_of_its_language() -> None:
    html = diff_rows(DIFF)
    assert '<div class="name">app.py</div>' in html
    assert '<div class="removed"><span class="number">2</span><b>-</b><code>    <span class="k">return</span>' in html
    assert '<div class="added"><span class="number">2</span><b>+</b>' in html
    assert "&lt;1&gt;" in html
    assert '<div class="gap">⋮</div>' in html
    assert '<div class="added"><span class="number">9</span>' in html


def test_a_diff_of_an_unknown_file_is_plain() -> None:
    assert '<span class="k">' not in diff_rows(DIFF.replace("app.py", "app.nothing"))
