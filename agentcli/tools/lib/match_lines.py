"""Program that searches texts for a regular expression, line by line; a signal ends it when its time is over.

It reads `{"pattern", "seconds", "texts"}` from stdin and prints the numbers of each text's matching lines as JSON.
"""

import json
import re
import signal
import sys


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    regex = re.compile(request["pattern"])
    # Without a handler, the signal ends the process, even in the middle of a match.
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    found = [
        [number for number, line in enumerate(text.split("\n"), 1) if regex.search(line)] for text in request["texts"]
    ]
    signal.setitimer(signal.ITIMER_REAL, 0)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
