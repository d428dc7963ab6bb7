"""Rules of the Agent Trajectory Interchange Format v1.8, as its documentation states them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

_FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "trajectory": {
        "schema_version": str,
        "session_id": str,
        "trajectory_id": str,
        "agent": dict,
        "steps": list,
        "notes": str,
        "final_metrics": dict,
        "continued_trajectory_ref": str,
        "extra": dict,
        "subagent_trajectories": list,
    },
    "agent": {"name": str, "version": str, "model_name": str, "tool_definitions": list, "extra": dict},
    "step": {
        "step_id": int,
        "timestamp": str,
        "source": str,
        "model_name": str,
        "reasoning_effort": (str, float),
        "message": (str, list),
        "reasoning_content": str,
        "tool_calls": list,
        "observation": dict,
        "metrics": dict,
        "is_copied_context": bool,
        "llm_call_count": int,
        "extra": dict,
    },
    "call": {"tool_call_id": str, "function_name": str, "arguments": dict, "extra": dict},
    "observation": {"results": list},
    "result": {"source_call_id": str, "content": (str, list), "subagent_trajectory_ref": list, "extra": dict},
    "reference": {"trajectory_id": str, "session_id": str, "trajectory_path": str, "extra": dict},
    "piece": {"type": str, "text": str, "source": dict},
    "metrics": {
        "prompt_tokens": int,
        "completion_tokens": int,
        "cached_tokens": int,
        "cost_usd": (int, float),
        "extra": dict,
    },
    "final_metrics": {
        "total_prompt_tokens": int,
        "total_completion_tokens": int,
        "total_cached_tokens": int,
        "total_cost_usd": (int, float),
        "total_steps": int,
        "extra": dict,
    },
}
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "trajectory": ("schema_version", "agent", "steps", "trajectory_id"),
    "agent": ("name", "version"),
    "step": ("step_id", "source", "message"),
    "call": ("tool_call_id", "function_name", "arguments"),
    "observation": ("results",),
    "piece": ("type",),
}
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def problems(document: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a trajectory and those embedded in it."""
    yield from _shape("trajectory", document)
    if document.get("schema_version") != "ATIF-v1.8":
        yield "schema_version"
    yield from _shape("agent", document["agent"])
    yield from _shape("final_metrics", document.get("final_metrics", {}))
    inner = document.get("subagent_trajectories", [])
    ids = [each.get("trajectory_id") for each in inner]
    if len(set(ids)) < len(ids) or not all(ids):
        yield "embedded trajectories need unique ids"
    if [step["step_id"] for step in document["steps"]] != list(range(1, len(document["steps"]) + 1)):
        yield "step ids are 1, 2, 3 …"
    if not document["steps"]:
        yield "there are no steps"
    for step in document["steps"]:
        yield from (f"step {step['step_id']}: {problem}" for problem in _step(step, set(ids)))
    for each in inner:
        yield from problems(each)


def _step(step: Mapping[str, Any], embedded: set[Any]) -> Iterator[str]:
    yield from _shape("step", step)
    if step["source"] not in ("system", "user", "agent"):
        yield f"source {step['source']}"
    if step["source"] != "agent":
        yield from (f"{name} on a step of {step['source']}" for name in _AGENT_ONLY if name in step)
    if "timestamp" in step:
        datetime.fromisoformat(step["timestamp"].replace("Z", "+00:00"))
    yield from _content(step["message"])
    yield from _shape("metrics", step.get("metrics", {}))
    for call in step.get("tool_calls", ()):
        yield from _shape("call", call)
    known = {call["tool_call_id"] for call in step.get("tool_calls", ())}
    yield from _shape("observation", step.get("observation", {"results": []}))
    for result in step.get("observation", {"results": []})["results"]:
        yield from _shape("result", result)
        yield from _content(result.get("content", ""))
        if result.get("source_call_id", None) not in {None, *known}:
            yield f"a result of {result['source_call_id']}, which this step does not call"
        for reference in result.get("subagent_trajectory_ref", ()):
            yield from _shape("reference", reference)
            if reference.get("trajectory_id") not in embedded:
                yield f"{reference} leads nowhere"


def _content(content: str | list[Mapping[str, Any]]) -> Iterator[str]:
    for piece in content if isinstance(content, list) else ():
        yield from _shape("piece", piece)
        match piece:
            case {"type": "text", "text": str()} if "source" not in piece:
                pass
            case {"type": "image", "source": {"media_type": kind, "path": str(), **more}} if "text" not in piece:
                if more or kind not in ("image/jpeg", "image/png", "image/gif", "image/webp"):
                    yield f"image {kind}"
            case _:
                yield f"piece {piece}"


def _shape(kind: str, value: Mapping[str, Any]) -> Iterator[str]:
    """Unknown fields, fields of a wrong type, and required ones that are missing."""
    fields = _FIELDS[kind]
    yield from (f"{kind} has no field {name}" for name in value if name not in fields)
    yield from (
        f"{kind}.{name} is {each!r:.60}"
        for name, each in value.items()
        if not isinstance(each, fields.get(name, object))
    )
    yield from (f"{kind} needs {name}" for name in _REQUIRED.get(kind, ()) if name not in value and value)
