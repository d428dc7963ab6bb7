"""Handoff of a session to a new one: its snapshot, the user's words that matter next, rules, pins, ledger. Pure, without I/O."""

from __future__ import annotations

from agentcli.context.compaction.handoff import handoff_settings, relevant_words
from agentcli.context.settings import ContextSettings, HandoffSettings
from agentcli.core.record import VerbatimText
from tests.context.compaction.test_carryover import CHARS


def test_the_words_that_a_handoff_takes_along_are_about_what_follows_and_new() -> None:
    texts = [
        VerbatimText(1, 1, "parser " + "x" * 33),
        VerbatimText(2, 2, "lexer " + "x" * 34),
        VerbatimText(3, 3, "other " + "x" * 34),
    ]

    def taken(following: str, tokens: int) -> list[int]:
        return [piece.seq for piece in relevant_words(texts, following, CHARS, tokens)]

    assert taken("", 30) == [1, 2, 3]
    assert taken("", 29) == [2, 3]
    assert taken("Fix the PARSER.", 20) == [1, 3]
    assert taken("See /parser/, then lexer", 20) == [1, 2]
    assert taken("The par ser", 20) == [2, 3]
    assert taken("Fix the parser now", 10) == [1]
    assert taken("Fix the parser now", 9) == []


def test_a_handoff_has_its_own_sizes() -> None:
    settings = ContextSettings(handoff=HandoffSettings(tokens=600, files_read=1, commands=2, decision_characters=3))
    form = handoff_settings(settings, 100_000).snapshot
    assert (form.share, form.files_read, form.commands, form.decision_characters, form.lookups) == (0.006, 1, 2, 3, 0)
    assert handoff_settings(settings, 1_000).snapshot.share == settings.snapshot.share
    assert handoff_settings(settings, 0).snapshot.share == settings.snapshot.share
