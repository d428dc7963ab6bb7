"""Keys of former settings: a file with them is read, they have no effect, and one warning lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_BY_SECTION: Mapping[str, str] = {
    "agent": "max_pauses thinking_display",
    "budget": "tell_below pressure_from pressure_seconds",
    "checkpoints": "export_bytes files ignored_bytes ignored_files",
    "context": """
        preserve keep_recent_share keep_answer_tokens retry_growth fit keep_user_share keep_piece_share pins_share compact_floor
        compact_least compact_price output_reserve large_input_tokens large_input_share large_input_lines large_input_line exact_count_margin
        exact_count_seconds max_summary_calls
    """,
    "context.auto": "summary_share summary_least summary_most scratchpad air clipped",
    "context.cache": "milestone thrash",
    "context.gemini": "summary_tokens pressure limit",
    "context.handoff": "tokens words files_read commands reports offered_after",
    "context.ledger": """
        files commands command_characters reports report_characters rules names names_each rule_characters
    """,
    "context.loss": """
        enabled half_life output_chance command_chance lookup_chance report_chance name_chance recall_price carry_price
        prompt_tokens token_rate names_tokens call_tokens recalled_tokens phase_share phases questions
    """,
    "context.native": "trigger_share thinking_turns",
    "context.opencode": "estimator summary_tokens output_reserve",
    "context.prune": """
        estimator auto_turns patience smallest input_least least protect_share minimum_share
    """,
    "context.regions": "estimator aim ratio slack buffer large_output small_output",
    "context.sliding": "summary_tokens task_budget temperature",
    "context.snapshot": """
        share rules_share knowledge_share files_read files_changed commands lookups item_characters goal_characters
        sentence_characters reply_tokens expected_tokens margin clips hard_clips cleared_characters struck_items
        struck_characters
    """,
    "context.tiktoken": "encodings rate",
    "mcp": "catalogue_tokens",
    "retention": "leftover_days",
    "retry": "short_patience jitter",
    "sessions": "save_every highlight doctor",
    "tools": """
        line_characters output_file recall_seconds entries fetch_bytes fetch_answer_seconds
    """,
    "ui": "notify_after tail_rows paste_lines paste_characters history",
}
RETIRED = frozenset(f"{section}.{name}" for section, names in _BY_SECTION.items() for name in names.split())
"""Keys in full."""


def warning(found: Iterable[tuple[str, str]]) -> str:
    """Return one warning with these keys, each with the place that sets it, grouped by place."""
    by_place: dict[str, list[str]] = {}
    for key, place in found:
        by_place.setdefault(place, []).append(key)
    named = "; ".join(f"{', '.join(keys)}{place}" for place, keys in by_place.items())
    return f"These settings no longer have an effect: {named}. Remove them."
