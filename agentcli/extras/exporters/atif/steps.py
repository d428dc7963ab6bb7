"""Steps of the Agent Trajectory Interchange Format (ATIF v1.8), made from records one at a time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from agentcli.context.inject import injections_first, wrapped
from agentcli.core.codec.encode import body_to_json
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Pin,
    Prune,
    Record,
    Retry,
    Settings,
    Title,
    Todo,
    Undo,
    Unknown,
    Unpin,
)
from agentcli.sessions.exporting.transcript import Clean

Json = dict[str, Any]
EMPTY = "This session has no record that can be read."
PICTURES = {"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp"}
"""The types of images that the format knows, with their file endings."""
_PROVIDER_DATA = frozenset({"meta", "signature"})
"""Fields that only the provider can read; they are omitted."""
_IN_MESSAGE: Mapping[type, frozenset[str]] = {
    Compaction: frozenset({"snapshot", "carry"}),
    Settings: frozenset({"system"}),
    Failure: frozenset({"message"}),
}
"""Record fields that `extra` does not repeat: they are the step's message, or follow from earlier records."""


class StepBuilder:
    """Builder of steps from records, oldest first. A step is yielded once no record can add to it.

    `clean` filters all texts. `place` returns an image's path or URL, `whole` the path of a whole output. `embedded`
    are the ids of the subagents' trajectories in the document. Steps of the first `copied` records are copies from
    another session. `usage` and `requests` add up the agent's steps.
    """

    def __init__(
        self,
        clean: Clean,
        place: Callable[[Image], str],
        whole: Callable[[str], str],
        embedded: Sequence[str] = (),
        copied: int = 0,
    ) -> None:
        self._clean, self._place, self._whole = clean, place, whole
        self._embedded, self._copied = frozenset(embedded), copied
        self._pending: list[Json] = []
        self._beside: list[Json] = []
        self._unanswered: set[str] = set()
        self._tools: Sequence[Any] | None = None
        self._seqs: list[int] = []
        self.usage = Usage()
        self.requests = 0

    @property
    def count(self) -> int:
        """The number of steps so far."""
        return len(self._seqs)

    def add(self, record: Record) -> Iterator[Json]:
        """Add a record; yield the steps that are complete now."""
        body = record.body
        match body:
            case Message():
                yield from self._released()
                self._message(record, body)
            case ToolResult():
                if not self._unanswered:
                    yield from self._released()
                self._result(record, body)
            case Settings() | Compaction() | Prune() | Undo() | Failure():
                if not self._unanswered:
                    yield from self._released()
                self._system(record)
            case Pin() | Unpin() | Retry() | Title() | Todo() | Checkpoint() | FeatureState() | InnerCall() | Unknown():
                self._aside({"seq": record.seq, "id": record.id, "time": record.time, "kind": record.kind}, record)
            case _:
                assert_never(body)

    def finish(self) -> Iterator[Json]:
        """Yield the last steps, so that there is at least one in total."""
        if not self._seqs:
            self._begin(Record(0, "", "", "", Unknown("", {})), "system", EMPTY, {})
        yield from self._released()

    def _released(self) -> Iterator[Json]:
        done, self._pending = self._pending, []
        self._unanswered = set()
        yield from done

    def _begin(self, record: Record, source: str, message: str | list[Json], extra: Json) -> Json:
        self._seqs.append(record.seq)
        beside, self._beside = self._beside, []
        time = {"timestamp": record.time} if _is_iso(record.time) else {}
        step: Json = {"step_id": self.count, **time, "source": source, "message": message}
        if record.seq <= self._copied:
            step["is_copied_context"] = True
        step["extra"] = {"record": record.seq, **extra, **({"records": beside} if beside else {})}
        self._pending.append(step)
        return step

    def _message(self, record: Record, message: Message) -> None:
        if message.role == "user":
            typed = {"typed": self._text(message.typed)} if message.typed != message.text else {}
            parts = [wrapped(part) for part in injections_first(message.parts)]
            own = {} if message.is_prompt else {"synthetic": True}
            asked = {"turn": message.turn, **typed, **own, **self._paths(parts)}
            self._begin(record, "user", self._content(parts, "\n\n"), asked)
            return
        extra = {"turn": message.turn, "stop": message.stop, "error": self._text(message.error)}
        parts = [wrapped(part) for part in message.parts if not isinstance(part, Thinking | ToolCall)]
        content = self._content(parts, "")
        step = self._begin(record, "agent", content, {name: value for name, value in extra.items() if value})
        step["llm_call_count"] = 1
        if name := "/".join(filter(None, (message.provider, message.model))):
            step["model_name"] = name
        thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text]
        if thoughts:
            step["reasoning_content"] = self._text("\n\n".join(thoughts))
        if message.calls:
            step["tool_calls"] = [self._call(call) for call in message.calls]
        if message.usage is not None:
            step["metrics"] = _metrics(message.usage, message.cost)
            self.usage += message.usage
        self.requests += 1
        self._unanswered = {call.call_id for call in message.calls}

    def _call(self, call: ToolCall) -> Json:
        return {"tool_call_id": call.call_id, "function_name": call.name, "arguments": self._json(call.input)}

    def _result(self, record: Record, result: ToolResult) -> None:
        """Add a result to the step of its call; a result without a call becomes a step of its own."""
        answer: Json = {"content": self._answer(result)}
        session = result.metadata.get("session")
        if isinstance(session, str) and session in self._embedded:
            answer["subagent_trajectory_ref"] = [{"trajectory_id": session, "session_id": session}]
        raw = body_to_json(result)
        extra = {
            "record": record.seq,
            "name": result.name,
            "status": result.status,
            "title": self._text(result.title),
            "time": raw["time"],
            "metadata": self._json(result.metadata),
        }
        if result.truncated and (whole := self._whole(result.output_file)):
            extra["whole_output"] = self._text(whole)
        answer["extra"] = {name: value for name, value in extra.items() if value} | self._paths(result.images)
        if result.call_id in self._unanswered:
            self._unanswered.discard(result.call_id)
            step = self._pending[0]
            step.setdefault("observation", {"results": []})["results"].append(
                {"source_call_id": result.call_id, **answer}
            )
            return
        answer["extra"]["call_id"] = result.call_id
        step = self._begin(record, "system", f"Result of {result.name}, whose call is missing.", {})
        step["observation"] = {"results": [answer]}

    def _answer(self, result: ToolResult) -> str | list[Json]:
        return self._content([Text(result.output), *result.images], "")

    def _system(self, record: Record) -> None:
        body = record.body
        raw = body_to_json(body)
        if isinstance(body, Settings) and body.tools:
            # The document's head has the first tools; later steps repeat them only after a change.
            if self._tools in (None, raw["tools"]):
                self._tools = raw.pop("tools")
            else:
                self._tools = raw["tools"]
        repeated = _IN_MESSAGE.get(type(body), frozenset()) - ({"carry"} if self.count == 0 else set())
        facts = self._json({name: value for name, value in raw.items() if name not in repeated})
        if isinstance(body, Undo) and body.target == "rewind":
            facts["steps"] = [bisect_right(self._seqs, body.seq) + 1, self.count]
        self._begin(record, "system", self._text(_message_of(body)), {record.kind: facts})

    def _aside(self, head: Json, record: Record) -> None:
        raw = {**head, **self._json(body_to_json(record.body))}
        if self._pending:
            self._pending[-1]["extra"].setdefault("records", []).append(raw)
        else:
            self._beside.append(raw)

    def _paths(self, parts: Sequence[Part]) -> Json:
        """Return the original files of images: the format has no place for them."""
        paths = [self._text(part.path) for part in parts if isinstance(part, Image) and part.path]
        return {"images": paths} if paths else {}

    def _content(self, parts: Sequence[Part], between: str) -> str | list[Json]:
        """Return the parts as one text, or as a list if there is an image among them."""
        pieces = [self._piece(part) for part in parts]
        if all(piece["type"] == "text" for piece in pieces):
            return between.join(piece["text"] for piece in pieces)
        return [piece for piece in pieces if piece.get("text") != ""]

    def _piece(self, part: Part) -> Json:
        match part:
            case Text(text) | Thinking(text) | File(text=text):
                return {"type": "text", "text": self._text(text)}
            case Image(mime) if mime in PICTURES:
                return {"type": "image", "source": {"media_type": mime, "path": self._place(part)}}
            case Image():
                return {"type": "text", "text": data_url(part)}
            case ToolCall(name=name):
                return {"type": "text", "text": name}

    def _text(self, text: str) -> str:
        return _plain(self._clean(text)) if text else ""

    def _json(self, value: Any) -> Any:
        """Return JSON data with every text cleaned, and without fields that only a provider can read."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            kept = ((name, inner) for name, inner in value.items() if name not in _PROVIDER_DATA)
            return {_plain(str(name)): self._json(inner) for name, inner in kept}
        if isinstance(value, list | tuple):
            return [self._json(inner) for inner in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value


def data_url(image: Image) -> str:
    """Return the image itself as a URL."""
    return f"data:{image.mime};base64,{image.data}"


def tool_definitions(tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Return tools in the form of OpenAI's function calling."""
    return [{"type": "function", "function": dict(tool)} for tool in tools]


def _metrics(usage: Usage, cost: float | None) -> Json:
    more = {"cache_write_tokens": usage.cache_write, "reasoning_tokens": usage.reasoning}
    more = {name: count for name, count in more.items() if count}
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        **({} if cost is None else {"cost_usd": cost}),
        **({"extra": more} if more else {}),
    }


def _message_of(body: object) -> str:
    match body:
        case Settings(model, mode, policy, system):
            named = {"Model": model, "mode": mode, "policy": policy}
            return "\n\n".join(system) or ", ".join(f"{name}: {value}" for name, value in named.items() if value)
        case Compaction() as cut:
            return cut.snapshot or f"Compaction ({cut.policy}): {cut.status}. {cut.note}".rstrip()
        case Prune() as prune:
            return f"Cleared {len(prune.cleared)} old calls ({prune.tokens:,} tokens): {prune.reason}"
        case Undo(seq, "rewind"):
            return f"Rewound to record {seq}."
        case Undo(seq, target):
            return f"Undid the {target} of record {seq}."
        case Failure(message):
            return message
        case _:
            return ""


def _is_iso(time: str) -> bool:
    try:
        datetime.fromisoformat(time.replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


def _plain(text: str) -> str:
    """Replace lone surrogates, which most readers of JSON refuse."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
