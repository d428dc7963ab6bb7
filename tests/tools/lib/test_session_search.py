"""Searches of a session for recall: one complete part of it, or the matches of a query, best first."""

from __future__ import annotations

from agentcli.tools.lib.session_search import OTHER_WORDS
from tests.tools.conftest import Call
from tests.tools.test_recall import output, said
from tests.tools.workplace import Bench


def test_a_page_without_a_place_that_has_most_of_the_words_asks_for_others(call: Call, ctx: Bench) -> None:
    said(ctx, "assistant", "The session map never evicts its entries.")
    for n in range(60):
        said(ctx, "assistant", f"Part {n} is done; the removal of old files is next, and memory is fine.")
    assert OTHER_WORDS in call("recall", pattern="leak because nothing is removed from the store").output
    assert OTHER_WORDS not in call("recall", pattern="map evicts entries").output
    assert OTHER_WORDS not in call("recall", pattern="evict").output


def test_the_best_hit_decides_if_other_words_are_asked_for_and_several_wordings_are_enough(
    call: Call, ctx: Bench
) -> None:
    """A later hit with the words close together lies in a long text, where that is chance."""
    log = "\n".join(f"row {n} of the table is copied" for n in range(1_500))
    output(ctx, "c1", f"{log}\nquota exceeded: tenant ledger\n{log}")
    said(ctx, "user", "Each tenant has a quota.")
    for n in range(30):
        said(ctx, "assistant", f"Step {n} is done.")
    page = call("recall", pattern="quota exceeded tenant ledger").output
    assert page.startswith("[2 ")
    assert "quota exceeded: tenant ledger" in page
    assert page.endswith(OTHER_WORDS)
    several = call("recall", pattern="tenant refund invoice | quota invoice charge")
    assert several.output.startswith("[2 ")
    assert OTHER_WORDS not in several.output


def test_other_wordings_are_searched_together_and_the_best_place_comes_first(call: Call, ctx: Bench) -> None:
    said(ctx, "assistant", "The cache evicts entries once the map is full, least recently used first.")
    said(ctx, "assistant", "The store of sessions is a folder with one file for each record.")
    for n in range(30):
        said(ctx, "assistant", f"Step {n}: the throwing of errors in the handler of requests is rewritten.")
    poor = call("recall", pattern="throwing away old values when memory runs out")
    assert OTHER_WORDS in poor.output
    for separator in (" | ", "\n"):
        wordings = ("throwing away old values", "cache evicts entries", "least recently used")
        found = call("recall", pattern=separator.join(wordings))
        assert found.output.startswith("[1 turn 1 assistant]"), found.output[:200]
        assert OTHER_WORDS not in found.output
        assert found.output.count("cache evicts entries") == 1, "near-equal hits are one"


def test_a_fruitless_search_asks_for_other_wordings(call: Call, ctx: Bench) -> None:
    said(ctx, "user", "Hello.")
    assert call("recall", pattern="zebra crossing").output.endswith(OTHER_WORDS)
    assert OTHER_WORDS not in call("recall", pattern="zebra.*crossing").output
