"""Results of a batch: lines for scripts, an HTML report, and predictions for SWE-bench. Its trees and refs are
removed here, too.
"""

from __future__ import annotations

import contextlib
import gzip
import html
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, InputError
from agentcli.core.text.secrets import known_secrets
from agentcli.extras.batch import trees
from agentcli.extras.batch.ledger import DIED, FINAL, Row, TaskState, fold, present_rows, rows
from agentcli.extras.batch.plan import counted
from agentcli.extras.batch.work import SESSION, folder_of, session_cost
from agentcli.extras.importers.sessions.own import read_source
from agentcli.sessions.exporting import collect, export
from agentcli.system import probe
from agentcli.system.git import git
from agentcli.system.paths import app_dirs, replace_file

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.sessions.exporting import Source


Through = Callable[[Iterable[Any]], Iterable[Any]]
"""Function that passes items through unchanged; it may show their number."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as stored in its folder: `tasks` maps ids to digest, repository and base commit."""

    out: Path
    name: str
    options: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    states: Mapping[str, TaskState]

    @property
    def cost(self) -> float:
        """Cost of all tasks in USD."""
        return sum(state.cost for state in self.states.values())


def load(out: Path) -> Batch:
    """Read a batch. Raise InputError for a folder without one."""
    try:
        raw = json.loads((out / "batch.json").read_text())
        return Batch(out, raw["name"], raw["options"], raw["tasks"], _with_costs(present_rows(out)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{out} is not a batch: can't read batch.json.") from error


def _with_costs(found: Sequence[Row]) -> Mapping[str, TaskState]:
    """Return the states with the costs of unfinished starts, from their sessions' records."""
    states, dirs = fold(found), app_dirs()
    more = []
    for state in states.values():
        for attempt in state.attempts.values():
            row = attempt.newest
            unknown = row.state == "running" or (row.why == DIED and not row.cost)
            total = session_cost(dirs, row.session) if unknown else None
            if total:
                more.append(replace(row, cost=max(0.0, total - attempt.session_cost)))
    return fold([*found, *more]) if more else states


def result_lines(batch: Batch) -> Iterator[Mapping[str, Any]]:
    """Yield a line for each task, in the order of the tasks."""
    for id, task in batch.tasks.items():
        yield result_line(id, batch.states.get(id), task.get("meta"))


def result_line(id: str, state: TaskState | None, meta: object = None) -> Mapping[str, Any]:
    """Return the line of one task; `state` is None for a task that was never started."""
    row = state.newest if state else None
    return {
        "id": id,
        "state": row.state if row else "new",
        "attempts": row.attempt if row else 0,
        "cost": round(state.cost, 6) if state else 0.0,
        "usage": dict(row.usage) if row else {},
        "seconds": row.seconds if row else 0.0,
        "session": row.session if row else "",
        "commit": row.commit if row else "",
        "check": row.check if row else None,
        "patch_lines": row.patch_lines if row else 0,
        "text": row.text if row else "",
        "error": row.why if row else "",
        "meta": meta,
    }


def summary(batch: Batch) -> str:
    """Return the batch in one line: `37/200 · 31 passed 6 failed · $4.12 of $20 · 8 running`."""
    counts = dict(counted(batch.states))
    running = counts.pop("running", 0)
    done = sum(counts.get(state, 0) for state in FINAL)
    listed = " ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    cap = batch.options.get("cap")
    money = f"${batch.cost:.2f}" + (f" of ${cap:g}" if cap else "")
    return " · ".join(
        filter(None, (f"{done}/{len(batch.tasks)}", listed, money, f"{running} running" if running else ""))
    )


def write_report(batch: Batch) -> Path:
    """Write `results.jsonl` and `report.html`, which links the existing pages of sessions; return the report's path."""
    found = list(result_lines(batch))
    replace_file(batch.out / "results.jsonl", "".join(json.dumps(line) + "\n" for line in found))
    head = ("id", "state", "attempts", "cost", "seconds", "patch_lines", "session", "commit", "error")
    body = ""
    for line in found:
        cells = [html.escape(str(line[name])) for name in head]
        page = _page(batch, str(line["id"]))
        if page is not None and probe.exists(page):
            cells[0] = f'<a href="{html.escape(str(page.relative_to(batch.out)))}">{cells[0]}</a>'
        body += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
    titles = "".join(f"<th>{name}</th>" for name in head)
    report = batch.out / "report.html"
    replace_file(
        report,
        f'<!doctype html><meta charset="utf-8"><title>{html.escape(batch.name)}</title>'
        "<style>body{font:14px sans-serif}td,th{padding:2px 10px;text-align:left;vertical-align:top}</style>"
        f"<h1>{html.escape(summary(batch))}</h1><table><tr>{titles}</tr>\n{_writable(body)}</table>\n",
    )
    return report


def _writable(text: str) -> str:
    """Return a text without characters that cannot be encoded, such as half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


def write_pages(batch: Batch, context: Project, through: Through = iter) -> None:
    """Export each task's session as a page, with secrets redacted; skip sessions that no longer exist.

    The tasks pass `through` a callback that may show progress.
    """
    secrets = known_secrets(context.env)
    for id, state in through(batch.states.items()):
        page = _page(batch, id)
        if page is None or not probe.is_dir(page.parent):
            continue
        with contextlib.suppress(AgentError):
            replace_file(
                page, _writable(export(_source(context, state.newest.session, page.parent), "html", secrets=secrets))
            )


def _source(context: Project, id: str, folder: Path) -> Source:
    """Return a task's session from the store, or from the export if it ran elsewhere.

    Raise AgentError if neither has it.
    """
    try:
        info = context.store.find(id)
    except AgentError:
        try:
            data = gzip.decompress((folder / SESSION).read_bytes())
        except (OSError, EOFError) as error:
            raise InputError(f"Session {id} is not here: {error}.") from error
        return read_source(data.decode("utf-8", "surrogatepass"))
    return collect(context.store.open(info.project_id, info.id, read_only=True))


def _page(batch: Batch, id: str) -> Path | None:
    state = batch.states.get(id)
    row = state.newest if state else None
    return folder_of(batch.out, id, row.attempt, row.token) / "session.html" if row else None


def clean(batch: Batch, cache: Path, through: Through = iter) -> int:
    """Remove a batch's trees and refs; return the number of trees.

    Its folder and sessions stay. Its rows pass `through`.
    """
    kinds = {"worktree", "clone", "copy"}
    removed = 0
    for row in through(rows(batch.out)):
        repo = batch.tasks.get(row.id, {}).get("repo", "")
        if row.worktree and repo and probe.is_dir(Path(row.worktree)) and batch.options.get("isolation") in kinds:
            trees.remove_tree(cache, repo, Path(row.worktree), batch.options["isolation"])
            removed += 1
    for repo in {entry["repo"] for entry in batch.tasks.values() if entry["base"]}:
        listed = git(repo, "for-each-ref", "--format=%(refname)", f"{trees.REFS}/{batch.name}/")
        for ref in listed.splitlines():
            git(repo, "update-ref", "-d", ref)
        git(repo, "worktree", "prune")
    return removed


def predictions(batch: Batch) -> Iterator[Mapping[str, str]]:
    """Yield a line for each task in a final state, with its id as instance id. The patch of a failed task counts, too."""
    for id in batch.tasks:
        state = batch.states.get(id)
        if state is None or state.state not in FINAL:
            continue
        folder = folder_of(batch.out, id, state.newest.attempt, state.newest.token)
        patch = folder / "patch.diff"
        yield {
            "instance_id": id,
            "model_name_or_path": _model_of(folder / "events.jsonl"),
            "model_patch": patch.read_text(encoding="utf-8", errors="replace") if probe.is_file(patch) else "",
        }


def _model_of(events: Path) -> str:
    """Return the model of a run, from the first event of its stream."""
    if probe.is_file(events):
        with events.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("{") and (event := json.loads(line)).get("type") == "init":
                    return str(event.get("model") or "agentcli")
    return "agentcli"
