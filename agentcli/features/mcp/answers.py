"""Servers' answers in the protocol's form: each tool, prompt, resource and block is repaired or dropped separately.

The SDK checks an answer as a whole. Without this, one odd tool would remove all tools of its server. One odd block
would lose the result of a finished call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentcli.core.sanitise import safe_line

WRITTEN_SCHEMA = "agentcli/inputSchema"
"""Metadata key of a tool for the schema as the server wrote it: the SDK sees a plain one."""
DEPTH = 100
"""Maximum levels of a schema; a tool with a deeper one takes any arguments."""
_SHOWN = 2_000
"""Characters of an odd block that the model sees."""
_NAME = 80
"""Characters of a name in a note."""
_KNOWN = ("text", "image", "audio", "resource_link", "resource")
"""Kinds of content blocks in the result of a tool."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_AROUND = {"nextCursor": str, "_meta": dict, "description": str, "resultType": str, "ttlMs": int, "cacheScope": str}
"""Kinds of the fields around the items; a field of another kind is dropped."""
Note = Callable[[str], None]
"""Takes a line about a repaired or dropped item, with the server as its subject: `tool x: its schema …`."""


def mended(result: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """Return an answer with its items in the protocol's form; everything else as received."""
    made = {**result}
    if "capabilities" in result and "protocolVersion" in result:
        return made | _introduction(result)
    kind = next((kind for kind in _ITEMS if kind in result), "")
    if not kind:
        return made
    given = result[kind]
    items = given if isinstance(given, list) else [given] if given and kind in ("content", "contents") else []
    if given is not None and not isinstance(given, list) and not items:
        note(f"{kind}: it is not a list, and was left out")
    made[kind] = [one for place, item in enumerate(items, 1) for one in _ITEMS[kind](item, place, note)]
    for key, form in _AROUND.items():
        if key in made and not isinstance(made[key], form):
            del made[key]
    if made.get("cacheScope", "public") not in ("public", "private"):
        del made["cacheScope"]
    return _called(made) if kind == "content" else made


def _called(made: dict[str, Any]) -> dict[str, Any]:
    """Return a call's result with its flag and its structure in the protocol's form."""
    if "isError" in made:
        made["isError"] = made["isError"] in (True, "true")
    structured = made.get("structuredContent", {})
    if not isinstance(structured, dict):
        del made["structuredContent"]
        if structured is not None:
            made["content"].append(_text(_json(structured)))
    return made


def _introduction(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields by which a server introduces itself."""
    given, info = result["capabilities"], result.get("serverInfo")
    offered = {
        name: {key: value for key, value in one.items() if isinstance(value, bool | dict)}
        if isinstance(one, dict)
        else {}
        for name, one in (given.items() if isinstance(given, dict) else ())
        if one is not None and one is not False
    }
    names = info if isinstance(info, dict) else {}
    who = {**names, **{key: value if isinstance(value := names.get(key), str) else "" for key in ("name", "version")}}
    return {
        "capabilities": offered,
        "serverInfo": who,
        "instructions": text if isinstance(text := result.get("instructions"), str) else None,
    }


def _tool(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    """Yield the used fields of a tool. Its other fields cannot spoil it, nor can a schema of its results refuse one."""
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str) or not name:
        note(f"tool {place} of its list has no name, and was left out")
        return
    written = given.get("inputSchema")
    schema = written if isinstance(written, dict) and not _is_deeper(written, DEPTH) else {}
    if schema is not written:
        why = (
            "is nested too deeply"
            if isinstance(written, dict)
            else "is missing"
            if written is None
            else "is not an object"
        )
        note(f"tool {_named(name)}: its schema {why}, so it takes any arguments")
    hints = given.get("annotations")
    meta = given.get("_meta")
    yield {
        "name": name,
        **_texts(given, "description"),
        "inputSchema": schema if _is_plain(schema) else {"type": "object"},
        "annotations": {key: hints[key] for key in _HINTS if isinstance(hints.get(key), bool)}
        if isinstance(hints, dict)
        else {},
        "_meta": {**(meta if isinstance(meta, dict) else {}), WRITTEN_SCHEMA: schema},
    }


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Return True for a schema that the SDK takes."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.get("type") == "object"
        and isinstance(properties, dict)
        and all(isinstance(one, dict | bool) for one in properties.values())
        and isinstance(required, list)
        and all(isinstance(one, str) for one in required)
        and isinstance(schema.get("$schema", ""), str)
    )


def _is_deeper(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(one, most - 1) for one in inner)


def _prompt(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str) or not name:
        note(f"prompt {place} of its list has no name, and was left out")
        return
    listed = given.get("arguments") or []
    arguments = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [
        {"name": one["name"], "required": one.get("required") is True}
        for one in arguments
        if isinstance(one.get("name"), str)
    ]
    if listed and len(named) != len(listed):
        note(f"prompt {_named(name)}: arguments without a name were left out")
    yield {"name": name, **_texts(given, "description"), "arguments": named}


def _resource(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    yield from _addressed(given, place, note, "uri", "resource")


def _template(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    yield from _addressed(given, place, note, "uriTemplate", "template")


def _addressed(given: Any, place: int, note: Note, key: str, what: str) -> Iterator[dict[str, Any]]:
    """Yield a resource, or a resource template, with the address under this key."""
    address = given.get(key) if isinstance(given, dict) else None
    if not isinstance(address, str) or not address:
        note(f"{what} {place} of its list has no address, and was left out")
        return
    yield {key: address, "name": address, **_texts(given, "name", "description", "mimeType")}


def _message(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    """Yield the messages of a prompt; some servers put several blocks into one."""
    held = given.get("content") if isinstance(given, dict) else given
    role = given.get("role") if isinstance(given, dict) else None
    for block in held if isinstance(held, list) else [held]:
        for one in _block(block, place, note):
            yield {"role": role if role in ("user", "assistant") else "user", "content": one}


def _block(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    """Yield a block, or a text that replaces it and explains what is odd, with the beginning of what came."""
    match given:
        case str() | {"type": "text", "text": str()}:
            yield _text(given if isinstance(given, str) else given["text"])
        case {"type": "text", "text": inner} if inner is not None:
            yield _text(_json(inner))
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            yield {"type": kind, "data": data, "mimeType": "", **_texts(given, "mimeType")}
        case {"type": "resource_link", "uri": str(uri)}:
            yield {"type": "resource_link", "uri": uri, "name": uri, **_texts(given, "name")}
        case {"type": "resource", "resource": inner} if found := [*_contents(inner, place, lambda _: None)]:
            yield {"type": "resource", "resource": found[0]}
        case {"type": str(kind)} if kind not in _KNOWN:
            yield _text(f"[{safe_line(kind[:_NAME])}: left out, since this kind of content is not known]")
        case _:
            yield _text(f"[block {place} does not have the form of the protocol] {_json(given)[:_SHOWN]}")


def _contents(given: Any, place: int, note: Note) -> Iterator[dict[str, Any]]:
    """Yield a resource's content, as text or as base64."""
    match given:
        case {"blob": str(blob)}:
            held = {"blob": blob}
        case {"text": inner} if inner is not None:
            held = {"text": inner if isinstance(inner, str) else _json(inner)}
        case str():
            held = {"text": given}
        case _:
            note(f"content {place} of a resource has neither text nor data, and was left out")
            return
    yield {"uri": "", **_texts(given, "uri", "mimeType"), **held}


_ITEMS: Mapping[str, Callable[[Any, int, Note], Iterator[dict[str, Any]]]] = {
    "content": _block,
    "tools": _tool,
    "prompts": _prompt,
    "resources": _resource,
    "resourceTemplates": _template,
    "contents": _contents,
    "messages": _message,
}
"""Lists in an answer, and the function that makes an item of each."""


def _texts(given: Any, *names: str) -> dict[str, str]:
    """Return the fields of these names that are texts."""
    return {name: value for name in names if isinstance(given, dict) and isinstance(value := given.get(name), str)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _named(name: str) -> str:
    return safe_line(name[:_NAME])
