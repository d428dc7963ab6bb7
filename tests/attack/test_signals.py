"""Whenever a signal comes, the program ends in good order and leaves nothing running."""

import random
import signal
import sys
from pathlib import Path

import pytest

from tests.attack.signals import Way, attack, main, ways
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
SAMPLE: tuple[Way, ...] = (
    ("headless", "daemon", signal.SIGTERM),
    ("headless", "stubborn", signal.SIGINT),
    ("headless", "stream", signal.SIGHUP),
    ("full", "stubborn", signal.SIGHUP),
)


@pytest.mark.parametrize(
    "way", sampled([(way,) for way in SAMPLE], 2), ids=lambda way: f"{way[0]}-{way[1]}-{way[2].name}"
)
def test_a_signal_at_a_random_moment_ends_the_program_in_good_order(tmp_path: Path, way: Way) -> None:
    assert way in ways()
    assert attack(tmp_path, way, random.Random(str(way))).wrong == ""


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_hundreds_of_signals_end_the_program_in_good_order() -> None:
    assert main(300) == 0
