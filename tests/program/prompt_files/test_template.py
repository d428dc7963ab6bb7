"""Texts with placeholders: parsed once, in the ways of three programs."""

from __future__ import annotations

from agentcli.program.prompt_files.template import FileName, Shell, arguments, parse
from tests.tables import each_row


def filled(body: str, given: str, syntax: str = "own", names: tuple[str, ...] = ()) -> str:
    """The text with commands as `<…>` and files as `{…}`."""
    values = arguments(given, {"CLAUDE_SKILL_DIR": "/s"})
    result = ""
    for part in parse(body, syntax, names):  # type: ignore[arg-type]
        if isinstance(part, Shell):
            result += "<" + "".join(values.fill(one, part.quoted) for one in part.parts) + ">"
        elif isinstance(part, FileName):
            result += "{" + "".join(map(values.fill, part.parts)) + "}"
        else:
            result += values.fill(part)
    return result


@each_row(
    ("body", "given", "text"),
    [
        ("Fix $ARGUMENTS.", "a 'b c'", "Fix a 'b c'."),
        ("$1 then $2", "a 'b c'", "a then b c"),
        ("$0 then $1", "a 'b c'", "a then b c"),
        ("$ARGUMENTS[1]", "a b", "b"),
        ("$1 costs $100", "", " costs $100"),
        ("it's $1", "don't", "it's don't"),
        ("[$1] [$2] [$3]", "\"a b\" 'c d' it's on", "[a b] [c d] [it's on]"),
        ("[$1] [$2] [$3]", 'a\\ b "c d', '[a b] ["c d] []'),
        ("$ARGUMENTSx", "a", "ax"),
        (r"\$1 \$ARGUMENTS \$ARGUMENTS[0] \\$1 \$x", "a", r"$1 $ARGUMENTS $ARGUMENTS[0] \\a \$x"),
        ("dir ${CLAUDE_SKILL_DIR} ${HOME}", "", "dir /s ${HOME}"),
    ],
)
def test_arguments_take_their_places(body: str, given: str, text: str) -> None:
    assert filled(body, given) == text


def test_claude_counts_from_zero_and_opencode_gives_the_rest_to_the_highest() -> None:
    assert filled("$0 $1", "a b c", "claude") == "a b"
    assert filled("$1 $2", "a b c", "claude") == "b c"
    assert filled("$1: $2", "a b c", "opencode") == "a: b c"


def test_pi_has_slices_of_its_arguments_as_a_shell_and_no_commands() -> None:
    given = "a 'b c' d"
    for body, text in {
        "[$1] [$2] [$4]": "[a] [b c] []",
        "$@, $ARGUMENTS": "a b c d, a b c d",
        "${@:2}; ${@:2:1}; ${@:0}": "b c d; b c; a b c d",
        "!`ls $2` and @file": "!`ls b c` and @file",
        "${HOME} $HOME": "${HOME} $HOME",
    }.items():
        assert filled(body, given, "pi") == text


def test_arguments_may_have_names() -> None:
    assert filled("Issue $issue on $branch, $issues", "7 main", names=("issue", "branch")) == "Issue 7 on main, $issues"


def test_code_keeps_its_dollars_where_there_are_no_arguments() -> None:
    body = "Run:\n  ```bash\n  awk '{print $1}'\n  ```\nand `echo $2` $1"
    assert filled(body, "") == body[:-2]
    assert "awk '{print x}'" in filled(body, "x")


def test_claude_fills_in_placeholders_among_code_as_anywhere() -> None:
    body = "Run `awk '{print $0}'` as `$who`, \\$1:\n```bash\nawk '{print $1}' $ARGUMENTS\n```\nand `@x`"
    assert filled(body, "", "claude", ("who",)) == (
        "Run `awk '{print }'` as ``, $1:\n```bash\nawk '{print }' \n```\nand `@x`"
    )


def test_commands_stand_at_the_start_of_a_line_or_after_a_space() -> None:
    assert filled("- now: !`git status`\n!`pwd` no!`x` `!`", "") == "- now: <git status>\n<pwd> no!`x` `!`"
    assert filled("```!\nls $1\n```\nend", "a") == "<ls a>\nend"


def test_nothing_that_was_filled_in_is_parsed_again() -> None:
    assert filled("Say $ARGUMENTS", "!`rm x` @/etc/passwd $1 ${CLAUDE_SKILL_DIR}") == (
        "Say !`rm x` @/etc/passwd $1 ${CLAUDE_SKILL_DIR}"
    )


def test_files_are_named_with_an_at_but_not_in_code_or_in_addresses() -> None:
    assert filled("See @src/a.py, a@b.org and `@x`.", "") == "See {src/a.py}, a@b.org and `@x`."


def test_gemini_quotes_arguments_inside_commands_and_balances_braces() -> None:
    body = "Do {{args}}: !{grep {{args}} f | awk '{print $1}'} @{docs/a.md} !{open"
    assert filled(body, "it's; rm", "gemini") == (
        """Do it's; rm: <grep 'it'"'"'s; rm' f | awk '{print $1}'> {docs/a.md} !{open"""
    )
