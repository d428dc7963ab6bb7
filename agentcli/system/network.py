"""Check of the network addresses that a model may fetch: only public ones, checked before connecting."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError, in_words

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS = {"http": 80, "https": 443}
EVERYWHERE = ("0.0.0.0/0", "::/0")
"""Networks that allow every address."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

_INWARD = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "3fff::/20", "fec0::/10", "5f00::/16"),
    )
)
"""Networks that this Python may call global, although they serve the own network or cloud.

Among them are the metadata services of Oracle Cloud and Azure.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved URL: the checked address to connect to, and the host name for the request."""

    url: str
    scheme: str
    host: str
    port: int
    address: str
    path: str

    @property
    def literal(self) -> str:
        """The URL with the address in place of the name, so that the name is not resolved again."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.path}"

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


async def target(url: str, allowed: Collection[str] = ()) -> Target:
    """Resolve a URL's host once and check all its addresses. Raises ToolError for anything but public http(s).

    `allowed` lists networks that are permitted although they are not public (`127.0.0.1`, `10.0.0.0/8`).
    """
    scheme, host, port, path = _parts(url)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} cannot be found: {in_words(error)}.") from error
    addresses = [str(entry[4][0]) for entry in found]
    _check(host, addresses, allowed)
    return Target(url, scheme, host, port, addresses[0], path)


def same_site(url: str, other: str) -> bool:
    """Return True if `other` has the host and port of `url`, or is its https form.

    Raises ToolError for schemes other than http(s).
    """
    (scheme, host, port, _), (new_scheme, new_host, new_port, _) = _parts(url), _parts(other)
    if host.rstrip(".") != new_host.rstrip("."):
        return False
    secured = (scheme, new_scheme) == ("http", "https") and port == _PORTS["http"] and new_port == _PORTS["https"]
    return secured or (scheme == new_scheme and port == new_port)


def check_literal(url: str, allowed: Collection[str] = ()) -> None:
    """Raise the errors of `target` that the URL itself reveals: host names are not resolved."""
    _, host, port, _ = _parts(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return  # a name
    _check(host, [str(entry[4][0]) for entry in found], allowed)


def _check(host: str, addresses: Iterable[str], allowed: Collection[str]) -> None:
    for address in addresses:
        if not permitted(address, allowed):
            raise ToolError(f"{host} is at {address}, which is not a public address; only the public web is fetched.")


def permitted(address: str, allowed: Collection[str] = ()) -> bool:
    """Return True if an address is public, or if it is in an allowed network.

    An IPv4 address inside it must be public too.
    """
    try:
        outer = ipaddress.ip_address(address)
    except ValueError:
        return False  # with a zone: link-local
    networks = [ipaddress.ip_network(network, strict=False) for network in allowed]
    inner = _meant(outer)
    if any(each in network for each in inner for network in networks if each.version == network.version):
        return True
    return all(_public(each) for each in inner)


def _parts(url: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is not a URL: {error}.") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ToolError(f"{url!r} is not an http or https URL.")
    if parts.username is not None or parts.password is not None:
        raise ToolError("A URL with a user name or password in it is not fetched.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path


def _public(address: Address) -> bool:
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not special and not any(address in network for network in _INWARD)


def _meant(address: Address) -> list[Address]:
    """Return the addresses that packets actually go to.

    For a mapped or NAT64 address, that is the IPv4 address inside it. A compatible, 6to4 or Teredo address counts
    together with its IPv4 address.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        return [inner]
    if int(address) >> 32 == 0:
        return [address, inner]
    return [address, *(each for each in (address.sixtofour, *(address.teredo or ())) if each is not None)]
