"""The outputs and the step summary of a run of agentcli; $OUT is the folder that run.sh has filled."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from agentcli.core.text.secrets import redact

OUT = Path(os.environ["OUT"])
SHOW = os.environ["INPUT_SHOW_FULL_OUTPUT"] == "true"
LONGEST = 60_000
"""Characters of an answer in the summary."""


def main() -> None:
    """Write the files that GitHub names."""
    code = (OUT / "exit_code").read_text().strip() if (OUT / "exit_code").is_file() else "1"
    if (OUT / "batch" / "results.jsonl").is_file():
        outputs, summary = of_batch(OUT / "batch" / "results.jsonl")
    else:
        outputs, summary = of_prompt()
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        for name, value in {**outputs, "exit_code": code}.items():
            # A delimiter that nobody can know: text could otherwise set outputs of its own.
            end = f"end-{secrets.token_hex(16)}"
            file.write(f"{name}<<{end}\n{value}\n{end}\n")
    with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
        file.write(f"### agentcli: {'done' if code == '0' else f'exit code {code}'}\n\n{summary}\n")


def of_prompt() -> tuple[dict[str, str], str]:
    """Outputs and summary of one prompt."""
    result = last_result(OUT / "events.jsonl")
    (OUT / "results.jsonl").write_text(json.dumps(result) + "\n" if result else "")
    text, usage = str(result.get("text") or ""), result.get("usage") or {}
    prompt = sum(usage.get(name, 0) for name in ("input", "cache_read", "cache_write"))
    rows = {
        "status": result.get("subtype") or "no result",
        "session": result.get("session_id"),
        "turns": result.get("turns"),
        "cost": money(result.get("cost")),
        "tokens": f"{prompt:,} in, {usage.get('output', 0):,} out",
        "denied": len(result.get("permission_denials") or ()) or None,
        "check": failed_check(),
        "error": result.get("error") or (None if result else last_line(OUT / "stderr.txt")),
    }
    summary = table(["", ""], [[name, value] for name, value in rows.items() if value is not None])
    if SHOW and text:
        summary += f"\n{redact(text)[:LONGEST]}\n"
    cost = "" if result.get("cost") is None else str(result["cost"])
    session = str(result.get("session_id") or "")
    return {"text": text, "session_id": session, "cost": cost, "results": str(OUT / "results.jsonl")}, summary


def of_batch(results: Path) -> tuple[dict[str, str], str]:
    """Outputs and summary of a batch."""
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    passed = sum(line["state"] == "passed" for line in lines)
    cost = sum(line["cost"] or 0.0 for line in lines)
    text = f"{passed} of {len(lines)} tasks passed, {money(cost)}"
    names = ("id", "state", "attempts", "cost", "seconds", "patch_lines", "error")
    summary = f"{text}\n\n" + table(list(names), [[line.get(name) for name in names] for line in lines])
    return {"text": text, "session_id": "", "cost": str(cost), "results": str(results)}, summary


def last_result(events: Path) -> dict[str, Any]:
    """The result of a run, which is its last event; empty if it was killed before."""
    for line in reversed(events.read_text(encoding="utf-8").split("\n") if events.is_file() else []):
        if line.startswith("{"):
            event: dict[str, Any] = json.loads(line)
            return event if event.get("type") == "result" else {}
    return {}


def failed_check() -> str | None:
    """The end of the check, if there was one."""
    if not (OUT / "check_code").is_file():
        return None
    code = (OUT / "check_code").read_text().strip()
    return "passed" if code == "0" else f"failed with exit code {code}, see check.txt in the artefact"


def last_line(file: Path) -> str:
    """The last line of a file, empty if there is none."""
    lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines() if file.is_file() else []
    return lines[-1] if lines else ""


def money(cost: float | None) -> str | None:
    """An amount for people."""
    return None if cost is None else f"${cost:.4f}"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table in Markdown; nothing in a cell can end it, and nothing secret stands in it."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell(value) for value in line)} |\n" for line in lines)


def cell(value: Any) -> str:
    """A value as the text of a cell."""
    text = " ".join(redact("" if value is None else str(value)).split())[:500]
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    main()
