"""Session files of Gemini CLI: one JSON object, or, since 2026, JSON lines with amendments and rewinds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcli.core.aliases import GEMINI_CLI
from agentcli.core.errors import InputError
from agentcli.core.message import Image, Message, Part, Source, Status, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Settings
from agentcli.extras.importers.sessions.gemini_log import CONTEXTS, Entry, Log, call_name, folders, message_text, parts
from agentcli.extras.importers.sessions.jsonl import Json, objects, reading, seconds, utc
from agentcli.extras.importers.sessions.normalise import settle
from agentcli.extras.importers.sessions.tools import ours
from agentcli.sessions.imported import Content, Foreign, Imported, Item, Summary, images_of, sound

_STATUS: dict[str, Status] = {"success": "success", "error": "error", "cancelled": "interrupted"}
_FILES_BEGIN, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""Lines around the contents of files that the user attached with `@`."""
_NOT_THOUGHT = "skip_thought_signature_validator"
"""The signature of thoughts that no model had."""
_ENDING = re.compile(
    r"(?:\nError: .*)?(?:\nExit Code: (?P<code>-?\d+|\(none\)))?(?:\nSignal: (?P<signal>.*))?"
    r"(?:\nBackground PIDs: .*)?(?:\nProcess Group PGID: .*)?\Z"
)
"""The lines after the output of a shell command."""
_OWN = re.compile(r"\s*System: |\s*Please continue\.\s*\Z")
"""Texts that Gemini CLI inserts as the user's. They follow a loop, a broken reply, or a reply that asks to continue."""
_LONGEST_ENDING = 2000
_LONGEST_PATH = 4096


def read(lines: Iterable[str]) -> Imported:
    """Read the session in a Gemini CLI file; skip damaged messages with a note.

    Raises InputError if nothing is left.
    """
    log = _log("\n".join(lines))
    log.closed()
    items: list[Item] = []
    tokens = 0
    for key, entry in log.entries.items():
        try:
            with reading(entry.place):
                time = utc(entry.raw.get("timestamp"))
                contents = [_summary(entry, tokens)] if entry.summary else _contents(entry.raw, time)
                items.extend([sound(Item(time, one, key)) for one in contents])
                tokens = int((entry.raw.get("tokens") or {}).get("input") or tokens)
        except InputError as error:
            log.damaged.append(error)
    if log.damaged and not items:
        raise log.damaged[0]
    began, where = "", ""
    try:
        with reading("the head"):
            began = utc(log.head.get("startTime"))
            where = [*(log.head.get("directories") or ()), *folders(log.entries.values()), ""][0]
    except InputError as error:
        log.damaged.append(error)
    title = str(log.head.get("summary") or "")
    notes = (*log.notes, *(f"{error}; it was left out" for error in log.damaged))
    return settle(Foreign("gemini-cli", tuple(items), str(where), began, title=title, notes=notes))


def project_root(file: Path) -> str:
    """Return the folder of the sessions beside this file, if Gemini CLI recorded it; else an empty text."""
    for above in file.absolute().parents[1:3]:  # the sessions of subagents are one folder deeper
        try:
            root = (above / ".project_root").read_text(encoding="utf-8")[:_LONGEST_PATH].strip()
        except (OSError, ValueError):
            continue
        return root if root.startswith("/") and "\0" not in root else ""
    return ""


def _log(text: str) -> Log:
    log = Log()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        for number, line in objects(text.split("\n"), log.notes):
            try:
                with reading(f"line {number}"):
                    log.line(line, f"line {number}")
            except InputError as error:
                log.damaged.append(error)
        return log
    with reading("the file"):
        log.head = value
        log.rewrite(
            [(f"message {number}", {"id": str(number), **raw}) for number, raw in enumerate(value["messages"], 1)]
        )
    return log


def _summary(entry: Entry, tokens: int) -> Summary:
    return Summary(message_text(entry.raw), entry.kept_from, tokens)


def _contents(raw: Json, time: str) -> Iterable[Content]:
    match raw["type"]:
        case "user":
            yield from _asked(raw, time)
        case "gemini":
            yield from _replied(raw, time)
        case "error":
            yield Failure(message_text(raw), "model")
        case _:
            pass  # messages from the program to the user


def _asked(raw: Json, time: str) -> Iterable[Content]:
    """Yield results with their images, or a prompt or the program's text in its place."""
    content = list(parts(raw["content"]))
    answers = _answers(content)
    for call_id, answer in answers:
        yield _bare_result(call_id, answer, time)
    texts = [part for part in content if part.get("text")] if answers else content
    prompt = tuple(_prompt(texts))
    if prompt:
        yield Message("user", prompt)


def _prompt(content: Iterable[Json]) -> Iterable[Part]:
    """Yield the parts of a prompt; mark contexts and contents of attached files as not the user's own."""
    inside = False
    for part in _parts(content):
        if isinstance(part, Text):
            inside = inside or part.text.strip() == _FILES_BEGIN
            own = part.text.lstrip().startswith(CONTEXTS) or _OWN.match(part.text)
            source: Source = "reminder" if own else "file" if inside else ""
            inside = inside and part.text.strip() != _FILES_END
            part = replace(part, synthetic=bool(source), source=source)
        yield part


def _replied(raw: Json, time: str) -> Iterable[Content]:
    content = list(parts(raw.get("content")))
    thoughts = [Thinking(_thought(thought)) for thought in raw.get("thoughts") or ()]
    texts = [part for part in _parts(content) if not (thoughts and isinstance(part, Thinking))]
    calls = [_call(call) for call in _calls(raw, content)]
    model, usage = raw.get("model") or "", _usage(raw.get("tokens"))
    everything = (*thoughts, *texts, *calls)
    if everything:
        yield Message("assistant", everything, 0, "google", model, usage, None, "tool_use" if calls else "end_turn")
    elif usage:
        if model:
            yield Settings(model=f"google/{model}")
        yield Failure("Gemini CLI was ended before it wrote down what this reply asked for.", "model", usage)
    for call in raw.get("toolCalls") or ():
        if call.get("status") in _STATUS:
            yield _result(call, time)


def _calls(raw: Json, content: Iterable[Json]) -> Iterable[Json]:
    """Return a reply's calls. A rewritten history has them among its parts, its own line beside them. Some repeat an
    id.
    """
    calls: dict[tuple[str, int], Json] = {}
    for told in ([part["functionCall"] for part in content if "functionCall" in part], raw.get("toolCalls") or ()):
        seen: Counter[str] = Counter()
        for call in told:
            name = call_name(call)
            calls[name, seen[name]] = call
            seen[name] += 1
    return calls.values()


def _thought(raw: Json) -> str:
    return "\n".join(text for text in (raw.get("subject"), raw.get("description")) if text)


def _usage(raw: Json | None) -> Usage | None:
    """Convert the usage. Gemini CLI's `input` is the whole prompt, its `output` the reply without thoughts."""
    if not raw:
        return None
    cached, thoughts = int(raw.get("cached") or 0), int(raw.get("thoughts") or 0)
    prompt = int(raw.get("input") or 0) + int(raw.get("tool") or 0)
    return Usage(max(prompt - cached, 0), int(raw.get("output") or 0) + thoughts, thoughts, cached)


def _call(raw: Json) -> ToolCall:
    name, arguments = ours(GEMINI_CLI, raw["name"], raw.get("args") or {})
    return ToolCall(call_name(raw), name, arguments)


def _result(call: Json, time: str) -> ToolResult:
    answers = _answers(list(parts(call.get("result"))))
    own = [answer for name, answer in answers if name == call_name(call)]
    answer = [part for those in own or [answer for _, answer in answers] for part in those]
    display = call.get("resultDisplay")
    metadata = _metadata(display if isinstance(display, dict) else {})
    moment = seconds(call.get("timestamp") or time)
    status = _STATUS[call["status"]]
    output = _output(answer)
    name = ours(GEMINI_CLI, call["name"], {})[0]
    if name == "bash" and status == "success":
        failed, ending = _ended(output, display)
        metadata |= ending
        status = "error" if failed else status
    return ToolResult(call_name(call), name, status, output, ended=moment, metadata=metadata, images=_images(answer))


def _bare_result(call_id: str, answer: Sequence[Json], time: str) -> ToolResult:
    """Make a result from its text for the model, if nothing else is known."""
    response = answer[0]["functionResponse"]
    name, output = ours(GEMINI_CLI, response["name"], {})[0], _output(answer)
    failed, metadata = _ended(output, None) if name == "bash" else (False, {})
    status: Status = "error" if failed or "error" in (response.get("response") or {}) else "success"
    return ToolResult(call_id, name, status, output, ended=seconds(time), metadata=metadata, images=_images(answer))


def _answers(content: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """Return each result after its call's name: a function response, and the images after it."""
    answers: list[tuple[str, list[Json]]] = []
    for part in content:
        if "functionResponse" in part:
            answers.append((call_name(part["functionResponse"]), [part]))
        elif answers and "inlineData" in part:
            answers[-1][1].append(part)
    return answers


def _output(answer: Iterable[Json]) -> str:
    """Return the result as the model got it: the text inside each function response."""
    texts = []
    for part in answer:
        if "functionResponse" in part:
            response = part["functionResponse"].get("response") or {}
            output = response.get("output", response.get("error", response))
            texts.append(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
        elif part.get("text"):
            texts.append(part["text"])
    return "\n".join(texts)


def _images(answer: Iterable[Json]) -> tuple[Image, ...]:
    """Return a result's images: inside the function response, or after it for models that need them there."""
    every = [inner for part in answer for inner in (part, *((part.get("functionResponse") or {}).get("parts") or ()))]
    return images_of(_parts(every))


def _ended(output: str, display: Any) -> tuple[bool, Json]:
    """Return a shell command's failure and exit code, from the lines after its output; since 2026 they omit code 0."""
    text = output.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>").rstrip()
    if not text.startswith(("Output: ", "Command: ")):
        return False, {}  # cancelled, or sent to the background
    short = text.startswith("Output: ")
    if isinstance(display, str) and display.strip():
        text = text.removeprefix(f"Output: {display.rstrip()}")
    ending = _ENDING.search(text[-_LONGEST_ENDING:])
    code, signal = (ending["code"], ending["signal"]) if ending else (None, None)
    if code and code != "(none)":
        return code != "0", {"exit_code": int(code)}
    if signal and signal != "(none)":
        return True, {}
    return False, {"exit_code": 0} if short else {}


def _metadata(display: Json) -> Json:
    """Return an edit's diff, as Gemini CLI stored it for display."""
    if not isinstance(display.get("fileDiff"), str):
        return {}
    known: Json = {"diff": display["fileDiff"]}
    if display.get("filePath") or display.get("fileName"):
        known["path"] = display.get("filePath") or display["fileName"]
    counted = display.get("diffStat") or {}
    if "model_added_lines" in counted:
        known |= {"additions": counted["model_added_lines"], "deletions": counted.get("model_removed_lines", 0)}
    if display.get("isNewFile"):
        known["created"] = True
    return known


def _parts(content: Iterable[Json]) -> Iterable[Part]:
    for raw in content:
        if raw.get("text") and not (raw.get("thought") and raw.get("thoughtSignature") == _NOT_THOUGHT):
            yield Thinking(raw["text"]) if raw.get("thought") else Text(raw["text"])
        elif "inlineData" in raw and str(raw["inlineData"].get("mimeType")).startswith("image/"):
            yield Image(raw["inlineData"]["mimeType"], raw["inlineData"]["data"])
