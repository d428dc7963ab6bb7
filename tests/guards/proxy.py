"""The proxy of sandboxed commands: no request reaches this machine or a network around it, even if a person allows every host.

Stopped: attacks for which the proxy opens no connection to an address that is not public, or to another port than those of HTTP. Hindered:
hosts to which it opens none.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from agentcli.permissions.network.proxy import Proxy
from tests.guards import Figures, material

PUBLIC = "93.184.215.14"
WEB = (80, 443)


def figures() -> Iterator[Figures]:
    """Yield one row: attacks of each form, and good hosts."""
    held = material("proxy")
    attacks = [request for url in held["bad"] for request in _requests(url)]
    opened = asyncio.run(_opened(attacks, held["names"]))
    passed = asyncio.run(_opened([_connect(f"{host}:443") for host in held["good"]], {}))
    stopped = sum(all(map(_is_outward, each)) for each in opened)
    hindered = sum(not each for each in passed)
    yield Figures("requests inward", stopped, len(attacks), hindered, len(passed), held["source"])


def _requests(url: str) -> list[bytes]:
    """The request for an address, and a tunnel to its host."""
    place = re.sub(r"^[a-z]+://", "", url).partition("/")[0]
    port = "" if re.search(r":\d+$", place) and not place.endswith("]") else ":443"
    return [f"GET {url} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode(), _connect(f"{place}{port}")]


def _connect(place: str) -> bytes:
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()


def _is_outward(reached: tuple[str, int]) -> bool:
    return ipaddress.ip_address(reached[0]).is_global and reached[1] in WEB


async def _opened(requests: Sequence[bytes], names: Mapping[str, Sequence[str]]) -> list[list[tuple[str, int]]]:
    """Return the connections that the proxy opens for each request. A name changes its address with each lookup."""
    reached: list[tuple[str, int]] = []
    asked: dict[str, int] = {}

    async def resolve(host: str, _: int) -> Sequence[str]:
        if host in names:
            asked[host] = asked.get(host, -1) + 1
            return [names[host][asked[host] % len(names[host])]]
        with suppress(OSError):
            return [socket.inet_ntoa(socket.inet_aton(host))]  # as the system's resolver reads numbers
        return [PUBLIC]

    async def connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reached.append((address, port))
        raise OSError("no server")

    async def allowed(_: str) -> str:
        return ""

    proxy = Proxy(allowed, resolve, connect)
    listening = socket.create_server(("127.0.0.1", 0))
    await proxy.serve(listening)
    found = []
    for request in requests:
        reached.clear()
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(request)
        await asyncio.wait_for(reader.read(), 5)
        writer.close()
        found.append(list(reached))
    proxy.close()
    return found
