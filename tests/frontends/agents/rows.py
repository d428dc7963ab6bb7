"""Rows and questions as sessions report them."""

from __future__ import annotations

from typing import Any

from agentcli.frontends.serve.machine import Running


def row(session: str, state: Any, **more: Any) -> Running:
    given = {
        "name": session,
        "title": "",
        "folder": "/home/ann/work",
        "cost": 0.04,
        "last": "",
        "pid": 7,
        "shared": True,
        "updated": "",
    }
    return Running(**{"session": session, "state": state, **given, **more})


def approval(hash: str = "h1", preview: str = "npm test", **more: Any) -> dict[str, Any]:
    choices = [("once", "Yes"), ("session", "Yes, for this session"), ("no", "No, tell it what to do instead")]
    return {
        "kind": "command",
        "hash": hash,
        "title": "Run this command?",
        "subject": f"$ {preview.splitlines()[0]}",
        "why": "npm may change files",
        "description": "",
        "preview": preview,
        "choices": [{"choice": choice, "label": label} for choice, label in choices],
        "others": [],
        **more,
    }


def questions(*asked: str) -> dict[str, Any]:
    offered = [{"label": "red", "description": "like a rose"}, {"label": "blue", "description": "like the sea"}]
    each = [{"question": text, "header": "", "multiple": False, "choices": offered} for text in asked]
    return {"kind": "questions", "hash": "h2", "questions": each}
