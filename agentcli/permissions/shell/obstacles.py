"""Reasons why a line of shell text is more than plain words, for people to read."""

from __future__ import annotations

UNCHECKED = ": can't be checked"
"""Suffix of the reason for a line that is more than plain words."""

OBSTACLES = {
    "$": "uses $… or $(…)",
    "`": "uses `…`",
    "*": "uses a wildcard",
    "?": "uses a wildcard",
    "[": "uses a wildcard or test",
    "{": "uses braces",
    "(": "uses a subshell",
    ")": "uses a subshell",
    "<": "redirects input",
    ">": "redirects output",
    "&": "runs in the background",
    "#": "has a comment inside a word",
    "~": "uses ~",
    "\\": "continues a line",
    "'": "has an open quote",
    '"': "uses $… in quotes",
}
KEYWORDS = {
    **dict.fromkeys(("for", "while", "until", "select"), "uses a shell loop"),
    **dict.fromkeys(("if", "case"), "uses a shell condition"),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "unset", "let"), "sets a variable"),
    "function": "defines a function",
}
_NODES = {
    **dict.fromkeys(("for_statement", "while_statement", "c_style_for_statement"), "uses a shell loop"),
    **dict.fromkeys(("if_statement", "case_statement"), "uses a shell condition"),
    **dict.fromkeys(
        ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"), "uses $… or $(…)"
    ),
    **dict.fromkeys(("variable_assignment", "declaration_command", "unset_command"), "sets a variable"),
    **dict.fromkeys(("heredoc_redirect", "herestring_redirect"), "has a here-document"),
    "file_redirect": "redirects output",
    "subshell": "uses a subshell",
    "function_definition": "defines a function",
    "process_substitution": "uses <(…)",
    "negated_command": "negates a command",
    "brace_expression": "uses braces",
}


def unusual_node(node: str) -> str:
    """Return the reason for a line with a node of this type in its syntax tree."""
    return f"{_NODES.get(node, 'holds ' + node.replace('_', ' '))}{UNCHECKED}"
