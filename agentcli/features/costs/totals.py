"""Print totals over sessions: per model and day, or exact sums of a group."""

from __future__ import annotations

import csv
import sys

from agentcli.core.costs import bars, money
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.features.costs.stats import Stats, by_use, collect, counted, lines
from agentcli.features.costs.sums import COLUMNS, By, Counted, Sum, sums, total
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.program import Program
from agentcli.sessions.info import local_day


def show_stats(program: Program, json: bool, every: bool) -> None:
    """Print tokens and costs per model and day."""
    found = collect(program.store.list(None if every else program.project))
    if json:
        say_json(found.to_json())
    elif on_terminal(sys.stdout) and found.total.count:
        _draw_stats(found)
    else:
        say("\n".join(lines(found)))


def show_sums(program: Program, by: By, since: str, as_csv: bool, json: bool, every: bool) -> None:
    """Print the sums of a group from a day on, as a table, comma-separated values or JSON."""
    infos = program.store.list(None if every or by == "project" else program.project)
    kept = [(info, after) for info, after in counted(infos) if local_day(info.time.updated) >= since]
    with Progress("Reading sessions") as progress:
        read = (Counted(info, program.store.records(info), after) for info, after in progress.through(kept, len(kept)))
        found = sums(read, by, program.models.known_spec, since)
    if as_csv:
        _write_csv(by, found)
    elif json:
        say_json({"by": by, "total": total(found.values()).row(), "rows": {n: one.row() for n, one in found.items()}})
    elif found:
        _print_sums(by, found, total(found.values()))
    else:
        say("Nothing spent yet.")


def _write_csv(by: By, found: dict[str, Sum]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([by, *COLUMNS])
    for name, one in found.items():
        values = one.row().values()
        writer.writerow([as_text(name), *("" if value is None else value for value in values)])


def as_text(name: str) -> str:
    """Return a name that no spreadsheet treats as a formula: names of folders and of servers' tools are external."""
    shown = safe_line(name)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def _print_sums(by: By, found: dict[str, Sum], whole: Sum) -> None:
    counts = "calls" if by == "tool" else "requests"
    heads = (by, "", counts, "fresh", "cache write", "cache read", "output", "cost")
    drawn = bars([one.cost or 0.0 for one in found.values()], 10)
    columns = [
        Column(heads[0], fills=True),
        Column(heads[1], from_width=100),
        *(
            Column(head, numeric=True, from_width=width)
            for head, width in zip(heads[2:], (0, 80, 90, 80, 60, 0), strict=True)
        ),
    ]
    rows = [[safe_line(name), bar, *_cells(one)] for (name, one), bar in zip(found.items(), drawn, strict=True)]
    print_table(columns, [*rows, ["total", "", *_cells(whole)]])


def _cells(one: Sum) -> list[str]:
    *counts, cost = one.row().values()
    known = cost if cost is None else float(cost)
    return [*(f"{count:,}" for count in counts), money(known)]


def _draw_stats(found: Stats) -> None:
    """Bars, tokens and cost, on a terminal."""
    from rich.bar import Bar
    from rich.table import Table
    from rich.text import Text

    screen = console()
    whole = found.total
    head = f"{plural(whole.count, 'session')}, {whole.usage.total:,} tokens, {money(whole.cost)}"
    screen.print(Text(head, style="bold"))
    for title, group in (("Per model", by_use(found.models)), ("Per day", found.days)):
        most = max((one.usage.total for one in group.values()), default=0)
        table = Table(
            box=None, padding=(0, 2, 0, 0), pad_edge=False, title=title, title_justify="left", title_style="dim"
        )
        table.add_column(no_wrap=True, overflow="ellipsis", header="")
        table.add_column(ratio=1, max_width=40)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for name, one in group.items():
            bar = Bar(most or 1, 0, one.usage.total, width=max(10, min(40, screen.width - 60)), color="cyan")
            table.add_row(Text(safe(name)), bar, f"{one.usage.total:,}", money(one.cost))
        table.show_header = False
        screen.print()
        screen.print(table)
