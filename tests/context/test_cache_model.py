"""What the cache of a provider reads and writes, by its rules."""

from __future__ import annotations

from agentcli.context.cache_model import CacheRules, PrefixCache, rules_of
from agentcli.core.model import ModelSpec

RULES = CacheRules(minimum=100, lookback=3, lifetime=300)
FOUR = [("a", 60), ("b", 40), ("c", 50), ("d", 50)]


def test_what_was_written_once_is_read_as_long_as_it_lives() -> None:
    cache = PrefixCache()
    assert cache.use(FOUR, [3], RULES, 0) == (0, 200)
    assert cache.use(FOUR, [3], RULES, 300) == (200, 0)
    assert cache.use(FOUR, [3], RULES, 600) == (200, 0), "each use begins its life anew"
    assert cache.use(FOUR, [3], RULES, 901) == (0, 200)


def test_a_prefix_below_the_least_size_is_not_kept() -> None:
    cache = PrefixCache()
    assert cache.use(FOUR, [0], RULES, 0) == (0, 0)
    assert cache.use(FOUR, [0], RULES, 1) == (0, 0)
    assert cache.use(FOUR, [1], RULES, 2) == (0, 100), "exactly the least size"
    assert cache.use(FOUR, [1, 3], RULES, 3) == (100, 100)


def test_a_longer_request_reads_the_prefix_that_it_shares() -> None:
    cache = PrefixCache()
    cache.use(FOUR, [1], RULES, 0)
    assert cache.use([*FOUR[:2], ("x", 30)], [2], RULES, 1) == (100, 30)
    assert cache.use([("y", 60), *FOUR[1:]], [3], RULES, 2) == (0, 200), "another beginning shares nothing"


def test_an_entry_is_looked_for_only_some_blocks_before_a_breakpoint() -> None:
    for more, read in ((1, 100), (2, 100), (3, 0)):
        cache = PrefixCache()
        cache.use(FOUR[:2], [1], RULES, 0)
        blocks = [*FOUR[:2], *((f"n{n}", 10) for n in range(more))]
        assert cache.use(blocks, [len(blocks) - 1], RULES, 1)[0] == read


def test_models_share_no_cache() -> None:
    cache = PrefixCache()
    cache.use(FOUR, [3], RULES, 0, "one")
    assert cache.use(FOUR, [3], RULES, 1, "two") == (0, 200)
    assert cache.use(FOUR, [3], RULES, 1, "one") == (200, 0)


def test_a_cache_without_breakpoints_writes_every_prefix_at_no_price() -> None:
    cache, rules = PrefixCache(), CacheRules(minimum=100, explicit=False)
    assert cache.use(FOUR, [], rules, 0) == (0, 0)
    assert cache.use(FOUR[:3], [], rules, 1) == (150, 0)
    assert cache.use([*FOUR[:1], ("x", 90)], [], rules, 2) == (0, 0), "what is shared is too small"


def test_nothing_is_read_of_an_empty_request_or_without_breakpoints() -> None:
    assert PrefixCache().use([], [], RULES, 0) == (0, 0)
    assert PrefixCache().use(FOUR, [], RULES, 0) == (0, 0)


def test_each_of_several_breakpoints_is_kept() -> None:
    cache = PrefixCache()
    assert cache.use(FOUR, [1, 3], RULES, 0) == (0, 200)
    assert cache.use([*FOUR[:2], ("x", 20)], [2], RULES, 1) == (100, 20)


FIVE = [*FOUR, ("e", 50)]


def test_a_model_says_how_its_provider_caches() -> None:
    model = ModelSpec("p", "m", cache_minimum=7, cache_lookback=8, cache_lifetime=9.0, cache_explicit=False)
    assert rules_of(model) == CacheRules(7, 8, 9.0, explicit=False)


def test_reading_an_entry_renews_it_and_the_shorter_ones_and_no_longer_one() -> None:
    cache = PrefixCache()
    cache.use(FIVE, [1, 3, 4], RULES, 0)
    assert cache.use(FIVE, [3], RULES, 200) == (200, 0)
    assert cache.use(FIVE, [4], RULES, 450) == (200, 50), "the whole was last read at first"
    assert cache.use(FIVE[:2], [1], RULES, 450) == (100, 0)
    assert cache.use([*FOUR, ("f", 10)], [4], RULES, 700) == (200, 10), "read with the whole at 450"
    assert cache.use(FOUR, [3], RULES, 950) == (200, 0), "an entry before the breakpoint was renewed too"


def test_a_request_makes_no_other_entries_than_its_breakpoints() -> None:
    cache = PrefixCache()
    cache.use(FOUR, [3], RULES, 0)
    assert cache.use(FOUR, [3], RULES, 1) == (200, 0)
    assert cache.use([*FOUR[:3], ("x", 10)], [3], RULES, 2) == (0, 160)


def test_an_entry_may_end_with_the_first_block() -> None:
    cache, small = PrefixCache(), CacheRules(minimum=60, lookback=3)
    assert cache.use(FOUR[:1], [0], small, 0) == (0, 60)
    assert cache.use(FOUR[:3], [2], small, 1) == (60, 90)
    other = PrefixCache()
    other.use(FOUR[:1], [0], small, 0)
    assert other.use(FOUR, [3], small, 1) == (0, 200), "beyond the lookback"


def test_what_has_expired_stays_so() -> None:
    cache = PrefixCache()
    cache.use(FOUR, [1, 3], RULES, 0)
    assert cache.use(FOUR, [3], RULES, 400) == (0, 200)
    assert cache.use(FOUR[:2], [1], RULES, 401) == (0, 100)
