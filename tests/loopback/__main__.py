"""Run the server by hand: `python -m tests.loopback [SCRIPT]` prints the variables that lead agentcli to it.

SCRIPT is a script file of `agentcli.providers.scripted.model`; without one the server repeats the user's last words.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from agentcli.providers.scripted.model import Reply, load, say
from tests.loopback import Asked, Loopback


def main() -> None:
    """Serve until interrupted."""
    replies = load(Path(sys.argv[1]))[0] if len(sys.argv) > 1 else ()
    played = iter(replies)

    def plan(asked: Asked) -> Reply:
        return next(played, None) or say(f"You said: {asked.last_text}")

    with Loopback(plan) as server:
        for name, value in server.env.items():
            print(f"export {name}={value}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            print(f"{len(server.asked)} requests", file=sys.stderr)


if __name__ == "__main__":
    main()
