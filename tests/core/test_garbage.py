"""What is made to stay is not looked through for garbage, neither while it is made nor later."""

import gc

import pytest

from agentcli.core.garbage import WHOLE_SESSION, collect_after, nothing_collected, uncollected


@pytest.fixture(autouse=True)
def thawed():
    was_enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("without", [nothing_collected, uncollected])
@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_collected_meanwhile_and_afterwards_all_is_as_before(without, enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with without():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


@pytest.mark.parametrize(("without", "frozen"), [(nothing_collected, True), (uncollected, False)])
def test_only_what_stays_is_left_out_later(without, frozen: bool) -> None:
    collected = []
    gc.callbacks.append(lambda *told: collected.append(told))
    gc.enable()
    before = gc.get_freeze_count()
    try:
        with without():
            kept = [[number] for number in range(100_000)]
            assert not collected
    finally:
        gc.callbacks.pop()
    assert (gc.get_freeze_count() > before + len(kept) - 1) is frozen


def test_a_command_that_prints_a_whole_session_hardly_looks_for_garbage() -> None:
    before = gc.get_threshold()
    try:
        collect_after(WHOLE_SESSION)
        looked = gc.get_stats()[0]["collections"]
        kept = [[number] for number in range(200_000)]
        assert gc.get_stats()[0]["collections"] - looked <= 1, len(kept)
    finally:
        gc.set_threshold(*before)
