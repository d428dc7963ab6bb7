"""Hooks that run elsewhere: an HTTP request (`http`), or a question to a model (`prompt`)."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agentcli.agent.hooks import Verdict
from agentcli.core.errors import AgentError, in_words
from agentcli.features.hooks.files import Hook
from agentcli.features.hooks.verdict import verdict
from agentcli.system.network import EVERYWHERE, target
from agentcli.tools.lib.web_request import Page, WebRequest, client_for, exchanged

Ask = Callable[[str, str], Awaitable[str]]
"""Asks a model, by its name or the cheap one of the session, and returns its answer. Raises AgentError."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class HookFailed(Exception):
    """A hook gave no usable answer; the text is the reason."""


async def posted(hook: Hook, payload: Mapping[str, Any], env: Mapping[str, str], most: int) -> Verdict:
    """Send the event to the hook's address, and return the verdict of the answer. Raises HookFailed."""
    import httpx2

    headers = {name: _filled(value, hook, env) for name, value in hook.headers}
    request = WebRequest("POST", {"Content-Type": "application/json", **headers}, json.dumps(payload).encode())
    try:
        async with client_for(hook.timeout) as client:
            page = await exchanged(client, await target(hook.command, EVERYWHERE), request, most)
    except httpx2.HTTPError as error:
        raise HookFailed(f"could not be reached: {in_words(error)}") from error
    except (httpx2.InvalidURL, ValueError, AgentError) as error:
        raise HookFailed(f"could not be asked: {error}".rstrip(".")) from error
    if not isinstance(page, Page):
        raise HookFailed("redirects, which is not followed")
    return _answered(hook, page)


def _answered(hook: Hook, page: Page) -> Verdict:
    """Return the verdict of a response: a JSON object as on a command's stdout, or none for an empty body."""
    if not 200 <= page.status < 300:
        raise HookFailed(f"answered {page.status}")
    text = page.body.decode("utf-8", errors="replace").strip()
    if not text:
        return Verdict()
    if not text.startswith("{"):
        raise HookFailed("answered with something other than a JSON object")
    found = verdict(hook.event, 0, text, "")
    if found.failed:
        raise HookFailed(f"failed ({found.failed})")
    return found


def _filled(text: str, hook: Hook, env: Mapping[str, str]) -> str:
    """Fill the variables of a header that the hook lists; the others are empty."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return env.get(name, "") if name in hook.secrets else ""

    return _VARIABLE.sub(value, text)


async def judged(hook: Hook, payload: Mapping[str, Any], ask: Ask | None) -> Verdict:
    """Ask the model about the event, and return its verdict. Raises HookFailed."""
    if ask is None:
        raise HookFailed("needs a session: no model was asked")
    try:
        text = await ask(_question(hook.command, json.dumps(payload)), hook.model)
    except AgentError as error:
        raise HookFailed(f"could not ask its model: {error}".rstrip(".")) from error
    found = _OBJECT.search(text)
    try:
        answer = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        raise HookFailed("got no JSON with `ok` from its model")
    return _meant(hook, answer)


def _question(prompt: str, facts: str) -> str:
    """Return the prompt with the facts in the place of `$ARGUMENTS`, or after it; a backslash keeps a dollar."""
    parts = re.split(r"(\\\$|\$ARGUMENTS\b)", prompt)
    filled = "".join({"\\$": "$", "$ARGUMENTS": facts}.get(part, part) for part in parts)
    return filled if "$ARGUMENTS" in parts else f"{filled}\n\n{facts}"


def _meant(hook: Hook, answer: Mapping[str, Any]) -> Verdict:
    """Return what the answer means at the event."""
    reason = str(answer.get("reason") or "a hook's model said no")
    no = Verdict(answer="deny", reason=reason)
    if answer["ok"] or hook.event == "PermissionRequest":
        return Verdict()
    if hook.event in ("Stop", "SubagentStop"):
        return Verdict(message=reason) if answer.get("impossible") is True else no
    if hook.event in ("PreToolUse", "PostToolUse") and not hook.goes_on:
        return replace(no, ends=True, stop_reason=reason)
    return no
