"""Sessions leave the store as JSON without loss, as Markdown, and as a page that is safe to open."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import dumps
from agentcli.core.errors import InputError, StoreError
from agentcli.core.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Compaction,
    Failure,
    Prune,
    Record,
    Undo,
)
from agentcli.extras.importers.sessions import Imported, read
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.exporting import ExportFormat, collect, export, export_pieces, fence
from agentcli.sessions.exporting.rendering import (
    _PLAIN,
    HIGHLIGHT_LIMIT,
    _language_of_ending,
    _parser,
    _remembered,
    language_of,
    rendered,
)
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.system.disk import Disk
from tests.sessions.imported import store_imported
from tests.tables import each_row

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-session.jsonl"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\"'>&amp;"
SECRET = "sk-ant-" + "A1b2C3d4" * 4
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def user(*parts: Part | str) -> Message:
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts), turn=1)


def agent(*parts: Part | str) -> Message:
    content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Message("assistant", content, 1, "anthropic", "opus", Usage(10, 5, 0, 100, 7), 0.5, "end_turn")


def journal(*bodies: Body) -> MemorySession:
    memory = MemorySession()
    for body in bodies:
        memory.append(body)
    return memory


def exported(form: ExportFormat, *bodies: Body, redacted: bool = True) -> str:
    return export(collect(journal(*bodies)), form, redacted=redacted)


def whole_session() -> list[Body]:
    return [
        user("Fix `total`", Image("image/png", PNG)),
        agent(
            Thinking("hm", "sig"), "On it:\n\n```python\nx = 1\n```", ToolCall("c1", "bash", {"command": "pytest -q"})
        ),
        ToolResult("c1", "bash", "error", "1 failed", True, "/somewhere/outputs/c1.txt", metadata={"exit_code": 1}),
        agent(ToolCall("c2", "edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"})),
        ToolResult("c2", "edit", "success", "Edited", metadata={"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}),
        Prune(("c1",), 300, "cold cache"),
        Compaction("auto", "compressed", "auto", (1, 4), 6, "<state_snapshot/>", tokens_before=900, tokens_after=90),
        Failure("The network is gone", "model"),
        agent("Done."),
    ]


def test_json_brings_back_the_very_same_records(store: Store, tmp_path: Path):
    session = store.create(tmp_path, model="anthropic/opus")
    for body in whole_session():
        session.append(body)
    session.keep_output("c1", "all of it\n")
    session.close()
    file = tmp_path / "session.json"
    file.write_text(export(collect(session), "json", redacted=False))
    info = store_imported(store.root, read(file), tmp_path)
    assert info.id != session.id
    old, new = (store.folder(each) for each in (session.info, info))
    assert [(path.name, path.read_bytes()) for path in sorted((new / "records").iterdir())] == [
        (path.name, path.read_bytes()) for path in sorted((old / "records").iterdir())
    ]
    again = store.open(info.project_id, info.id)
    assert again.notes == ()
    before = store.open(session.info.project_id, session.id, read_only=True).history
    assert again.history == replace(before, model="", foreign=before.last_seq)
    assert again.output("c1.txt") == "all of it\n"
    assert (info.usage, info.cost, info.title) == (session.info.usage, session.info.cost, "Fix `total`")
    again.close()


def test_fields_and_kinds_that_are_not_known_survive_the_round_trip(store: Store, tmp_path: Path):
    session = store.create(tmp_path)
    session.append(user("hello"))
    session.close()
    (record,) = (store.folder(session.info) / "records").iterdir()
    raw = json.loads(record.read_text())
    record.write_text(json.dumps({**raw, "from_the_future": [1]}, separators=(",", ":")) + "\n")
    file = tmp_path / "session.json"
    file.write_text(export(collect(session), "json", redacted=False))
    info = store_imported(store.root, read(file), tmp_path)
    (copy,) = (store.folder(info) / "records").iterdir()
    assert copy.read_bytes() == record.read_bytes()


def test_a_redacted_export_opens_too_and_says_what_it_is(store: Store, tmp_path: Path):
    file = tmp_path / "session.json"
    file.write_text(exported("json", user(f"my key is {SECRET}"), agent("Noted.")))
    assert SECRET not in file.read_text()
    assert json.loads(file.read_text())["redacted"] is True
    imported = read(file)
    assert imported.notes == ("the export was changed, for example by redaction: its records get a new chain",)
    info = store_imported(store.root, imported, tmp_path)
    again = store.open(info.project_id, info.id)
    assert (again.notes, [record.kind for record in again.records()]) == ((), ["message", "message"])
    again.close()


def worked_on(store: Store, code: Path) -> Session:
    """A session whose agent changed text and a picture, ran a command, and was told something large."""
    (code / "a.py").write_text("a = 1\n")
    (code / "logo.png").write_bytes(b"\x89PNG\xff\x00")
    session = store.create(code, model="anthropic/opus")
    changes = Changes(session, store.checkpoints(session, [code]))
    session.append(user("change it"))
    session.keep_output("input-2", "all that was pasted\n")
    with changes.edits([code / "a.py", code / "logo.png"], ["c1"]):
        (code / "a.py").write_text(f"key = '{SECRET}'\n")
        (code / "logo.png").write_bytes(b"\x89PNG\xfe\x00")
    session.append(agent("done"))
    with changes.command(["c2"]):
        (code / "made.txt").write_text("by a command")
    session.close()
    return session


def moved(store: Store, tmp_path: Path, session: Session, contents: int, **how: Any) -> tuple[SessionInfo, list[str]]:
    """A session exported and imported again, and what the export lacks."""
    notes: list[str] = []
    file = tmp_path / "export.json"
    file.write_text(export(collect(session, contents), "json", say=notes.append, **how))
    imported = read(file)
    return store_imported(store.root, imported, tmp_path), [*notes, *imported.notes]


def test_json_brings_back_outputs_but_no_states_of_files(store: Store, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    session = worked_on(store, code)
    info, notes = moved(store, tmp_path, session, 1_000_000, redacted=False)
    assert notes == ["the states of files in it are left out: /undo and /rewind reach back to the import"]
    again = store.open(info.project_id, info.id)
    assert again.output("input-2.txt") == "all that was pasted\n"
    changes = Changes(again, store.checkpoints(again, [code]))
    for take_back in (changes.undo, lambda: changes.rewind(1), changes.redo):
        with pytest.raises(InputError):
            take_back()
    assert SECRET in (code / "a.py").read_text()
    with changes.edits([code / "a.py"], ["c3"]):
        (code / "a.py").write_text("a = 3\n")
    changes.undo()
    assert SECRET in (code / "a.py").read_text()
    again.close()


def test_an_export_says_which_states_of_files_it_lacks(store: Store, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    session = worked_on(store, code)
    _, notes = moved(store, tmp_path, session, 20, redacted=False)
    assert len(notes) == 2
    assert "over 20 bytes" in notes[0]
    assert len(json.loads((tmp_path / "export.json").read_text())["left_out"]) > 0
    _, notes = moved(store, tmp_path, session, 1_000_000)
    assert "File states are not exported" in notes[0]
    assert SECRET not in (tmp_path / "export.json").read_text()


def test_a_session_that_lost_a_record_is_moved_with_its_gap_and_its_bytes(store: Store, tmp_path: Path) -> None:
    session = store.create(tmp_path)
    for text in ("one", "two", "three"):
        session.append(user(text))
    session.close()
    records = store.folder(session.info) / "records"
    next(records.glob("000002-*")).unlink()
    newest = next(records.glob("000003-*"))
    newest.write_text(json.dumps(json.loads(newest.read_text()), indent=2))  # as another program may write it
    damaged = store.open(session.info.project_id, session.id, read_only=True)
    info, notes = moved(store, tmp_path, damaged, 0, redacted=False)
    assert notes == []
    copy = store.folder(info) / "records"
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        path.name: path.read_bytes() for path in records.iterdir()
    }
    assert any("record 2 is missing" in note for note in store.open(info.project_id, info.id, read_only=True).notes)


@each_row(
    ("change", "says"),
    [
        (lambda raw: raw["records"].pop(0), "records are missing"),
        (lambda raw: raw["records"][1].pop("role"), "record 2: not a record"),
        (lambda raw: raw.pop("session"), "the export: no field 'session'"),
        (lambda raw: raw.update(records=7), "the export: unexpected shape"),
        (lambda raw: raw["records"].reverse(), "records are missing"),
        (lambda raw: raw["records"][1].update(role="x" * 5000), "unknown role 'x{9,200}$"),
    ],
)
def test_a_damaged_export_is_refused_with_the_reason(tmp_path: Path, change, says: str):
    raw = json.loads(exported("json", user("one"), agent("two")))
    change(raw)
    file = tmp_path / "session.json"
    file.write_text(json.dumps(raw))
    with pytest.raises(InputError, match=says):
        read(file)


def test_an_export_that_names_a_record_far_away_as_missing_is_refused_at_once(store: Store, tmp_path: Path):
    session = store.create(tmp_path)
    session.append(user("one"))
    session.close()
    raw = json.loads(export(collect(session), "json", redacted=False))
    file = tmp_path / "session.json"
    file.write_text(json.dumps({**raw, "missing": [10**15]}))
    with pytest.raises(InputError, match="records are missing"):
        read(file)


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_secrets_stay_home_unless_asked_for(form: ExportFormat):
    call = ToolCall("c", "bash", {"command": f"curl -H 'x-api-key: {SECRET}'"})
    bodies = (user(f"key {SECRET}"), agent(call), ToolResult("c", "bash", "success", f"ok {SECRET}"))
    assert SECRET not in exported(form, *bodies)
    assert exported(form, *bodies, redacted=False).count(SECRET) >= 3


def test_markdown_tells_who_said_what_and_what_was_done():
    page = exported("md", *whole_session())
    for expected in (
        "# Fix 'total'",
        "## You",
        "## Agent",
        "pytest -q",
        "1 failed",
        "```diff\n--- a",
        "Compacted by auto",
        "Done.",
    ):
        assert expected in page


def test_a_code_block_in_markdown_holds_whatever_it_holds():
    page = exported(
        "md",
        user("go"),
        agent(ToolCall("c", "bash", {"command": "ls"})),
        ToolResult("c", "bash", "success", "a\n````\nb\n\n\n\nc"),
    )
    assert "`````\na\n````\nb\n\n\n\nc\n`````" in page


def test_what_was_rewound_is_not_told():
    assert "forget me" not in exported("md", user("stay"), user("forget me"), Undo(1, "rewind"), agent("ok"))


class Page(HTMLParser):
    """A page as a browser would parse it: its tags, and the text outside its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_folds_calls_shows_pictures_and_colours_code():
    page = exported("html", *whole_session())
    tags = Page(page).tags
    assert [tag for tag, _ in tags].count("details") >= 4
    assert ("img", {"alt": "image", "src": f"data:image/png;base64,{PNG}"}) in tags
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in tags
    assert "mi" in {attributes.get("class") for tag, attributes in tags if tag == "span"}
    assert {"added", "removed"} <= {attributes.get("class") for tag, attributes in tags if tag == "div"}


def test_a_page_needs_nothing_from_elsewhere():
    page = exported("html", *whole_session(), agent("![pixel](https://spy.example/p.png) [site](https://example.com)"))
    for tag, attributes in Page(page).tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        assert (attributes.get("src") or "data:").startswith("data:")
    assert "url(" not in page
    assert "@import" not in page


def test_a_page_forbids_scripts_and_the_network_and_drops_pictures_that_may_hold_scripts():
    drawing = "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"
    page = exported(
        "html", user("look", Image("image/svg+xml", drawing)), agent(f"![x](data:image/svg+xml;base64,{drawing})")
    )
    [policy] = [
        found["content"] for _, found in Page(page).tags if found.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "img" not in [tag for tag, _ in Page(page).tags]


def everywhere(text: str) -> list[Body]:
    """The same text in every place that comes from outside."""
    return [
        user(text, Image(text, text), Text(text, True, "reminder")),
        agent(Thinking(text), text, f"```{text}\n{text}\n```", f"[{text}](javascript:alert(1))", ToolCall("c", text, {text: text, "command": text, "file_path": text, "content": text})),
        ToolResult("c", text, "success", text, metadata={"diff": text}, images=(Image(text, text),)),
        Compaction("auto", "compressed", text, (1, 1), 2, text),
        Prune(("c",), 1, text),
        Failure(text, text),
    ]  # fmt: skip


def assert_harmless(page: str) -> None:
    for tag, attributes in Page(page).tags:
        assert tag not in ("script", "iframe", "object", "svg", "style2", "form", "base")
        assert not any(name.startswith("on") for name in attributes)
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:", "vbscript:"))
        assert tag != "img" or (attributes["src"] or "").startswith("data:image/")


def test_nothing_from_outside_becomes_part_of_the_page():
    page = exported("html", *everywhere(EVIL), redacted=False)
    assert_harmless(page)
    assert "owned" in "".join(Page(page).texts)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("<>&\"'`/=! \n\x1b[31m]()*_~:;scriptonerr-\u202e\ud800é漢"), max_size=40))
def test_no_text_at_all_breaks_out(text: str):
    page = exported("html", *everywhere(text), redacted=False)
    assert_harmless(page)
    page.encode("utf-8")


HOSTILE = "\"'><meta http-equiv=refresh content=0><zq onzq=1><!--"
"""Text that would begin a tag, an attribute or a comment if it were not escaped."""


def test_a_status_that_no_tool_ends_with_is_read_as_an_error(store: Store, tmp_path: Path) -> None:
    session = store.create(tmp_path)
    session.append(user("go"))
    session.append(agent(ToolCall("c", "bash", {"command": "ls"})))
    session.append(ToolResult("c", "bash", "success", "ok"))
    session.close()
    file = tmp_path / "s.json"
    exported = json.loads(export(collect(session), "json", redacted=False))
    exported["records"][-1]["status"] = f"success{HOSTILE}<script>"
    file.write_text(json.dumps(exported))
    info = store_imported(store.root, read(file), tmp_path)
    page = export(collect(store.open(info.project_id, info.id, read_only=True)), "html")
    assert "refresh" not in page
    assert "zq" not in page
    assert '<span class="error">failed</span>' in page


class Full(Disk):
    """A disk that is full after some writes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, file: int, data: memoryview) -> int:
        self.room -= 1
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return super().write(file, data)


@each_row("room", [0, 1, 2, 3])
def test_an_import_stands_whole_or_not_at_all(tmp_path: Path, room: int):
    bodies = tuple(("2026-01-01T00:00:00.000Z", body) for body in (user("one"), agent("two")))
    imported = Imported("pi", "one", "", "", "2026-01-01T00:00:00.000Z", bodies)
    with pytest.raises(StoreError, match="No space left"):
        store_imported(tmp_path / "sessions", imported, tmp_path, disk=Full(room))
    assert [path for path in (tmp_path / "sessions").rglob("*") if path.is_file()] == []
    info = store_imported(tmp_path / "sessions", imported, tmp_path)
    assert [found.id for found in Store(tmp_path / "sessions").list()] == [info.id]


@pytest.mark.skipif(not REAL.exists(), reason="the recorded session is not here")
def test_the_real_session_goes_out_and_comes_back(store: Store, tmp_path: Path):
    info = store_imported(store.root, read(REAL), tmp_path)
    session = store.open(info.project_id, info.id, read_only=True)
    file = tmp_path / "out.json"
    file.write_text(export(collect(session), "json", redacted=False))
    again = store_imported(store.root, read(file), tmp_path)
    assert (again.records, again.head, again.usage) == (info.records, info.head, info.usage)
    assert session.notes == ()


def browse(page: Path, tmp_path: Path) -> str:
    """The document as Chromium has it after loading, without any name on the network resolving."""
    command = [
        CHROMIUM or "",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        "--virtual-time-budget=2000",
    ]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_chromium_runs_nothing_of_it_and_a_phone_needs_no_sideways_scrolling(tmp_path: Path):
    wide = "x" * 400 + "\n" + "\t".join(["column"] * 60)
    page = exported(
        "html",
        *everywhere(EVIL),
        agent(f"| a | b |\n|---|---|\n| {'w' * 300} | {wide[:300]} |", wide),
        user(wide),
        redacted=False,
    )
    frame = json.dumps(page).replace("</", "<\\/")
    outer = tmp_path / "phone.html"
    outer.write_text(
        f"""<!doctype html><iframe id=f style="width:390px;height:800px;border:0"></iframe><script>
        f.onload = () => {{ const d = f.contentDocument; d.querySelectorAll('details').forEach(e => e.open = true);
        document.title = [d.title, d.documentElement.scrollWidth, d.querySelectorAll('details').length].join('|') }};
        f.srcdoc = {frame};</script>"""
    )
    rendered = browse(outer, tmp_path)
    title = rendered.split("<title>")[1].split("</title>")[0]
    name, width, folds = title.rsplit("|", 2)
    assert "document.title" in name  # the title that the session has, still a text
    assert int(width) <= 390
    assert int(folds) >= 4


def test_code_is_coloured_unless_it_is_too_long() -> None:
    for lines, is_coloured in ((1, True), (HIGHLIGHT_LIMIT // 6 + 1, False)):
        source = collect(journal(user("show me"), agent("```python\n" + "x = 1\n" * lines + "```")))
        assert ('<span class="mi">1</span>' in export(source, "html")) is is_coloured


@given(st.text(st.sampled_from("ab1 .,;:?()/'-*_`[]<>&#!|~+=\\\"\n\t"), max_size=24))
def test_text_without_markup_is_rendered_as_the_parser_would(text: str) -> None:
    for markdown in (text, f"Read {text}"):
        assert rendered(markdown) == _parser(HIGHLIGHT_LIMIT).render(markdown)


def test_names_of_files_and_functions_are_no_markup() -> None:
    assert _PLAIN.fullmatch("I run tests/test_export.py for to_html().")
    assert not _PLAIN.fullmatch("I look at __init__.py.")


@pytest.mark.parametrize("form", ["md", "html"])
def test_an_export_goes_out_while_its_records_are_read(form: ExportFormat) -> None:
    passed = []

    def through(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            passed.append(record.seq)
            yield record

    source = collect(journal(*(user(f"number {n}.") for n in range(9))))
    pieces = export_pieces(source, form, through=through)
    early = ""
    while "number 1." not in early:
        early += next(pieces)
    assert passed == [1, 2]
    assert early + "".join(pieces) == export(source, form)


def test_equal_code_is_coloured_once_and_long_code_is_not_remembered() -> None:
    _remembered.cache_clear()
    change = {"file_path": "a.py", "old_string": "x = 1\ny = 2", "new_string": "z = 3\n" * 4_000}
    page = exported("html", *(agent(ToolCall(f"c{n}", "edit", change)) for n in range(5)))
    assert page.count('<span class="n">x</span>') == 5
    assert (_remembered.cache_info().misses, _remembered.cache_info().currsize) == (1, 1)


def test_the_language_of_a_file_is_looked_up_once_for_all_with_the_same_endings() -> None:
    _language_of_ending.cache_clear()
    for name in ("a.py", "b.py", "c/d.py", "x.tar.gz", "y.tar.gz", "plain", "other"):
        language_of("content", name)
    assert _language_of_ending.cache_info().misses == 3


def test_files_have_the_languages_that_pygments_finds_for_their_names() -> None:
    from pygments.lexers import find_lexer_class_for_filename, get_all_lexers

    patterns = sorted({pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns})
    names = [pattern.replace("*", stem) for pattern in patterns[::7] for stem in ("name", "some.name")]
    for name in (
        *names,
        "Makefile.am",
        "CMakeLists.txt",
        "FooSpec.hs",
        "page.1",
        ".bashrc",
        "x.bashrc",
        "a.Makefile.b",
        "",
    ):
        lexer = find_lexer_class_for_filename(name)
        assert language_of("content", name) == (lexer.aliases[0] if lexer and lexer.aliases else "")


@each_row("text", ["\x7f é \ud800 \U0001f511", "é", "\ud83d\udd11", "plain\x1b"])
@pytest.mark.parametrize("redacted", [True, False])
def test_a_json_export_is_ascii_throughout_where_a_lone_surrogate_is_in_it_and_else_as_short_as_can_be(
    text: str, redacted: bool
) -> None:
    whole = exported("json", user("é\x7f before"), user(text), agent("after é"), redacted=redacted)
    assert whole == dumps(json.loads(whole)) + "\n"


def test_a_redacted_export_brings_records_of_another_form_into_its_own(store: Store, tmp_path: Path) -> None:
    session = store.create(tmp_path)
    for words in ("one é", f"two {SECRET}", "three"):
        session.append(user(words))
    session.close()
    for path in (store.folder(session.info) / "records").iterdir():
        path.write_text(
            json.dumps({**json.loads(path.read_text()), "odd": 1e16}, indent=1).replace("1e+16", "1.0E16") + "\n"
        )
    whole = export(collect(session), "json")
    assert whole == dumps(json.loads(whole)) + "\n"
    assert SECRET not in whole
    assert "one é" in whole


@pytest.mark.parametrize("form", ["html", "md"])
def test_what_only_the_model_needs_is_not_exported_and_what_agentcli_added_is_named(form: str) -> None:
    hint = '\n[task(resume="s") goes on]'
    page = exported(
        form,
        user("go", Text("Today is Monday.", True, "reminder")),
        agent(ToolCall("c", "task", {})),
        ToolResult("c", "task", "success", f"Found.{hint}", metadata={"for_model": hint}),
    )
    assert "Added by agentcli" in page
    assert "Found." in page
    assert "resume=" not in page


@each_row(("run", "ticks"), [(0, 3), (2, 3), (3, 4), (50_000, 50_001)])
def test_a_code_block_in_markdown_is_fenced_by_more_backticks_than_are_in_it(run: int, ticks: int) -> None:
    text = f"a ` b {'`' * run} c"
    assert fence(text) == f"{'`' * ticks}\n{text}\n{'`' * ticks}"
