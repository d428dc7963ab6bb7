"""A recorded session of a real model, run through the tools; skipped where it is not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.recorded import session_file
from tests.bench.replay import Figures, figures

SESSION = session_file()
pytestmark = pytest.mark.skipif(SESSION is None, reason="the recorded session is not here")


def promised(found: Figures) -> bool:
    """True if as much holds as is promised of edits and of the tokens of reads."""
    report = found.report()
    return (
        report["share made"] >= 0.99
        and not found.unlike
        and found.failures_refused == found.failures
        and not found.reads_unlike
        and report["tokens saved"] >= 0.10
    )


def test_the_first_edits_of_a_real_session_are_made_to_the_byte() -> None:
    found = figures(SESSION or Path(), 120)
    assert found.known > 30
    assert promised(found), found.report()


@pytest.mark.slow
def test_all_edits_of_a_real_session_are_made_to_the_byte() -> None:
    found = figures(SESSION or Path())
    assert found.known >= 120
    assert found.reads >= 104
    assert promised(found), found.report()
