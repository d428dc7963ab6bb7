"""A comparison is told as tables and plots, on the terminal and as files that need nothing else."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from agentcli.core.errors import ConfigError
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.extras.lab.commands import nothing_happened
from agentcli.extras.lab.compare import COLUMNS, TENTHS, Report, compare
from agentcli.extras.lab.demand import Needs
from agentcli.extras.lab.page import html, svg_tenths
from agentcli.extras.lab.plot import svg, text_plot
from agentcli.extras.lab.points import points
from agentcli.extras.lab.replay import Played, Setup
from agentcli.tools.registry import TRAITS
from tests.extras.lab.traces import Shape, trace


def played(policy: str, cost: float, *sizes: int) -> Played:
    return Played(policy, sizes, Usage(1, 2, 0, 3_000_000, 4), cost, 0.0, 5, 6, 0, 0, Needs((10,), (5,)), cost / 4)


def report() -> Report:
    return Report(
        ("auto", "opencode"),
        {
            "one <b>": {"auto": played("auto", 1.0, 10, 20), "opencode": played("opencode", 2.0, 10, 40)},
            "two": {"auto": played("auto", 3.0, 5), "opencode": played("opencode", 2.5, 5)},
        },
    )


def test_the_table_says_all_that_was_measured():
    (_, rows), _, (title, totals) = report().tables()
    row = dict(zip(COLUMNS, rows[0], strict=True))
    assert row == {
        "policy": "auto", "requests": "2", "peak": "20", "compactions": "5", "prunes": "6", "fresh": "1", "written": "4",
        "read": "3,000k", "output": "2", "cost": "$1.00", "kept": "50.0%", "lost": "5", "code4": "100.0%", "after20": "100.0%",
        "cost incl. re-reads": "$1.25", "overflows": "0",
    }  # fmt: skip
    assert title == "all 2 sessions"
    assert "$4.00" in totals[0]


def test_json_holds_the_same_figures():
    raw = report().to_json()
    assert raw["total"]["auto"]["cost"] == 4.0
    assert raw["sessions"]["two"]["auto"]["sizes"] == [5]
    assert (raw["total"]["opencode"]["needed"], raw["total"]["opencode"]["in_view"]) == (20, 0.5)
    assert raw["sessions"]["two"]["auto"]["cost_with_recalls"] == 3.75
    assert len(raw["sessions"]["one <b>"]["auto"]["in_view_by_tenth"]) == 10


def test_a_model_without_a_price_is_said_to_have_none():
    free = replace(played("auto", 0.0, 10), priced=False)
    made = Report(("auto", "opencode"), {"one": {"auto": free, "opencode": played("opencode", 1.0, 10)}})
    (_, rows) = next(made.tables())
    told = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    assert [(row["cost"], row["cost incl. re-reads"]) for row in told] == [("unknown", "unknown"), ("$1.00", "$1.25")]
    assert made.to_json()["total"]["auto"]["cost"] is None
    assert [point.name for point in points(made)] == ["opencode"]


def test_the_tenths_of_a_session_are_a_row_for_each_policy_and_a_line():
    needs = Needs((2,) * 10, (0, 0, 0, 0, 1, 2, 0, 0, 0, 0))
    made = Report(("auto",), {"one": {"auto": replace(played("auto", 1.0, 10), needs=needs)}})
    [row] = made.tenths("one")
    assert len(row) == len(TENTHS)
    assert row[5:8] == ("50%", "0%", "100%")
    root = ElementTree.fromstring(svg_tenths({"auto": needs.tenths(), "op<en": (1.0,) * 10}))
    lines = [element.get("points", "").split() for element in root.iter() if element.tag.endswith("polyline")]
    heights = [float(place.partition(",")[2]) for place in lines[0]]
    assert [len(line) for line in lines] == [10, 10]
    assert heights[5] > heights[4] > heights[0]
    assert "op<en" in {element.text for element in root.iter()}


def test_the_plot_shows_each_policy_at_its_height():
    lines = text_plot({"auto": [10, 20, 30], "opencode": [10, 50_000, 100_000]}, width=40, height=5)
    assert lines[0].strip().startswith("100k |")
    assert lines[0].rstrip().endswith("o")
    assert "a" in lines[4]
    assert "a auto  o opencode" in lines[-1]
    assert all(len(line) <= 80 for line in lines)


def test_policies_with_the_same_letter_get_different_marks():
    assert "a auto  b abel" in text_plot({"auto": [1], "abel": [2]})[-1]


@pytest.mark.parametrize("series", [{}, {"auto": []}, {"auto": [0, 0]}])
def test_nothing_to_plot_is_said(series: dict[str, list[int]]):
    assert text_plot(series) == ["Nothing to plot."]


def test_the_image_is_an_image_with_a_line_for_each_policy_and_the_marks():
    root = ElementTree.fromstring(svg({"auto": [1, 2], "op<en": [3]}, "a < b", {"soft": 2, "hard": 4}))
    names = [element.tag.rsplit("}", 1)[-1] for element in root.iter()]
    assert names.count("polyline") == 2
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"a < b", "op<en", "soft", "hard", "0", "requests (1 to 2)"} <= set(texts)


def test_the_names_of_lines_that_end_together_stand_apart_and_the_window_is_a_band():
    root = ElementTree.fromstring(svg({"a": [1, 9_000], "b": [2, 9_000]}, "", {"window": 10_000}))
    named = [element for element in root.iter() if element.get("class") in ("n0", "n1")]
    heights = [float(element.get("y", "")) for element in named]
    assert abs(heights[0] - heights[1]) >= 12
    assert any(element.get("class") == "band" for element in root.iter())
    ticks = [element.text for element in root.iter() if element.get("text-anchor") == "end"]
    assert ticks == ["0", "2k", "4k", "6k", "8k", "10k"]


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [value for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_from_elsewhere_and_escapes_names():
    page = html(report(), {"soft": 10, "hard": 20})
    tags = Tags(page).seen
    assert tags.count("svg") == 5
    assert tags.count("table") == 5
    assert tags.count("td") == len(COLUMNS) * 6 + len(TENTHS) * 4
    assert "prefers-color-scheme:dark" in page
    assert "overflow-x:auto" in page
    assert "b" not in tags
    assert "script" not in tags
    assert "one &lt;b&gt;" in page


def test_a_comparison_plays_every_session_under_every_policy():
    small = Shape(turns=(1, 2), steps=(1, 2), files=(2, 2), lines=(5, 9))
    sessions = {f"trace {seed}": trace(seed, small).records for seed in (1, 2)}
    made = compare(
        sessions, ["auto", "sliding"], Setup(ModelSpec("anthropic", "m", prices=Prices(1, 5, 0.1, 1.25)), TRAITS)
    )
    assert list(made.played) == ["trace 1", "trace 2"]
    assert made.totals()["auto"].requests == made.totals()["sliding"].requests > 0


def test_a_policy_is_played_with_another_horizon() -> None:
    records = trace(1, Shape(turns=(2, 2), steps=(2, 2))).records
    setup = Setup(ModelSpec("anthropic", "m"), TRAITS)
    made = compare({"one": records}, ["auto", "auto@0"], setup)
    assert [each.policy for each in made.played["one"].values()] == ["auto", "auto@0"]
    with pytest.raises(ConfigError, match="auto@20"):
        compare({"one": records}, ["auto@soon"], setup)


def test_where_no_policy_acts_one_line_says_so() -> None:
    setup = Setup(ModelSpec("anthropic", "m", window=200_000), TRAITS)
    short = compare(
        {"one": trace(1, Shape(turns=(2, 2), steps=(2, 2), files=(1, 1), lines=(5, 9))).records},
        ["auto", "gemini"],
        setup,
    )
    peak = short.totals()["auto"].peak
    assert nothing_happened(short, {"one": setup}) == f"No policy would have acted ({peak / 1_000:.0f}k of 200k)."
    long = Report(("auto",), {"one": {"auto": replace(played("auto", 1.0), prunes=1)}})
    assert nothing_happened(long, {"one": setup}) == ""


def test_each_session_is_priced_as_its_own_model() -> None:
    sessions = dict.fromkeys(("cheap", "dear"), trace(1, Shape(turns=(2, 2), steps=(2, 2))).records)
    cheap, dear = (ModelSpec("anthropic", "m", prices=Prices(n, 5 * n, n / 10, 1.25 * n)) for n in (1, 10))
    made = compare(sessions, ["auto"], {"cheap": Setup(cheap, TRAITS), "dear": Setup(dear, TRAITS)})
    assert made.played["dear"]["auto"].cost == pytest.approx(10 * made.played["cheap"]["auto"].cost)
