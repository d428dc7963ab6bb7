"""`agentcli stats`: totals over sessions, and what a session would have cost with another model."""

from __future__ import annotations

import csv
import sys
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import AllProjects, InFolder, Json
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.extras import extra
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.features.costs.stats import Stats
    from agentcli.features.costs.sums import Sum
    from agentcli.program.program import Program

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)


class By(StrEnum):
    """The groups of sums."""

    DAY = "day"
    PROJECT = "project"
    MODEL = "model"
    TOOL = "tool"
    ACCOUNT = "account"


Grouped = Annotated[
    By | None, typer.Option("--by", help="sum up the requests in the records by day, project, model, tool or account")
]
Since = Annotated[
    str, typer.Option("--since", metavar="DAY", help="with --by: only requests from this day on (2026-01-31)")
]
Csv = Annotated[bool, typer.Option("--csv", help="print comma-separated values")]


@app.command()
def show(
    by: Grouped = None,
    since: Since = "",
    csv: Csv = False,
    json: Json = False,
    all: AllProjects = False,
    cwd: InFolder = "",
) -> None:
    """Show sums per model and day, or exact ones with --by."""
    from agentcli.features.costs.stats import collect, lines

    if csv and json:
        raise UsageError("Use either --csv or --json.")
    program = program_of(Options(cwd=cwd))
    if by is not None or csv or since:
        _show_sums(program, by or By.DAY, _day(since), csv, json, all)
        return
    found = collect(program.store.list(None if all else program.project))
    if json:
        say_json(found.to_json())
    elif on_terminal(sys.stdout) and found.total.count:
        _draw_stats(found)
    else:
        say("\n".join(lines(found)))


app.command("what-if")(extra("agentcli stats what-if"))


def _day(since: str) -> str:
    """Return a day in ISO form. Raises UsageError."""
    try:
        return date.fromisoformat(since).isoformat() if since else ""
    except ValueError:
        raise UsageError(f"{since!r} is not a date. Use the form 2026-01-31.") from None


def _show_sums(program: Program, by: By, since: str, as_csv: bool, json: bool, every: bool) -> None:
    from agentcli.features.costs.stats import counted
    from agentcli.features.costs.sums import Counted, sums, total
    from agentcli.sessions.info import local_day

    infos = program.store.list(None if every or by is By.PROJECT else program.project)
    kept = [(info, after) for info, after in counted(infos) if local_day(info.time.updated) >= since]
    with Progress("Reading sessions") as progress:
        read = (Counted(info, program.store.records(info), after) for info, after in progress.through(kept, len(kept)))
        found = sums(read, by.value, program.models.known_spec, since)
    if as_csv:
        _write_csv(by, found)
    elif json:
        say_json(
            {"by": by.value, "total": total(found.values()).row(), "rows": {n: one.row() for n, one in found.items()}}
        )
    elif found:
        _print_sums(by, found, total(found.values()))
    else:
        say("Nothing spent yet.")


def _write_csv(by: By, found: dict[str, Sum]) -> None:
    from agentcli.features.costs.sums import COLUMNS

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([by.value, *COLUMNS])
    for name, one in found.items():
        values = one.row().values()
        writer.writerow([as_text(name), *("" if value is None else value for value in values)])


def as_text(name: str) -> str:
    """Return a name that no spreadsheet treats as a formula: names of folders and of servers' tools are external."""
    shown = safe_line(name)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def _print_sums(by: By, found: dict[str, Sum], whole: Sum) -> None:
    from agentcli.core.costs import bars

    counts = "calls" if by is By.TOOL else "requests"
    heads = (by.value, "", counts, "fresh", "cache write", "cache read", "output", "cost")
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
    from agentcli.core.costs import money

    *counts, cost = one.row().values()
    known = cost if cost is None else float(cost)
    return [*(f"{count:,}" for count in counts), money(known)]


def _draw_stats(found: Stats) -> None:
    """Bars, tokens and cost, on a terminal."""
    from rich.bar import Bar
    from rich.table import Table
    from rich.text import Text

    from agentcli.core.costs import money
    from agentcli.features.costs.stats import by_use

    screen = console()
    total = found.total
    head = f"{plural(total.count, 'session')}, {total.usage.total:,} tokens, {money(total.cost)}"
    screen.print(Text(head, style="bold"))
    for title, sums in (("per model", by_use(found.models)), ("per day", found.days)):
        most = max((one.usage.total for one in sums.values()), default=0)
        table = Table(
            box=None, padding=(0, 2, 0, 0), pad_edge=False, title=title, title_justify="left", title_style="dim"
        )
        table.add_column(no_wrap=True, overflow="ellipsis", header="")
        table.add_column(ratio=1, max_width=40)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for name, one in sums.items():
            bar = Bar(most or 1, 0, one.usage.total, width=max(10, min(40, screen.width - 60)), color="cyan")
            table.add_row(Text(safe(name)), bar, f"{one.usage.total:,}", money(one.cost))
        table.show_header = False
        screen.print()
        screen.print(table)
