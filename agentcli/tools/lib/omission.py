"""Lines that stand for omitted code (`// ... existing code ...`), which must not be written into a file."""

from __future__ import annotations

import re

from agentcli.core.errors import ToolError

_NOUN = (
    r"(?:code|file|function|method|class|implementation|content|import|logic|line|test|bod(?:y|ies)|module|component|style|rule|"
    r"field|propert(?:y|ies)|handler|case|definition|section|setup|config(?:uration)?|part|it|everything)(?:e?s)?"
)
_WORDS = (
    rf"(?:(?:the |your )?rest of (?:the |your )?(?:\w+ ){{0,2}}{_NOUN}|(?:the )?rest|(?:(?:the )?rest of )?(?:the )?(?:\w+ ){{0,2}}"
    rf"{_NOUN}(?: (?:remains?|stays?|is|are))?(?: the same| unchanged| as before| here)|(?:keep |the )?existing (?:\w+ ){{0,2}}{_NOUN}"
    rf"|(?:the )?remaining (?:\w+ ){{0,2}}{_NOUN}|(?:the )?unchanged (?:\w+ ){{0,2}}{_NOUN}|unchanged)"
    r"(?: (?:goes |continues )?(?:here|unchanged|as before|as is|remains? (?:unchanged|the same)|stays? the same|is unchanged))?"
)
_DOTS = r"(?:\.{3,}|…)"
_OPEN = r"(?://+|#+|--|;+|%+|/\*+|\*|<!--|\{/\*|\(|\[)"
_CLOSE = r"(?:\*+/\}?|-->|\)|\])"
# Patterns compiled on first use: together they would add milliseconds to each start.
_PLACEHOLDER = (
    rf"(?i)(?:{_OPEN}\s*[(\[]?{_DOTS}\s*[(\[]?{_WORDS}[)\]]?\s*\.?|{_OPEN}\s*{_DOTS}?\s*[(\[]?{_WORDS}[)\]]?\s*{_DOTS}"
    rf"|{_DOTS}\s*[(\[]?{_WORDS}[)\]]?\s*{_DOTS}?)\s*{_DOTS}?\s*{_CLOSE}?"
)
_HINT = re.compile(r"(?i)rest|existing|unchanged|remain|same|before|here")


_PROSE = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".org", ".tex", ".txt")
"""Extensions of prose files, where such a line is an example or a sentence."""


def refuse_omissions(file: str, before: str, new: str, field: str) -> None:
    """Raise ToolError if a line of the new text stands for omitted code.

    Prose may contain such a line, and so may an edit whose old text has it too.
    """
    if file.lower().endswith(_PROSE):
        return
    for n, line in enumerate(new.splitlines(), 1):
        text = line.strip()
        if _is_placeholder(text) and text not in (former.strip() for former in before.splitlines()):
            raise ToolError(
                f"Line {n} of {field} is a placeholder for omitted code: {text[:100]}. Nothing was changed. "
                "Write that code out, or keep it out of the edit. If the file should really contain this line, write it with bash."
            )


def _is_placeholder(line: str) -> bool:
    if len(line) > 120 or not ("..." in line or "…" in line) or not _HINT.search(line):
        return False
    return re.fullmatch(_PLACEHOLDER, line) is not None
