"""The demo's project: a small price calculator with a failing test, and a long file of orders."""

from __future__ import annotations

import random
from pathlib import Path

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
