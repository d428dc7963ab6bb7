"""`python -m tests.guards` measures all guards and writes `tests/guards.md`."""

from __future__ import annotations

from tests.guards import TABLE, table

if __name__ == "__main__":
    TABLE.write_text(table())
    print(TABLE.read_text(), end="")
