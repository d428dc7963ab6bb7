"""Web pages: public ones only, checked at every step, within limits, as Markdown."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolLimits, ToolOutput
from agentcli.system.network import check_literal, permitted
from agentcli.tools.registry import run, tools
from agentcli.tools.web_fetch import PageAnswer, Reader
from tests.loopback.listening import Reply, listening, sends
from tests.tables import each_row
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

HTML = "text/html; charset=utf-8"
FETCH = tools({"web_fetch"})[0]

PRIVATE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.127.255.254", "192.0.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "::ffff:100.64.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::1", "not an address",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@each_row("address", PRIVATE)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not permitted(address)


@each_row("address", PUBLIC)
def test_what_is_public_is_permitted(address: str) -> None:
    assert permitted(address)


def test_only_the_named_addresses_are_allowed_besides() -> None:
    assert permitted("127.0.0.1", ["127.0.0.1"])
    assert permitted("::ffff:127.0.0.1", ["127.0.0.0/8"])
    assert not permitted("127.0.0.2", ["127.0.0.1"])
    assert not permitted("10.0.0.1", ["127.0.0.0/8", "::1"])


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/", "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://0/",
        "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/",
        "http://10.0.0.1:8080/", "http://100.64.0.1/", "file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/", "//example.com",
        "example.com", "http://", "http:///x", "http://user:pw@example.com/", "http://example.com@127.0.0.1/", "http://[::1", "http://1.1.1.1:99999/",
        "javascript:alert(1)", "data:text/html,x", "",
    ],
)  # fmt: skip
def test_urls_that_lead_inside_or_nowhere_are_refused_unasked(call: Call, url: str) -> None:
    outcome = call("web_fetch", url=url)
    assert outcome.status == "error"
    assert "not a public address" in outcome.output or "URL" in outcome.output, outcome.output


@each_row(
    "url",
    ["http://127.0.0.1/", "http://10.0.0.1:8080/x", "http://2130706433/", "http://[::1]/", "file:///etc/passwd", "x"],
)
def test_a_url_that_names_an_address_inside_or_is_none_is_refused_before_anybody_is_asked(url: str) -> None:
    with pytest.raises(ToolError):
        check_literal(url)


@each_row("url", ["http://1.1.1.1/", "https://example.com/", "http://localhost/", "http://127.0.0.2/"])
def test_a_url_with_a_name_or_an_address_that_is_permitted_may_be_asked_about(url: str) -> None:
    check_literal(url, ["127.0.0.2"])


def fetch(
    ctx: Bench, reply: Reply, path: str = "/", host: str = "127.0.0.1", **given: Any
) -> tuple[ToolOutput, list[str]]:
    """Fetch from a server of our own, whose address is allowed; what came, and what the server was asked."""
    asked: list[str] = []
    ctx.limits = replace(ctx.limits, fetch_addresses=ctx.limits.fetch_addresses or ("127.0.0.1",))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(request)
        try:
            await reply(request.split(" ")[1], writer)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def story() -> ToolOutput:
        async with listening(serve) as port:
            return await run(FETCH, ctx, "c1", {"url": f"http://{host}:{port}{path}", **given})

    return asyncio.run(story()), asked


def redirects(where: Callable[[str], str]) -> Reply:
    async def reply(path: str, writer: asyncio.StreamWriter) -> None:
        if path == "/end":
            await sends(b"arrived", "text/plain")(path, writer)
        else:
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {where(path)}\r\nContent-Length: 0\r\n\r\n".encode())

    return reply


def test_html_becomes_markdown_without_scripts(ctx: Bench) -> None:
    html = (
        "<html><head><title>T</title><style>b{}</style><SCRIPT>evil()</SCRIPT></head><body><h1>Größe</h1>"
        "<p>See <a href='/x'>this</a> and <b>that</b>.</p><ul><li>one</li></ul><script>more()</script></body></html>"
    )
    outcome, _ = fetch(ctx, sends(html.encode(), HTML))
    assert outcome.status == "success"
    assert "# Größe\n\nSee [this](/x) and **that**.\n\n* one" in outcome.output
    assert "evil" not in outcome.output
    assert "more()" not in outcome.output


def test_plain_text_and_json_come_as_they_are_in_their_own_charset(ctx: Bench) -> None:
    assert fetch(ctx, sends(b'{"a": 1}', "application/json"))[0].output.endswith('\n\n{"a": 1}')
    latin = sends("größe".encode("latin-1"), "text/plain; charset=iso-8859-1")
    assert fetch(ctx, latin)[0].output.endswith("größe")


def test_the_server_is_asked_by_its_name_at_the_checked_address(ctx: Bench) -> None:
    ctx.limits = ToolLimits(fetch_addresses=("127.0.0.1", "::1"))
    outcome, asked = fetch(ctx, sends(b"x", "text/plain"), "/a?b=c#d", host="localhost")
    if outcome.status == "error":
        pytest.skip("localhost is ::1 first on this machine")
    assert asked[0].startswith("GET /a?b=c HTTP/1.1\r\nHost: localhost:")


def test_redirects_are_followed_up_to_five(ctx: Bench) -> None:
    chain = {"/": "/1", "/1": "/2", "/2": "/3", "/3": "/4", "/4": "/end"}
    outcome, asked = fetch(ctx, redirects(lambda path: chain[path]))
    assert outcome.output.endswith("arrived")
    assert len(asked) == 6
    outcome, asked = fetch(ctx, redirects(lambda path: f"{path}x"))
    assert "More than 5 redirects" in outcome.output
    assert len(asked) == 6


@pytest.mark.parametrize(
    "where", ["http://127.0.0.2/", "http://169.254.169.254/", "http://[::1]/", "file:///etc/passwd", "//10.0.0.1/x"]
)
def test_every_redirect_is_checked_again(ctx: Bench, where: str) -> None:
    outcome, asked = fetch(ctx, redirects(lambda _: where))
    assert outcome.status == "error"
    assert len(asked) == 1


def test_too_much_on_the_wire_or_unpacked_is_refused(ctx: Bench) -> None:
    ctx.limits = ToolLimits(fetch_bytes=100_000)
    assert "larger than 100,000 bytes" in fetch(ctx, sends(b"x" * 100_001, "text/plain"))[0].output
    assert fetch(ctx, sends(b"x" * 100_000, "text/plain"))[0].status == "success"
    bomb = gzip.compress(b"x" * 50_000_000)
    assert len(bomb) < 100_000
    assert "larger than 100,000 bytes" in fetch(ctx, sends(bomb, "text/plain", "Content-Encoding: gzip"))[0].output

    async def endless(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    assert "larger than 100,000 bytes" in fetch(ctx, endless)[0].output


def test_packed_pages_are_unpacked_and_damaged_ones_told(ctx: Bench) -> None:
    packed = gzip.compress(b"hello")
    assert fetch(ctx, sends(packed, "text/plain", "Content-Encoding: gzip"))[0].output.endswith("hello")
    assert "damaged" in fetch(ctx, sends(b"no gzip", "text/plain", "Content-Encoding: gzip"))[0].output
    assert "packed with br" in fetch(ctx, sends(b"x", "text/plain", "Content-Encoding: br"))[0].output


def test_a_server_that_dawdles_is_given_up(ctx: Bench) -> None:
    ctx.limits = ToolLimits(fetch_seconds=0.3)

    async def drip(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        for _ in range(400):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    assert "took longer than 0.3 s" in fetch(ctx, drip)[0].output


def test_an_address_where_nobody_listens_is_told_in_the_words_of_the_system(ctx: Bench, call: Call) -> None:
    ctx.limits = replace(ctx.limits, fetch_addresses=("127.0.0.1",))
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    assert call("web_fetch", url=url).output == f"Can't fetch {url}: Connection refused."


def test_errors_and_other_kinds_of_content_are_told(ctx: Bench) -> None:
    assert "answers 404.\ngone" in fetch(ctx, sends(b"gone", "text/plain", status="404 Not Found"))[0].output
    assert "not text" in fetch(ctx, sends(b"%PDF", "application/pdf"))[0].output
    assert "not text" in fetch(ctx, sends(b"\0\1", "text/plain"))[0].output

    async def nonsense(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff\xfe nonsense\r\n\r\n")

    outcome, _ = fetch(ctx, nonsense)
    assert "Can't fetch" in outcome.output
    assert outcome.status == "error"


@pytest.mark.full
def test_a_hostile_page_cannot_keep_the_converter_busy(ctx: Bench) -> None:
    assert fetch(ctx, sends(b"<div>" * 50_000 + b"deep", HTML))[0].status == "success"
    assert fetch(ctx, sends(b"<script" * 500_000, HTML))[0].status == "success"


def test_a_long_page_is_kept_whole_and_cut_for_the_model(ctx: Bench) -> None:
    outcome, _ = fetch(ctx, sends(b"<p>word word word</p>" * 5_000, HTML))
    assert outcome.truncated
    assert len(outcome.output) < 51_200 + 300
    assert 'recall(id="c1", pattern="…") searches the whole output]' in outcome.output


def test_a_prompt_is_answered_where_somebody_can(ctx: Bench) -> None:
    asked: list[tuple[str, str]] = []

    async def answer(prompt: str, page: str) -> PageAnswer:
        asked.append((prompt, page))
        return PageAnswer("It is 42.", model="demo/small", spent={"spent": {"model": "demo/small"}})

    ctx.limits = ToolLimits(fetch_addresses=("127.0.0.1",))
    ctx.offer(Reader, Reader(answer))
    outcome, _ = fetch(ctx, sends(b"the page says 42", "text/plain"), prompt="Which number?")
    assert asked == [("Which number?", "the page says 42")]
    assert "It is 42." in outcome.output
    assert "the page says" not in outcome.output
    assert outcome.truncated
    assert outcome.metadata["spent"] == {"model": "demo/small"}
    assert Path(outcome.output_file).read_text().endswith("the page says 42")
    fetch(ctx, sends(b"gone", "text/plain", status="404 Not Found"), prompt="Which number?")
    fetch(ctx, sends(b"the page says 42", "text/plain"), prompt=" ")
    assert len(asked) == 1, "an error page or an empty prompt asks nobody"


def test_a_prompt_that_nobody_can_answer_gives_the_page_and_the_reason(ctx: Bench) -> None:
    async def answer(prompt: str, page: str) -> PageAnswer:
        return PageAnswer(trouble="There is no key.")

    ctx.limits = ToolLimits(fetch_addresses=("127.0.0.1",))
    ctx.offer(Reader, Reader(answer))
    outcome, _ = fetch(ctx, sends(b"the page says 42", "text/plain"), prompt="Which number?")
    assert "There is no key." in outcome.output
    assert outcome.output.endswith("the page says 42")
