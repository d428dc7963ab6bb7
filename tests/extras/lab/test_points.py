"""Price of each policy as bars, with the share in view as a number: as characters, and as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from agentcli.extras.lab.compare import Report
from agentcli.extras.lab.points import CAPTION, Point, numbers, points, svg_bars, text_bars
from tests.extras.lab.test_compare import played
from tests.extras.lab.test_plot import shapes


def test_the_price_is_drawn_as_a_bar_for_each_policy() -> None:
    names = {"auto": 1.0, "auto@0": 2.0, "op<en": 4.0}
    drawn = points(
        Report(tuple(names), {"one": {name: played(name, cost) for name, cost in names.items()}}, {"one": 0.5})
    )
    assert drawn[-1] == Point("oracle", 0.5, 1.0)
    assert text_bars(drawn)[0].endswith(" $1.25 · 50.0% kept")
    drawing = svg_bars(drawn, "a < b")
    assert "@media(prefers-color-scheme:dark)" in drawing
    assert 'fill="#' not in drawing
    root = ElementTree.fromstring(drawing)
    assert {"a < b", "auto", "auto@0", "op<en"} <= {element.text for element in root.iter()}


POINTS = (Point("auto", 1, 0.5), Point("auto@0", 2, 0.9), Point("opencode", 4, 0.46))


def test_the_price_of_each_policy_is_a_bar_with_its_figures() -> None:
    assert text_bars(POINTS, width=48) == [
        "auto      #### $1.00 · 50.0% kept",
        "auto@0    ######### $2.00 · 90.0% kept",
        "opencode  ################## $4.00 · 46.0% kept",
        "",
        *CAPTION,
    ]
    assert text_bars(POINTS, width=5)[2].count("#") == 10
    assert text_bars([]) == ["Nothing to draw."]
    assert numbers(POINTS) == {"auto": 0, "auto@0": 0, "opencode": 1}


def test_each_policy_has_one_colour_and_the_oracle_is_grey() -> None:
    drawn = shapes(svg_bars((*POINTS, Point("oracle", 1, 1.0)), "Price"))
    bars = [line for line in drawn if line.startswith("<rect") and "page" not in line]
    assert bars == [
        '<rect x="120" y="40" width="107.5" height="18" class="n0"/>',
        '<rect x="120" y="68" width="215.0" height="18" class="n0"/>',
        '<rect x="120" y="96" width="430.0" height="18" class="n1"/>',
        '<rect x="120" y="124" width="107.5" height="18" class="bar"/>',
    ]
    assert '<text x="558.0" y="110" class="ink">$4.00 · 46.0% kept</text>' in drawn
