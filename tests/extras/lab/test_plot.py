"""The drawings of a comparison, to the last character: every letter, line and label stands where its figure belongs."""

from __future__ import annotations

from agentcli.extras.lab.plot import svg, text_plot
from agentcli.extras.lab.points import Point, svg_points, text_points

POINTS = (Point("auto", 1, 0.5), Point("auto@0", 2, 0.9), Point("opencode", 4, 0.46))


def shapes(image: str) -> list[str]:
    """The lines of an image between its style and its end."""
    return [line for line in image.splitlines() if not line.startswith(("<svg", "<style", "</svg"))]


def test_letters_stand_right_for_a_high_price_and_high_for_much_in_view() -> None:
    assert text_points(POINTS, width=29, height=7) == [
        "   100% |",
        "        |          B",
        "        |",
        "        |",
        "        |     A",
        "        |                   C",
        "    30% |",
        "        +--------------------",
        "         needed names in view over price with recalls: $0 to $4.00",
        "         A auto         $1.00  50.0% in view",
        "         B auto@0       $2.00  90.0% in view",
        "         C opencode     $4.00  46.0% in view",
    ]


def test_letters_are_drawn_however_narrow_the_terminal_is() -> None:
    assert max(map(len, text_points(POINTS, width=5)[:12])) <= 18 + 1
    assert text_points(POINTS)[12] == "        +" + "-" * 67


def test_points_of_one_policy_are_joined_from_cheap_to_dear_and_each_has_its_name() -> None:
    assert shapes(svg_points(tuple(reversed(POINTS)), "Price")) == [
        '<rect class="page" width="720" height="400"/>',
        '<text x="72" y="22" class="ink">Price</text>',
        '<path d="M72 40V352H600" class="axis"/>',
        '<text x="66" y="45" text-anchor="end" class="faint">100%</text>',
        '<text x="66" y="352" text-anchor="end" class="faint">30%</text>',
        '<text x="72" y="370" text-anchor="middle" class="faint">$0</text>',
        '<text x="600" y="370" text-anchor="middle" class="faint">$4.00</text>',
        '<text x="72" y="392" class="faint">price of the session with a recall for each miss · upwards: needed names in view</text>',
        '<polyline points="600.0,280.7" class="c0" fill="none" stroke-opacity="0.4"/>',
        '<polyline points="204.0,262.9 336.0,84.6" class="c1" fill="none" stroke-opacity="0.4"/>',
        '<circle cx="600.0" cy="280.7" r="5" class="n0"/>',
        '<text x="608.0" y="284.7" class="n0">opencode</text>',
        '<circle cx="336.0" cy="84.6" r="5" class="n1"/>',
        '<text x="344.0" y="88.6" class="n1">auto@0</text>',
        '<circle cx="204.0" cy="262.9" r="5" class="n1"/>',
        '<text x="212.0" y="266.9" class="n1">auto</text>',
    ]


def test_points_at_one_place_share_a_label() -> None:
    same = (Point("a", 1, 0.5), Point("b", 1, 0.5), Point("c", 4, 0.9))
    labels = [line.partition(">")[2] for line in shapes(svg_points(same)) if 'class="n' in line and "<text" in line]
    assert labels == ["a, b</text>", "c</text>"]


def test_letters_of_a_plot_stand_at_the_request_and_the_size() -> None:
    assert text_plot({"auto": [10, 20, 30], "opencode": [10, 50_000, 100_000]}, width=29, height=5) == [
        "   100k |              oooooo",
        "        |",
        "        |       ooooooo",
        "        |",
        "      0 |oooooooaaaaaaaaaaaaa",
        "        +--------------------",
        "         tokens of each of 3 requests    a auto  o opencode",
    ]


def test_sizes_below_a_thousand_are_written_out_and_a_short_line_ends_early() -> None:
    assert text_plot({"auto": [500, 999], "abel": [999]}, width=19, height=3) == [
        "    999 |bbbbbaaaaa",
        "        |aaaaa",
        "      0 |",
        "        +----------",
        "         tokens of each of 2 requests    a auto  b abel",
    ]


def test_lines_ticks_levels_and_the_band_of_the_window_stand_at_their_sizes() -> None:
    series = {"auto": [1_000, 2_000, 10_000], "opencode": [5_000]}
    assert shapes(svg(series, "Size", {"soft": 7_000, "window": 12_000})) == [
        '<rect class="page" width="960" height="320"/>',
        '<rect class="band" x="64" y="28" width="800" height="9.7"/>',
        '<text class="ink" x="64" y="18">Size</text>',
        '<path class="grid" d="M64 280.0H864"/><text class="faint" x="58" y="284.0" text-anchor="end">0</text>',
        '<path class="grid" d="M64 199.2H864"/><text class="faint" x="58" y="203.2" text-anchor="end">4k</text>',
        '<path class="grid" d="M64 118.5H864"/><text class="faint" x="58" y="122.5" text-anchor="end">8k</text>',
        '<path class="grid" d="M64 37.7H864"/><text class="faint" x="58" y="41.7" text-anchor="end">12k</text>',
        '<path class="axis" d="M64 28V280H864"/>',
        '<text class="faint" x="464.0" y="310" text-anchor="middle">requests (1 to 3)</text>',
        '<path class="level" d="M64 138.7H864"/><text class="faint" x="70" y="134.7">soft</text>',
        '<polyline class="c0" points="64.0,259.8 464.0,239.6 864.0,78.1" fill="none" stroke-width="1.5"/>',
        '<polyline class="c1" points="64.0,179.0" fill="none" stroke-width="1.5"/>',
        '<text class="n0" x="870.0" y="82.1">auto</text>',
        '<text class="n1" x="70.0" y="183.0">opencode</text>',
    ]


def test_a_window_far_above_the_lines_is_left_out_and_names_stand_apart() -> None:
    drawn = shapes(svg({"auto": [10_000, 20_000], "sliding": [10_000, 20_500]}, "", {"window": 60_000}))
    assert not [line for line in drawn if "band" in line]
    assert drawn[-4:] == [
        '<polyline class="c0" points="64.0,161.8 864.0,43.6" fill="none" stroke-width="1.5"/>',
        '<polyline class="c1" points="64.0,161.8 864.0,37.7" fill="none" stroke-width="1.5"/>',
        '<text class="n1" x="870.0" y="41.7">sliding</text>',
        '<text class="n0" x="870.0" y="55.7">auto</text>',
    ]


def test_a_threshold_above_all_lines_is_inside_the_image() -> None:
    drawn = shapes(svg({"auto": [1_000]}, "", {"hard": 9_000}))
    [level] = [line for line in drawn if 'class="level"' in line]
    assert level.startswith('<path class="level" d="M64 37.7H864"/>')


def test_ticks_are_round_and_at_most_seven() -> None:
    def ticks(most: int) -> list[str]:
        return [
            line.rpartition(">")[0].rpartition(">")[2].partition("<")[0]
            for line in shapes(svg({"a": [most]}))
            if "grid" in line
        ]

    assert ticks(50) == ["0", "10", "20", "30", "40", "50"]
    assert ticks(96) == ["0", "20", "40", "60", "80", "100"]
    assert ticks(240_000) == ["0", "100k", "200k"]
    assert ticks(600_000) == ["0", "200k", "400k", "600k"]
    assert ticks(0) == ["0", "1"]
