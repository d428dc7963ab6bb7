from __future__ import annotations


def test_a_text_of_more_than_ten_million_characters_is_cut_and_says_so() -> None:
    import mcp_types as types

    from agentcli.features.mcp.values import TEXT_CHARACTERS, content_of

    found = content_of(types.TextContent(type="text", text="x" * (TEXT_CHARACTERS + 1_234)))
    assert found.text.endswith("\n[1,234 characters more were left out]")
    assert len(found.text) < TEXT_CHARACTERS + 100


def test_the_reason_of_a_failure_is_the_innermost_one() -> None:
    from agentcli.features.mcp.values import REASON_CHARACTERS, reason

    inner = ExceptionGroup("unhandled", [ExceptionGroup("unhandled", [FileNotFoundError(2, "No such file", "nope")])])
    assert reason(inner) == "nope was not found"
    whole = FileNotFoundError(2, "No such file", "sh -c x")
    assert reason(whole) == "sh -c x was not found; put its arguments into args"
    assert reason(TimeoutError()) == "it did not answer in time"
    assert reason(ValueError()) == "ValueError"
    assert reason(ValueError("two\n  lines")) == "two lines"
    assert len(reason(ValueError("long " * 1_000))) == REASON_CHARACTERS
