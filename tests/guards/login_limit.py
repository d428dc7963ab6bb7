"""The login of the server: wrong tokens are refused and never keep a right one out.

Stopped: a wrong token or code, sent by any user of the machine, opens nothing. Hindered: a link or token that is right, used right after all
wrong ones, opens nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from agentcli.frontends.serve.access import Access, Grant
from tests.guards import Figures, material

LINKS = 20
"""Links that are used after the wrong tokens, each with the token that it gives."""


def figures() -> Iterator[Figures]:
    """Try each wrong word as a token and as the code of a link, then use links that are right."""
    found = material("login_limit")
    with TemporaryDirectory() as folder:
        access = Access(Path(folder), 8020, lambda: 0.0)
        links = [access.link(read_only=False) for _ in range(LINKS)]
        stopped = sum(
            isinstance(access.check(f"Bearer {word}"), str) and isinstance(access.log_in(word), str)
            for word in found["bad"]
        )
        yield Figures(
            "tokens",
            stopped,
            len(found["bad"]),
            sum(not _opens(access, link) for link in links),
            LINKS,
            f"{found['source']}; right links after them",
        )


def _opens(access: Access, link: str) -> bool:
    """True if a link logs in, and its token is taken."""
    answer = access.log_in(link)
    return not isinstance(answer, str) and isinstance(access.check(f"Bearer {answer[0]}"), Grant)
