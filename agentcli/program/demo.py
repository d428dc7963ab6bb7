"""`agentcli demo`: a complete session without any key. The model is scripted; tools, store, permissions and compaction are real."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.message import Text, ToolResult
from agentcli.core.model import Model, ModelSpec, Request
from agentcli.program.options import Options
from agentcli.providers.registry import PROVIDERS, SERVERS
from agentcli.providers.scripted.model import Reply, ScriptedModel, call, say

SMALL_WINDOW = (
    "models.demo.window=16000",
    "models.demo.max_output=4000",
    'permissions.allow=["bash(python3 -m unittest *)", "bash(python3 report.py *)"]',
)
"""A window that one long file fills, so that the demo shows a compaction; and the project's two commands."""


@contextmanager
def prepared(options: Options, *, alone: bool) -> Iterator[Options]:
    """Yield the demo's options in a temporary copy of its project, which is removed at the end.

    `alone`: nobody is there; the demo plays to its end by itself, and edits need no approval.
    """
    folder = _throw_away()
    try:
        build(folder)
        yield replace(
            options,
            cwd=str(folder),
            prompt=TASK,
            then=(COMPRESS, CHECK),
            model="demo/demo",
            mode="auto-edit" if alone else "ask",
            print=alone,
            settings=(*SMALL_WINDOW, *options.settings),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _throw_away() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="agentcli-demo-"))
    except OSError as error:
        raise InputError(
            f"The demo needs a folder for temporary files: {error.strerror}. Set TMPDIR to one."
        ) from error


TASK = "The tests fail. Find out why, fix it, and look at the real orders. Never use floats for money."
COMPRESS = "/compress keep what the orders look like"
CHECK = "Next, check the fix on the real orders."
RATE = 400
"""Characters a second, so that a person can follow."""

OVER = (
    "That was the whole script: I am not a real model. Set {keys} and start `agentcli` "
    "in one of your repositories. What you saw of tools, approvals, compaction and the session was real: try `/context`, "
    "`/usage` or `/diff`, and exit with Ctrl-D."
).format(keys=" or ".join(f"`{PROVIDERS[kind].key_advice[0]}`" for kind in SERVERS))

_TESTS = "python3 -m unittest -q"
_ORDERS = call("read", file_path="orders.csv")
_REPORT = call("bash", command="python3 report.py orders.csv", description="the report")
_EDIT = 3
"""Index of the reply with the edit."""
REPLIES = (
    say(
        "Let me look around first.",
        call("list"),
        call("read", file_path="README.md"),
        call("grep", pattern="discount", output_mode="content"),
        thinking="A small project. First the layout, then the tests, then the cause.",
        rate=RATE,
    ),
    say(
        "Now the tests, to see the failure itself.",
        call("bash", command=_TESTS, description="run the tests"),
        rate=RATE,
    ),
    say("`discount` is where it goes wrong. I'll read it.", call("read", file_path="prices.py"), rate=RATE),
    say(
        "The comment says *from ten pieces on*, the code says `> 10`. One character:",
        call("edit", file_path="prices.py", old_string="if quantity > 10:", new_string="if quantity >= 10:"),
        rate=RATE,
    ),
    say("Again the tests:", call("bash", command=_TESTS, description="run the tests again"), rate=RATE),
    say("They pass. Now the real orders, to check their format.", _ORDERS, rate=RATE),
    say(
        "Fixed. `discount` in `prices.py:10` began at eleven pieces instead of ten; all three tests pass. "
        "The orders have the columns that the code expects.",
        rate=RATE,
    ),
    say("I have the summary. Now the report over all orders:", _REPORT, rate=RATE),
    say(
        "Done and verified:\n\n"
        "- **Cause**: `prices.py:10` gave the discount from eleven pieces on instead of ten.\n"
        "- **Change**: `quantity > 10` is now `quantity >= 10`.\n"
        "- **Check**: all three tests pass, and `report.py` runs over all 640 orders.\n",
        rate=RATE,
    ),
)
REFUSED = (
    say("You said no, so the bug stays. I'll still look at the real orders.", _ORDERS, rate=RATE),
    say(
        "Not fixed: `discount` in `prices.py:10` begins at eleven pieces instead of ten, and one test fails. "
        "The orders have the columns that the code expects.",
        rate=RATE,
    ),
    say("I have the summary. Now the report, with the discount still wrong:", _REPORT, rate=RATE),
    say(
        "The report runs over all 640 orders, but its total is too high wherever somebody bought exactly ten pieces:\n\n"
        "- **Cause**: `prices.py:10` gives the discount from eleven pieces on instead of ten.\n"
        "- **Change**: none, as you said. Start the demo again and allow the edit to see it fixed.\n",
        rate=RATE,
    ),
)
"""Replies after the edit was refused."""


def model(spec: ModelSpec) -> Model:
    """Return the demo's model: it plays its script for its own task, and otherwise replies that it is a script."""
    left = list(REPLIES)

    def reply(request: Request) -> Reply:
        if not any(line in _last_prompt(request) for line in (TASK, CHECK)) or not left:
            return say(OVER, rate=RATE)
        if len(left) == len(REPLIES) - _EDIT - 1 and _refused(request):
            left[:] = REFUSED
        return left.pop(0)

    return ScriptedModel(spec, reply)


def _refused(request: Request) -> bool:
    """Return True if the newest result belongs to a call that the person refused."""
    results = [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]
    return bool(results) and results[-1].status == "denied"


def _last_prompt(request: Request) -> str:
    """Return the user's last prompt, or its copy in a summary."""
    for turn in reversed(request.messages):
        texts = [part.text for part in turn.parts if isinstance(part, Text)] if turn.role == "user" else []
        prompts = [text for text in texts if not text.startswith("<system-reminder>")]
        if prompts:
            return "\n".join(prompts)
    return ""


ORDERS = 640
"""Lines in orders.csv: enough to fill the demo's small window."""

FILES = {
    "README.md": """\
# Orders

`prices.py` adds up orders, `report.py` prints a report. Amounts are whole cents.
Run the tests with `python3 -m unittest -q`.
""",
    "AGENTS.md": "Amounts are whole cents: never use floats for money.\n",
    "prices.py": '''\
"""Prices of orders in whole cents."""


def line_total(cents, quantity):
    return cents * quantity


def discount(cents, quantity):
    """Ten percent from ten pieces on, rounded down."""
    if quantity > 10:
        return line_total(cents, quantity) // 10
    return 0


def order_total(lines):
    return sum(line_total(cents, quantity) - discount(cents, quantity) for cents, quantity in lines)
''',
    "report.py": '''\
"""Prints what the orders in a CSV file come to."""

import csv
import sys

from prices import order_total


def main(path):
    with open(path, newline="") as file:
        rows = [(int(row["cents"]), int(row["quantity"])) for row in csv.DictReader(file)]
    print(f"{len(rows)} orders, {order_total(rows) / 100:,.2f} in all")


main(sys.argv[1])
''',
    "test_prices.py": """\
import unittest

from prices import discount, order_total


class Prices(unittest.TestCase):
    def test_small_orders_have_no_discount(self):
        self.assertEqual(discount(250, 9), 0)

    def test_ten_pieces_get_the_discount(self):
        self.assertEqual(discount(250, 10), 250)

    def test_an_order_is_the_sum_of_its_lines(self):
        self.assertEqual(order_total([(100, 1), (200, 20)]), 100 + 3600)


if __name__ == "__main__":
    unittest.main()
""",
}


def build(folder: Path) -> None:
    """Write the project into an empty folder."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    chance = random.Random(7)
    rows = [
        f"{n:05},{chance.choice(_GOODS)},{chance.randrange(50, 9_000)},{chance.randrange(1, 25)}" for n in range(ORDERS)
    ]
    (folder / "orders.csv").write_text("\n".join(["order,item,cents,quantity", *rows]) + "\n", encoding="utf-8")


_GOODS = ("paper A4", "pencil HB", "stapler", "ring binder", "desk lamp", "black marker")
