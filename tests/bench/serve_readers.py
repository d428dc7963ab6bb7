"""Many readers of a session's events in one process: `serve_readers.py PORT TOKEN SESSION CURSOR READERS STALLED`.

Prints `follow` once all of them follow, and one JSON object a reader at the end of the turn: its reads, events, characters of text, and `reload`s.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from typing import Any


class Reader:
    """One connection; the first bytes of a body tell that it follows."""

    def __init__(self, port: int, token: str, session: str, cursor: str, stalled: bool) -> None:
        self.stalled = stalled
        self.socket = socket.socket()
        if stalled:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(
            f"GET /api/sessions/{session}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Last-Event-ID: {cursor}\r\n\r\n".encode()
        )
        first = b""
        while b": follows" not in first:
            first += self.socket.recv(4096)
        self.reads = 0
        self.pieces: list[bytes] = []

    def read(self) -> bool:
        """Take what is there; False at the end of the turn."""
        piece = self.socket.recv(1 << 20)
        self.reads += 1
        self.pieces.append(piece)
        return bool(piece) and b'"turn_ended"' not in b"".join(self.pieces[-2:])

    def told(self) -> dict[str, Any]:
        """The figures of this reader."""
        lines = b"".join(self.pieces).split(b"\n")
        events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ") and line.endswith(b"}")]
        size = sum(len(event["text"]) for event in events if event["type"] == "message" and event.get("delta"))
        reloads = sum(event["type"] == "reload" for event in events)
        found = {"stalled": self.stalled, "reads": self.reads, "events": len(events), "size": size}
        return {**found, "reloads": reloads}


def main() -> None:
    """Follow until the turn has ended, and print what came."""
    port, token, session, cursor, count, stalled = sys.argv[1:]
    readers = [Reader(int(port), token, session, cursor, n < int(stalled)) for n in range(int(count))]
    print("follow", flush=True)
    chosen = selectors.DefaultSelector()
    for reader in readers[int(stalled) :]:
        chosen.register(reader.socket, selectors.EVENT_READ, reader)
    ends = time.monotonic() + 100
    while chosen.get_map() and time.monotonic() < ends:
        for key, _ in chosen.select(1):
            if not key.data.read():
                chosen.unregister(key.fileobj)
    for reader in readers:
        print(json.dumps(reader.told()))


if __name__ == "__main__":
    main()
