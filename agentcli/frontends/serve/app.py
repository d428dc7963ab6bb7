"""Server of the page: JSON over HTTP, server-sent events, and the page's own three files."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import agentcli.sessions.exporting as exporting
from agentcli.core.errors import AgentError, InputError
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task
from agentcli.frontends.serve.access import Access, Grant
from agentcli.frontends.serve.drawing import drawn, drawn_diff, drawn_reply
from agentcli.frontends.serve.guard import Guard
from agentcli.frontends.serve.listing import Listing
from agentcli.frontends.serve.machine import OVER, Running, last_words, newest_info, records_after
from agentcli.frontends.serve.new_sessions import Starter
from agentcli.frontends.serve.work import Work
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.summaries import is_subagent

LISTED = 100
"""Stored sessions that are listed."""
WITH_WORDS = 20
"""Stored sessions that are listed with the beginning of their newest answer."""
MODELS = 12
"""Models of stored sessions that are offered for new ones."""
LISTED_FOR = 5.0
"""Seconds after which the stored sessions are listed again."""
DRAWN = 100_000
"""Characters of a reply or a diff that are drawn at once."""
ASKED = 20_000
"""Characters of a session's questions up to which the list has them; larger ones are answered in the session."""
SHOWN = 200
"""Records of a transcript that are drawn at once."""
EARLIER = 100
"""Records before the new ones in which their calls are searched."""
BEAT = 10.0
"""Seconds without an event after which a reader gets a sign of life."""
READERS = 100
"""Readers of events at once."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,63}")
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}

T = TypeVar("T")
Listed = tuple[list[Mapping[str, Any]], list[str], list[str]]
"""Stored sessions, folders and models for new ones."""
Endpoint = Callable[[Request], Awaitable[Response]]
Answer = Callable[[Request, Grant], Awaitable[Response]]


class Server:
    """The answers to requests."""

    def __init__(self, listing: Listing, access: Access, starts: Starter) -> None:
        self._listing, self._machine, self._access, self._starts = listing, listing.machine, access, starts
        self._work = Work(listing)
        self._readers = 0
        self._listed: Listed | None = None
        self._listed_at = 0.0

    def app(self, names: tuple[str, ...] = ()) -> Guard:
        """Return the application; `names` are further host names for reaching it."""
        session = "/api/sessions/{id}"
        routes = [
            *(Route(path, _file, methods=["GET"]) for path in _FILES),
            Route("/api/login", _with_errors(self._log_in), methods=["POST"]),
            *(
                Route(
                    path, self._with_grant(answer, writes=method == "POST" and answer != self._drawn), methods=[method]
                )
                for path, method, answer in (
                    ("/api/logout", "POST", self._log_out),
                    ("/api/link", "POST", self._link),
                    ("/api/drawn", "POST", self._drawn),
                    ("/api/sessions", "GET", self._list),
                    ("/api/sessions", "POST", self._new),
                    (session, "GET", self._state),
                    (f"{session}/transcript", "GET", self._transcript),
                    (f"{session}/events", "GET", self._events),
                    (f"{session}/answer", "POST", self._answer),
                    (f"{session}/say", "POST", self._say),
                    (f"{session}/stop", "POST", self._stop),
                    (f"{session}/changes", "GET", self._changes),
                    (f"{session}/merge", "POST", self._merge),
                    (f"{session}/discard", "POST", self._discard),
                )
            ),
        ]
        return Guard(Starlette(routes=routes), names)

    def _with_grant(self, answer: Answer, *, writes: bool) -> Endpoint:
        """Return an endpoint that checks the token first."""

        @_with_errors
        async def checked(request: Request) -> Response:
            given = request.headers.getlist("authorization")
            grant = self._access.check(given[0] if len(given) == 1 else "")
            if not isinstance(grant, Grant):
                return _wrong(grant)
            if writes and grant.read_only and answer != self._log_out:
                return _error(403, "This token is to read only.")
            return await answer(request, grant)

        return checked

    async def _log_in(self, request: Request) -> Response:
        found = self._access.log_in(_text(await _body(request), "code"))
        if isinstance(found, str):
            return _wrong(found)
        token, read_only = found
        return JSONResponse({"token": token, "read_only": read_only})

    async def _log_out(self, request: Request, _: Grant) -> Response:
        self._access.log_out(request.headers["authorization"])
        return JSONResponse({"ok": True})

    async def _link(self, request: Request, grant: Grant) -> Response:
        read_only = bool((await _body(request)).get("read_only"))
        return JSONResponse({"code": self._access.link(read_only), "address": self._access.address})

    async def _list(self, request: Request, grant: Grant) -> Response:
        running = [
            {**each.to_json(), "says": each.says, "questions": _brief(each.questions)}
            for each in await self._listing.rows()
        ]
        known = {each["session"] for each in running}
        stored, folders, models = await self._stored()
        return JSONResponse(
            {
                "running": running,
                "stored": [each for each in stored if each["session"] not in known],
                "folders": [] if grant.read_only else folders,
                "models": [] if grant.read_only else models,
                "read_only": grant.read_only,
            }
        )

    async def _stored(self) -> Listed:
        """Return the stored sessions, and what a new one may use; cached for a while, because there may be thousands."""
        if self._listed is None or time.monotonic() - self._listed_at > LISTED_FOR:
            self._listed = await asyncio.to_thread(self._list_stored)
            self._listed_at = time.monotonic()
        return self._listed

    def _list_stored(self) -> Listed:
        clean = self._machine.clean
        infos = [info for info in self._machine.store.list() if not is_subagent(info)]
        return (
            [
                {
                    "session": info.id,
                    "name": clean(info.name),
                    "title": clean(info.title),
                    "folder": info.directory,
                    "state": "ended",
                    "cost": info.cost,
                    "last": clean(last_words(self._machine.store, info)) if n < WITH_WORDS else "",
                    "updated": info.time.updated,
                    "shared": False,
                }
                for n, info in enumerate(infos[:LISTED])
            ],
            self._starts.folders(infos),
            list(dict.fromkeys(filter(None, (info.model for info in infos))))[:MODELS],
        )

    async def _drawn(self, request: Request, _: Grant) -> Response:
        """Draw a reply that arrives, as far as it has come, or the diff of a question."""
        asked = await _body(request)
        diff, text = _text(asked, "diff"), _text(asked, "text")
        if len(diff) + len(text) > DRAWN:
            raise InputError(f"At most {DRAWN:,} characters are drawn at once.")
        drawing = (drawn_diff, diff, _text(asked, "path")) if diff else (drawn_reply, text)
        return JSONResponse(await asyncio.to_thread(*drawing))

    async def _state(self, request: Request, _: Grant) -> Response:
        return JSONResponse(await self._snapshot(self._info(request)))

    async def _snapshot(self, info: SessionInfo) -> Mapping[str, Any]:
        """Return a session's state from its program, or its stored state."""
        if self._machine.shared(info.id) is not None:
            try:
                told = await self._machine.request(info.id, do="state")
            except AgentError:
                pass
            else:
                return {**told, "name": self._machine.clean(info.name or info.title), "shared": True}
        fresh = newest_info(self._machine.store, info)
        return {
            "session": info.id,
            "name": self._machine.clean(fresh.name or fresh.title),
            "state": await self._machine.state_of(fresh),
            "folder": fresh.directory,
            "model": fresh.model,
            "mode": fresh.mode,
            "cost": fresh.cost,
            "records": fresh.records,
            "cursor": f"disk-{fresh.records}-1000000",
            "partial": {"text": "", "thinking": ""},
            "questions": [],
            "shared": False,
        }

    async def _transcript(self, request: Request, grant: Grant) -> Response:
        info = self._info(request)
        after, before = (_whole(request, name) for name in ("after", "before"))
        state = await self._snapshot(info)
        fresh = newest_info(self._machine.store, info)
        until = min(before - 1, fresh.records) if before else max(fresh.records, int(state["records"]))
        start = max(0, after - EARLIER) if after else max(0, until - SHOWN)

        def read() -> Mapping[str, Any]:
            records = [record for record in records_after(self._machine.store, fresh, start) if record.seq <= until]
            undone = any(record.kind == "undo" and record.seq > after for record in records) if after else False
            groups = drawn(records, self._machine.clean, after)
            return {"groups": groups, "first": start + 1, "until": until, "reload": undone}

        return JSONResponse({"state": state, "read_only": grant.read_only, **await asyncio.to_thread(read)})

    async def _events(self, request: Request, _: Grant) -> Response:
        info = self._info(request)
        if self._readers >= READERS:
            return _error(503, "Too many readers.")
        after = request.headers.get("last-event-id") or request.query_params.get("after") or ""
        stream = self._sse(info, after[:100])
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _sse(self, info: SessionInfo, after: str) -> AsyncIterator[str]:
        """Yield events as server-sent events, each with its id, so that a returning reader continues after it."""
        self._readers += 1
        try:
            async with closing(self._machine.follow(info, after)) as batches:
                yield ": follows\n\n"
                async with closing(_with_beats(batches)) as beating:
                    async for batch in beating:
                        if batch is None:
                            yield ": lives\n\n"
                        else:  # in one write: each costs far more than an event in it
                            yield "".join(f"id: {each.id}\ndata: {each.data}\n\n" for each in batch)
        finally:
            self._readers -= 1

    async def _answer(self, request: Request, grant: Grant) -> Response:
        info, asked = self._info(request), await _body(request)
        answers = asked.get("answers")
        given = {"answers": [str(each) for each in answers]} if isinstance(answers, list) else {}
        answer = await self._machine.request(
            info.id,
            do="answer",
            hash=_text(asked, "hash"),
            choice=_text(asked, "choice"),
            reason=_text(asked, "reason"),
            **given,
        )
        return _told(answer)

    async def _say(self, request: Request, grant: Grant) -> Response:
        info, text = self._info(request), _text(await _body(request), "text")
        if self._machine.shared(info.id) is None:
            if self._machine.store.is_open(info):
                raise InputError(
                    "This session is open in a program that does not share it: `/remote on` there shares it."
                )
            await self._starts.resume(info)
        return _told(await self._machine.request(info.id, do="say", text=text))

    async def _stop(self, request: Request, grant: Grant) -> Response:
        info = self._info(request)
        await _body(request)
        return _told(await self._machine.request(info.id, do="stop"))

    async def _changes(self, request: Request, _: Grant) -> Response:
        """Draw what a listed session has changed."""
        diff = self._machine.clean(await asyncio.to_thread(self._work.diff, await self._row(request)))
        shown = diff if len(diff) <= DRAWN else diff[:DRAWN].rpartition("\n")[0]
        drawing = await asyncio.to_thread(drawn_diff, shown, "") if shown else {"open": []}
        return JSONResponse({**drawing, "lines_left_out": len(diff.splitlines()) - len(shown.splitlines())})

    async def _merge(self, request: Request, _: Grant) -> Response:
        return await self._done(request, self._work.merge)

    async def _discard(self, request: Request, _: Grant) -> Response:
        return await self._done(request, self._work.discard)

    async def _done(self, request: Request, act: Callable[[Running], str]) -> Response:
        await _body(request)
        return JSONResponse({"ok": True, "said": await asyncio.to_thread(act, await self._row(request))})

    async def _row(self, request: Request) -> Running:
        """Return the row of a request's session, a background session that has ended. Raises InputError."""
        for row in await self._listing.rows():
            if row.session == request.path_params["id"] and row.background and row.state in OVER:
                return row
        raise InputError("This is not a background session that has ended.")

    async def _new(self, request: Request, grant: Grant) -> Response:
        asked = await _body(request)
        text = _text(asked, "text")
        session = await self._starts.new(_text(asked, "folder"), _text(asked, "model"), _text(asked, "mode"))
        answer = dict(await self._machine.request(session, do="say", text=text)) if text else {"ok": True}
        return _told({**answer, "session": session})

    def _info(self, request: Request) -> SessionInfo:
        """Return a request's session by its complete id. Raises InputError."""
        given = request.path_params["id"]
        if not _ID.fullmatch(given):
            raise InputError("This is not the id of a session.")
        return self._machine.found(given)


def _brief(questions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return a session's questions for the list; none if they are large."""
    return questions if len(json.dumps(questions)) <= ASKED else ()


def _with_errors(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose failures are answers."""

    @wraps(endpoint)
    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except InputError as error:
            return _error(400, str(error))
        except AgentError as error:
            return _error(409, str(error))
        except ClientDisconnect:
            return _error(400, "The request broke off.")

    return answered


async def _body(request: Request) -> Mapping[str, Any]:
    """Return the JSON object in a request's body. Raises InputError."""
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InputError("The body is not JSON.") from None
    if not isinstance(found, dict):
        raise InputError("The body is not an object.")
    return found


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str):
        raise InputError(f"{name} is not text.")
    return value


def _whole(request: Request, name: str) -> int:
    given = request.query_params.get(name, "0")
    if not (given.isascii() and given.isdecimal() and len(given) < 12):
        raise InputError(f"{name} is not a number.")
    return int(given)


def _told(answer: Mapping[str, Any]) -> Response:
    """Return a session's own answer."""
    late = answer.get("code") == "too_late"
    return JSONResponse(dict(answer), 200 if answer.get("ok") else 409 if late else 400)


def _wrong(refused: str) -> Response:
    if refused == "limited":
        return JSONResponse({"ok": False, "error": "Too many wrong tokens. Wait a minute."}, 429, {"retry-after": "60"})
    return JSONResponse({"ok": False, "error": "The token is wrong."}, 401, {"www-authenticate": "Bearer"})


def _error(status: int, text: str) -> Response:
    return JSONResponse({"ok": False, "error": text}, status)


async def _with_beats(items: AsyncIterator[T]) -> AsyncIterator[T | None]:
    """Yield the items as they come, and None after each `BEAT` seconds without one."""
    async with closing(items) as each:
        following = start_task(anext(each, None))
        try:
            while True:
                done, _ = await asyncio.wait({following}, timeout=BEAT)
                if not done:
                    yield None
                elif (item := following.result()) is None:
                    return
                else:
                    yield item
                    following = start_task(anext(each, None))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _file(request: Request) -> Response:
    name, kind = _FILES[request.url.path]
    return Response(_content(name), media_type=kind)


@cache
def _content(name: str) -> bytes:
    """Return one of the page's files; its style begins with the export's."""
    own = (Path(__file__).parent / "page" / name).read_bytes()
    shared = (Path(exporting.__file__).parent / "style.css").read_bytes() if name == "page.css" else b""
    return shared + own
