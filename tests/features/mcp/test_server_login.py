"""A login to a server with OAuth, against a small authorization server: in the browser, by a pasted address, given up."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

from agentcli.core.errors import InputError, ToolError
from agentcli.core.mcp_servers import ServerTool
from agentcli.features.mcp.run import servers_of
from agentcli.features.mcp.server_login import FILE, LoginStore, authentication, log_in, log_out
from agentcli.system.key_store import KeyStore
from tests.agent.open_session import open_session
from tests.features.mcp.fake_http import serving
from tests.features.mcp.played_servers import Played
from tests.features.mcp.running import call, servers, settled, text
from tests.features.mcp.server_runs import define, options, program
from tests.features.mcp.test_tokens import Kept
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS

NO_BROWSER = {"BROWSER": "/nonexistent"}


ASKED: list[dict[str, str]] = []
"""The forms of the requests for a token."""


class Authority(BaseHTTPRequestHandler):
    """A server that wants a token, and its own authorization server."""

    def do_GET(self) -> None:
        here = f"http://{self.headers['Host']}"
        if "protected-resource" in self.path:
            self._answer({"resource": f"{here}/mcp", "authorization_servers": [here], "scopes_supported": ["all"]})
        elif "authorization-server" in self.path:
            places = {f"{name}_endpoint": f"{here}/{name}" for name in ("authorization", "token", "registration")}
            grants = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
            self._answer({"issuer": here, **places, **grants})
        else:
            self._answer({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/mcp":
            self.send_response(307)
            self.send_header("Location", "/mcp/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/registration":
            self._answer({**json.loads(body), "client_id": "registered"}, 201)
        elif self.path == "/token":
            ASKED.append({name: values[0] for name, values in parse_qs(body.decode()).items()})
            self._answer({"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600})
        elif self.headers.get("Authorization") != "Bearer t0ken":
            self._answer({}, 401)
        else:
            self._answer({"jsonrpc": "2.0", "id": 1, "result": {}})

    def _answer(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def authority() -> Iterator[str]:
    """The address of a server that wants a login."""
    ASKED.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Authority)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Person:
    """Somebody who follows the address that is shown; `does` what the browser then does."""

    def __init__(self, does: str) -> None:
        self.does, self.lines = does, list[str]()

    def say(self, line: str) -> None:
        self.lines.append(line)

    @property
    def query(self) -> dict[str, str]:
        (line,) = [line for line in self.lines if "http" in line]
        return {name: values[0] for name, values in parse_qs(urlsplit(line[line.index("http") :]).query).items()}

    async def pasted(self) -> str | None:
        callback = f"{self.query['redirect_uri']}?code=c0de&state={self.query['state']}"
        if self.does == "lands":
            await asyncio.to_thread(lambda: urlopen(callback, timeout=10).close())
            await asyncio.sleep(60)
        return callback if self.does == "pastes" else None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("does", ["lands", "pastes"])
def test_a_login_is_kept_and_used_and_forgotten(project: Path, does: str) -> None:
    oauth = {"clientId": "${CLIENT}", "clientSecret": "${SECRET:-none}", "scopes": ["${SCOPE}"]}
    variables = {"CLIENT": "me", "SECRET": "s3cret", "SCOPE": "read"}
    with authority() as url:
        define(project, web={"type": "http", "url": url, "oauth": oauth})
        with program(options(project), **NO_BROWSER, **variables) as run:
            person = Person(does)
            assert asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            assert (person.query["client_id"], person.query["scope"]) == ("me", "read")
            assert [(form["code"], form["client_secret"]) for form in ASKED] == [("c0de", "s3cret")]
            server = servers_of(run).to_log_in("web")
            assert authentication(run, server) is not None
            assert log_out(run, server)
            assert authentication(run, server) is None
            assert not log_out(run, server)


def test_a_login_that_is_given_up_or_lacks_a_variable_says_so(project: Path) -> None:
    with authority() as url:
        define(
            project, web={"url": url}, other={"url": url, "oauth": {"clientSecret": "${NOT_SET}"}}, git={"command": "x"}
        )
        with program(options(project), **NO_BROWSER) as run:
            person = Person("gives up")
            with pytest.raises(InputError, match="The login was cancelled"):
                asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            assert not LoginStore(run, servers_of(run).to_log_in("web")).read().count("t0ken")
            with pytest.raises(InputError, match=r"Server other needs \$NOT_SET"):
                asyncio.run(log_in(run, servers_of(run).to_log_in("other"), person.say, person.pasted))
            with pytest.raises(InputError, match="Server git takes no login"):
                asyncio.run(log_in(run, servers_of(run).to_log_in("git"), person.say, person.pasted))
            with pytest.raises(InputError, match="Did you mean"):
                asyncio.run(log_in(run, servers_of(run).to_log_in("wep"), person.say, person.pasted))


def test_a_login_that_is_given_up_leaves_the_former_one(project: Path) -> None:
    with authority() as url:
        define(project, web={"url": url})
        with program(options(project), **NO_BROWSER) as run:
            person = Person("pastes")
            assert asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            person = Person("gives up")
            with pytest.raises(InputError, match="The login was cancelled"):
                asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            assert "t0ken" in LoginStore(run, servers_of(run).to_log_in("web")).read()


def test_a_port_that_is_taken_is_named(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        define(project, web={"url": "http://127.0.0.1:9/mcp", "oauth": {"callbackPort": port}})
        with (
            program(options(project), **NO_BROWSER) as run,
            pytest.raises(InputError, match=rf"Can't use port {port} for the login: Address already in use\."),
        ):
            asyncio.run(log_in(run, servers_of(run).to_log_in("web"), print, Person("gives up").pasted))


def test_a_server_that_nobody_approved_is_not_logged_in_to(project: Path) -> None:
    from agentcli.program.project import TRUSTED
    from agentcli.program.trust import trust

    define(project, web={"url": "http://127.0.0.1:9/mcp"})
    with program(options(project, trust=False)) as run:
        trust(project, run.dirs.state / TRUSTED)
        with pytest.raises(InputError, match="not approved"):
            servers_of(run).to_log_in("web")


def test_a_login_goes_to_no_other_path_of_its_host(project: Path) -> None:
    with authority() as url:
        define(project, web={"url": url}, other={"url": url.replace("/mcp", "/evil")})
        with program(options(project), **NO_BROWSER) as run:
            person = Person("pastes")
            assert asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            assert authentication(run, servers_of(run).to_log_in("web")) is not None
            assert authentication(run, servers_of(run).to_log_in("other")) is None


def test_a_login_that_was_stored_for_a_whole_host_is_not_used_and_told_until_it_is_renewed(project: Path) -> None:
    with authority() as url:
        define(project, web={"url": url})
        with program(options(project), **NO_BROWSER) as run:
            origin = url.removesuffix("/mcp")
            KeyStore(run.dirs.state, FILE).set(
                origin, json.dumps({"tokens": {"access_token": "t0ken", "token_type": "Bearer"}})
            )
            assert authentication(run, servers_of(run).to_log_in("web")) is None
            (told,) = servers_of(run).notes()
            assert "agentcli mcp login web" in told
            person = Person("pastes")
            assert asyncio.run(log_in(run, servers_of(run).to_log_in("web"), person.say, person.pasted))
            assert list(servers_of(run).notes()) == []
            assert list(KeyStore(run.dirs.state, FILE).places()) == [url]


class Pasting(ScriptedContext):
    """A context whose person follows the address that /mcp login shows."""

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        person = Person("pastes")
        person.lines = self.output
        return await person.pasted()


def test_a_login_is_made_in_the_session_and_the_server_connected_with_it(project: Path) -> None:
    server = ServerTool("mcp__web__status", "web", "status", "Show the state.", {"type": "object"})
    with authority() as url:
        define(project, web={"url": url})
        with program(options(project), **NO_BROWSER) as run:
            context = Pasting(session=open_session(project, [], servers=Played(server)))
            context.program = run
            asyncio.run(COMMANDS.run(context, "/mcp login web"))
            assert context.output[-1] == "Logged in to web. Server web is connected, 1 tool."
            assert LoginStore(run, servers_of(run).to_log_in("web")).read().count("t0ken")


# Logins of servers in use: asked for in the middle of a session, and renewed by themselves.


def test_a_server_that_wants_a_login_in_the_middle_says_so_once(tmp_path: Path) -> None:
    with serving() as port, servers(tmp_path, {"web": {"url": f"http://127.0.0.1:{port}/locked/"}}) as made:
        settled(made)
        for _ in range(2):
            with pytest.raises(ToolError, match=r"Server web is not connected: run `/mcp login web` or `agentcli mcp"):
                call(made, "mcp__web__echo", text="a")
        assert made.states()[0].status == "needs login"
        assert [line for line in made.changes() if "login" in line] == [
            "Server web needs a login: run `/mcp login web` or `agentcli mcp login web`."
        ]


def test_a_login_that_has_run_out_is_renewed_by_itself(tmp_path: Path) -> None:
    from agentcli.features.mcp.tokens import provider

    with serving() as port:
        here = f"http://127.0.0.1:{port}"
        vault = Kept()
        kept = {
            "client": {"client_id": "me", "redirect_uris": [f"{here}/callback"], "token_endpoint_auth_method": "none"},
            "tokens": {"access_token": "stale", "token_type": "Bearer", "expires_in": 1, "refresh_token": "again"},
            "expires": 1.0,
            "metadata": {
                "issuer": here,
                "authorization_endpoint": f"{here}/authorize",
                "token_endpoint": f"{here}/token",
                "response_types_supported": ["code"],
            },
        }
        vault.write(json.dumps(kept))
        given = {"web": {"url": f"{here}/guarded/"}}
        with servers(tmp_path, given, auth=lambda server: provider(server, vault)) as made:
            (state,) = settled(made)
            assert state.status == "connected"
            assert text(call(made, "mcp__web__echo", text="renewed")) == "renewed"
        assert json.loads(vault.text)["tokens"]["access_token"] == "fresh"
