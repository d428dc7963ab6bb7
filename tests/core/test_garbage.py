import gc

import pytest

from agentcli.core.garbage import nothing_collected


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_collected_meanwhile_and_afterwards_all_is_as_before(enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with nothing_collected():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.unfreeze()
        (gc.enable if was_enabled else gc.disable)()
