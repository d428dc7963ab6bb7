"""Sessions as the tree that forks and subagents make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentcli.sessions.info import Info


def branches(infos: Sequence[Info]) -> Iterator[tuple[int, Info]]:
    """Each session once with its depth, right below the one it came from; the order among siblings stays as given.

    A session whose parent is not among them stands at the root.
    """
    present = {info.id for info in infos}
    children: dict[str, list[Info]] = {}
    for info in infos:
        above = info.parent.session if info.parent and info.parent.session in present - {info.id} else ""
        children.setdefault(above, []).append(info)
    ahead = [(0, info) for info in reversed(children.get("", ()))]
    while ahead:
        depth, info = ahead.pop()
        yield depth, info
        ahead += [(depth + 1, child) for child in reversed(children.get(info.id, ()))]
