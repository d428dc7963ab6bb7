"""The emulated cache keeps to the providers' rules."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated
from agentcli.core.message import Text, ToolResult, Usage
from agentcli.core.model import Breakpoint, ModelSpec, Request, RequestMessage
from agentcli.extras.lab.emulate import EmulatedCache

CLAUDE = ModelSpec("anthropic", "claude", cache_minimum=500, cache_lifetime=300.0, cache_lookback=20)
GEMINI = ModelSpec("google", "gemini", "google", cache_minimum=500, cache_explicit=False)
PIECE = 350  # tokens of one `piece`


def counter() -> TokenCounter:
    made = TokenCounter(Calibrated(rate=1.0, per_block=0, per_message=0))
    made.head = 1_000
    return made


def piece(name: str) -> Text:
    return Text(f"{name:.<350}")


def request(*names: str, marks: tuple[int, ...] | None = None, model: ModelSpec = CLAUDE, system: str = "s") -> Request:
    """One turn a piece; marked at the end of the newest unless said otherwise."""
    turns = tuple(RequestMessage("user" if n % 2 == 0 else "assistant", (piece(name),)) for n, name in enumerate(names))
    places = tuple(Breakpoint(n, 0) for n in ((len(names) - 1,) if marks is None else marks))
    return Request(model, (system,), (), turns, places)


def test_the_first_request_writes_up_to_its_last_mark_and_pays_the_rest_in_full():
    cache = EmulatedCache(CLAUDE, counter())
    assert cache.usage(request("a", "b", "c", marks=(1,)), 0, 7) == Usage(PIECE, 7, 0, 0, 1_000 + 2 * PIECE)


def test_a_growing_conversation_reads_what_it_wrote_and_writes_what_is_new():
    cache = EmulatedCache(CLAUDE, counter())
    cache.usage(request("a"), 0, 0)
    assert cache.usage(request("a", "b", "c"), 10, 0) == Usage(0, 0, 0, 1_000 + PIECE, 2 * PIECE)


def test_an_entry_dies_when_it_is_not_used_and_each_use_gives_it_a_new_life():
    cache = EmulatedCache(CLAUDE, counter())
    for now in (0, 290, 580):
        read = cache.usage(request("a"), now, 0).cache_read
    assert read == 1_000 + PIECE
    assert cache.usage(request("a"), 881, 0) == Usage(0, 0, 0, 0, 1_000 + PIECE)


def test_nothing_behind_a_changed_byte_is_read():
    cache = EmulatedCache(CLAUDE, counter())
    cache.usage(request("a", "b", "c", marks=(0, 2)), 0, 0)
    assert cache.usage(request("a", "B", "c", marks=(0, 2)), 1, 0) == Usage(0, 0, 0, 1_000 + PIECE, 2 * PIECE)
    assert cache.usage(request("a", "b", "c", system="other"), 2, 0).cache_read == 0


def test_a_prefix_below_the_minimum_is_neither_written_nor_found():
    tiny = replace(CLAUDE, cache_minimum=2_000)
    cache = EmulatedCache(tiny, counter())
    small = request("a", "b", model=tiny)
    assert cache.usage(small, 0, 0) == Usage(1_000 + 2 * PIECE, 0, 0, 0, 0)
    assert cache.usage(small, 1, 0).cache_read == 0


def test_a_lookup_goes_back_only_so_many_blocks():
    names = [f"m{n}" for n in range(40)]
    cache = EmulatedCache(CLAUDE, counter())
    cache.usage(request(*names[:10]), 0, 0)
    assert cache.usage(request(*names[:29]), 1, 0).cache_read == 1_000 + 10 * PIECE
    cache = EmulatedCache(CLAUDE, counter())
    cache.usage(request(*names[:10]), 0, 0)
    assert cache.usage(request(*names[:30]), 1, 0).cache_read == 0
    cache = EmulatedCache(CLAUDE, counter())
    cache.usage(request(*names[:10]), 0, 0)
    assert cache.usage(request(*names[:30], marks=(9, 29)), 1, 0).cache_read == 1_000 + 10 * PIECE


def test_a_cleared_output_is_another_block():
    cache = EmulatedCache(CLAUDE, counter())

    def with_result(output: str) -> Request:
        turns = (
            RequestMessage("user", (piece("a"),)),
            RequestMessage("user", (ToolResult("c", "read", "success", output),)),
        )
        return Request(CLAUDE, ("s",), (), turns, (Breakpoint(0, 0), Breakpoint(1, 0)))

    cache.usage(with_result("x" * 500), 0, 0)
    assert cache.usage(with_result("x" * 500), 1, 0).cache_write == 0
    assert cache.usage(with_result("[cleared]"), 2, 0).cache_read == 1_000 + PIECE


def test_a_provider_that_caches_by_itself_finds_the_longest_prefix_and_charges_no_writing():
    cache = EmulatedCache(GEMINI, counter())
    assert cache.usage(request("a", "b", "c", model=GEMINI), 0, 0) == Usage(1_000 + 3 * PIECE, 0, 0, 0, 0)
    assert cache.usage(request("a", "b", "X", "d", model=GEMINI), 1, 0) == Usage(2 * PIECE, 0, 0, 1_000 + 2 * PIECE, 0)
    assert cache.usage(request("a", "b", model=GEMINI), 400, 0).cache_read == 0
