"""Findings read from answers as models write them."""

from __future__ import annotations

from agentcli.frontends.run.findings import Finding, findings
from tests.tables import each_row


def test_the_list_that_was_asked_for() -> None:
    answer = """I read the change and ran the tests.

1. **[high] src/cart.py:42** The total ignores `count`. When it goes wrong: any item with count 2.
   Multiply by `item.count`:
   ```python
   total += item.price * item.count  # other.py:9
   ```

2. **[low] tests/test_cart.py:7-9** The name says nothing.

It can be merged once 1 is mended. I did not look at docs/index.md:3.
"""
    assert findings(answer) == (
        Finding(
            "high",
            "src/cart.py",
            42,
            "The total ignores `count`. When it goes wrong: any item with count 2. Multiply by `item.count`",
        ),
        Finding("low", "tests/test_cart.py", 7, "The name says nothing."),
    )


@each_row(
    ("answer", "expected"),
    [
        ("- `src/cart.py:42` (medium): wrong sum", ("medium", "src/cart.py", 42, "wrong sum")),
        ("- **High** – src/cart.py:42: wrong sum", ("high", "src/cart.py", 42, "wrong sum")),
        ("[critical] cart.py:42 wrong sum", ("high", "cart.py", 42, "wrong sum")),
        ("* [nit] Makefile:3 — a tab is missing", ("low", "Makefile", 3, "a tab is missing")),
        ("1. Wrong sum (src/cart.py:42)\n   Severity: high", ("high", "src/cart.py", 42, "Wrong sum")),
        ("1. **Wrong sum**\n   - File: `src/cart.py:42`\n", ("", "src/cart.py", 42, "Wrong sum")),
        ("## Low\n\n- src/cart.py:42 wrong sum", ("low", "src/cart.py", 42, "wrong sum")),
        ("### 1. [high] src/cart.py:42\n\nThe sum is wrong.\n", ("high", "src/cart.py", 42, "The sum is wrong.")),
        ("### Wrong sum (high)\n\n**File:** `src/cart.py:42`\n", ("high", "src/cart.py", 42, "Wrong sum")),
        ("The sum in `src/cart.py:42` is wrong.", ("", "src/cart.py", 42, "The sum in `src/cart.py:42` is wrong.")),
        (
            "On line 42 of src/cart.py the sum is wrong.",
            ("", "src/cart.py", 42, "On line 42 of src/cart.py the sum is wrong."),
        ),
        ("`src/cart.py` (line 42) adds up wrongly.", ("", "src/cart.py", 42, "adds up wrongly.")),
        ("- src/cart.py#L42 wrong sum", ("", "src/cart.py", 42, "wrong sum")),
    ],
)
def test_however_a_finding_is_written_its_place_and_severity_are_found(
    answer: str, expected: tuple[str, str, int, str]
) -> None:
    assert [(one.severity, one.path, one.line, one.text) for one in findings(answer)] == [expected]


def test_prose_with_several_places_gives_one_finding_for_each() -> None:
    answer = "The sum in cart.py:42 is wrong. So is the tax in tax.py:7, as cart.py:42 shows.\nNothing else."
    assert [(one.path, one.line) for one in findings(answer)] == [("cart.py", 42), ("tax.py", 7)]


@each_row(
    "answer",
    [
        "",
        "I found nothing to object to. I looked at the cart and ran 12 tests at 10:30.",
        "See https://example.org:8080/x and version 1.2:3.",
        "```\nsrc/cart.py:42 in a block\n```",
        "- The whole is fine\n- so is the rest",
    ],
)
def test_an_answer_without_places_has_no_findings(answer: str) -> None:
    assert findings(answer) == ()


def test_the_items_below_a_heading_have_its_severity_unless_they_name_their_own() -> None:
    answer = "## High severity\n\n1. a.py:1 first\n2. [low] b.py:2 second\n\n## Notes\n\n- c.py:3 third\n"
    assert [(one.severity, one.line) for one in findings(answer)] == [("high", 1), ("low", 2), ("", 3)]
