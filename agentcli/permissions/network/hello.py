"""Server name of a TLS connection, read from its first, unencrypted message."""

from __future__ import annotations

_HANDSHAKE, _HELLO, _NAMES = 22, 1, 0


def server_name(data: bytes) -> str | None:
    """Return the host in a first message, or None while the message is incomplete.

    The result is empty if the message has no host or is not a first message of TLS.
    """
    message = b""
    at = 0
    while at < len(data):
        if data[at] != _HANDSHAKE:
            return ""
        if at + 5 > len(data):
            return None
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        message += data[at + 5 : at + 5 + size]
        if at + 5 + size > len(data):
            break
        at += 5 + size
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big"):
            break
    if len(message) < 4:
        return None
    if message[0] != _HELLO:
        return ""
    whole = int.from_bytes(message[1:4], "big")
    if len(message) < 4 + whole:
        return None
    try:
        return _name(message[4 : 4 + whole])
    except IndexError:
        return ""


def _name(hello: bytes) -> str:
    at = 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 1 + hello[at]
    end = at + 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 2
    found = ""
    while at + 4 <= min(end, len(hello)):
        kind, size = int.from_bytes(hello[at : at + 2], "big"), int.from_bytes(hello[at + 2 : at + 4], "big")
        content = hello[at + 4 : at + 4 + size]
        at += 4 + size
        if kind != _NAMES:
            continue
        length = int.from_bytes(content[3:5], "big")
        if found or len(content) != 5 + length or content[2] != 0:
            return ""  # more than one name, or another kind of name
        found = content[5 : 5 + length].decode("ascii", "replace")
    return found
