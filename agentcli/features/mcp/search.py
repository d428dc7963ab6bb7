"""Search of MCP tools: BM25 over their names, descriptions and parameter names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from agentcli.core.mcp_servers import ServerTool

_K, _B = 1.2, 0.75
_NAME_WEIGHT = 3
"""Weight of a word in a name relative to one in a description."""


def search(query: str, tools: Sequence[ServerTool], limit: int) -> list[ServerTool]:
    """Return the best matching tools, best first.

    `select:NAME,NAME` selects them by name, with or without the server.
    """
    if query.startswith("select:"):
        names = [name.strip() for name in query.removeprefix("select:").split(",")]
        return [tool for name in names for tool in tools if name in (tool.name, tool.tool)]
    scores = _scores(set(_words(query)), tools)
    best = sorted((tool for tool in tools if scores[tool.name] > 0), key=lambda tool: (-scores[tool.name], tool.name))
    return best[:limit]


def _scores(asked: set[str], tools: Sequence[ServerTool]) -> dict[str, float]:
    texts = {tool.name: Counter(_document(tool)) for tool in tools}
    mean = sum(text.total() for text in texts.values()) / max(1, len(texts)) or 1
    rarity = {word: _rarity(sum(word in text for text in texts.values()), len(texts)) for word in asked}
    return {
        name: sum(
            rarity[word] * text[word] * (_K + 1) / (text[word] + _K * (1 - _B + _B * text.total() / mean))
            for word in asked
        )
        for name, text in texts.items()
    }


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _document(tool: ServerTool) -> Iterable[str]:
    properties = tool.parameters.get("properties")
    names = properties if isinstance(properties, dict) else {}
    yield from _words(f"{tool.server} {tool.tool}") * _NAME_WEIGHT
    yield from _words(tool.description)
    yield from _words(" ".join(map(str, names)))


def _words(text: str) -> list[str]:
    """Return the words in lower case; `getUserName` and `get_user_name` have three. A plural counts as its singular."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [_singular(word) for word in re.findall(r"[^\W_]+", split.lower())]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
