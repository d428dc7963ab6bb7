"""The drawings of a comparison, to the last character: every letter, line and label stands where its figure belongs."""

from __future__ import annotations

from agentcli.extras.lab.plot import svg, text_plot


def shapes(image: str) -> list[str]:
    """The lines of an image between its style and its end."""
    return [line for line in image.splitlines() if not line.startswith(("<svg", "<style", "</svg"))]


def test_letters_of_a_plot_stand_at_the_request_and_the_size() -> None:
    assert text_plot({"auto": [10, 20, 30], "opencode": [10, 50_000, 100_000]}, width=29, height=5) == [
        "   100k |              oooooo",
        "        |",
        "        |       ooooooo",
        "        |",
        "      0 |oooooooaaaaaaaaaaaaa",
        "        +--------------------",
        "         tokens of each of 3 requests",
        "         a auto  o opencode",
    ]


def test_sizes_below_a_thousand_are_written_out_and_a_short_line_ends_early() -> None:
    assert text_plot({"auto": [500, 999], "abel": [999]}, width=19, height=3) == [
        "    999 |bbbbbaaaaa",
        "        |aaaaa",
        "      0 |",
        "        +----------",
        "         tokens of each of 2 requests",
        "         a auto  b abel",
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
