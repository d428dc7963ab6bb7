"""Language servers of others: pyright, typescript-language-server and, where they are, gopls, rust-analyzer and clangd."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.features.checks.lsp.configured import KNOWN
from agentcli.features.checks.lsp.server import Patience
from agentcli.features.checks.lsp.session import SessionServers
from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import load
from agentcli.tools.lsp import LanguageServers
from tests.agent.open_session import open_session
from tests.e2e.program import Program
from tests.ecosystem.software import npm_packages

pytestmark = pytest.mark.ecosystem
SOURCES: Mapping[str, tuple[str, str, str]] = {
    "pyright": (
        "shop.py",
        "def total(prices: list[int]) -> int:\n    return sum(prices)\n\n\nprint(total([1]))\n",
        "total",
    ),
    "typescript": (
        "shop.ts",
        "function total(prices: number[]): number {\n  return prices.length;\n}\n\nconsole.log(total([1]));\n",
        "total",
    ),
    "gopls": (
        "shop.go",
        "package main\n\nfunc total(prices []int) int { return len(prices) }\n\nfunc main() { println(total(nil)) }\n",
        "total",
    ),
    "rust-analyzer": (
        "src/main.rs",
        'fn total(prices: &[i32]) -> i32 { prices.iter().sum() }\n\nfn main() {\n    println!("{}", total(&[1]));\n}\n',
        "total",
    ),
    "clangd": ("shop.c", "int total(int price) { return price; }\n\nint main(void) { return total(1); }\n", "total"),
}
BROKEN = {
    "pyright": 'print(total("one"))\n',
    "typescript": 'console.log(total("one"));\n',
    "gopls": 'var wrong int = "one"\n',
    "rust-analyzer": 'fn wrong() -> i32 { "one" \n',
    "clangd": "int wrong(void) { return missing; }\n",
}
PROJECT = {
    "go.mod": "module example.com/shop\n\ngo 1.20\n",
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true}}\n',
}


@pytest.fixture(scope="module")
def path() -> Iterator[str]:
    """PATH with the servers that can be had. In bubblewrap /tmp and /var/tmp are private: what is installed there cannot be started."""
    with tempfile.TemporaryDirectory(prefix=".language-servers-", dir=Path.home()) as folder:
        node = npm_packages(Path(folder), "pyright", "typescript-language-server", "typescript@5")
        yield f"{node}:{os.environ['PATH']}"


def opened(folder: Path, path: str) -> AgentSession:
    program = SimpleNamespace(
        config=load(SCHEMA, None, None, {}, more={"lsp": True}),
        plugins=([], []),
        trusted=False,
        cwd=folder,
        dirs=SimpleNamespace(config=folder / "config"),
        given_env={"PATH": path},
    )
    session = open_session(
        folder, [], mode="yolo", features=[partial(SessionServers, program, patience=Patience(120, 120, 120))]
    )
    session.core.ctx.env = {**os.environ, "PATH": path}
    return session


def rust_is_whole(path: str) -> bool:
    """rustup puts its own program in place of a component that is not installed."""
    program = shutil.which("rust-analyzer", path=path) or ""
    return subprocess.run([program, "--version"], capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("name", KNOWN)
def test_a_server_answers_questions_renames_and_tells_what_an_edit_brought(
    tmp_path: Path, path: str, name: str
) -> None:
    if not shutil.which(KNOWN[name][0][0], path=path) or (name == "rust-analyzer" and not rust_is_whole(path)):
        pytest.skip(f"{name} is not installed")
    for file, text in PROJECT.items():
        (tmp_path / file).write_text(text)
    place, text, symbol = SOURCES[name]
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    line = next(n for n, row in enumerate(text.split("\n"), 1) if symbol in row)
    use = next(n for n, row in enumerate(text.split("\n"), 1) if symbol in row and n > line)
    session = opened(tmp_path, path)

    async def tried() -> None:
        servers: Any = session.core.ctx.service(LanguageServers)
        ask = partial(servers.ask, "c1")
        assert "total" in (await ask("symbols", str(file), 0, "", "")).output
        assert (await ask("definition", str(file), use, symbol, "")).output.startswith(f"{place}:{line}: ")
        assert len((await ask("references", str(file), line, symbol, "")).output.split("\n")) == 2
        assert "total" in (await ask("hover", str(file), use, symbol, "")).output
        renamed = await ask("rename", str(file), line, symbol, "price_of_all")
        assert renamed.output.startswith("Renamed in 2 places."), renamed.output
        assert file.read_text() == text.replace("total", "price_of_all")
        servers.before(file)
        before = file.read_text()
        file.write_text(before + BROKEN[name].replace("total", "price_of_all"))
        found = await servers.after(file)
        for _ in range(600):
            if found or servers.late:
                break
            await asyncio.sleep(0.1)
        assert f"{place}:{before.count(chr(10)) + 1}:" in found + "".join(servers.late)
        session.close()

    asyncio.run(tried())


OLD = {
    "pyright": 'price: int = "old"\n',
    "typescript": 'const price: number = "old";\n',
    "gopls": 'var price int = "old"\n',
}
NEW = {"pyright": 'total("new")\n', "typescript": 'total("new");\n', "gopls": 'var other int = "new"\n'}


@pytest.fixture(params=["bubblewrap", "landlock"])
def program(request: pytest.FixtureRequest, tmp_path: Path, path: str) -> Program:
    """The program with language servers on, whose commands run in this sandbox."""
    if request.param == "landlock":
        names = {
            name: file for folder in path.split(":") for name in executables(folder) if (file := f"{folder}/{name}")
        }
        (bin_ := tmp_path / "bin").mkdir()
        for name in sorted({*names} - {"bwrap"}):
            (bin_ / name).symlink_to(shutil.which(name, path=path) or names[name])
        path = str(bin_)
    made = Program(tmp_path, {"PATH": path})
    made.config("lsp = true\n")
    if f"({request.param})" not in made.run("doctor").out:
        pytest.skip(f"{request.param} does not work here")
    return made


def executables(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def scripted(program: Program, name: str) -> tuple[str, ...]:
    """A model that reads a file with an old error, changes nothing that matters, and brings a new error."""
    if not shutil.which(KNOWN[name][0][0], path=program.env["PATH"]):
        pytest.skip(f"{name} is not installed")
    for file, text in PROJECT.items():
        (program.work / file).write_text(text)
    place, text, _ = SOURCES[name]
    (program.work / place).write_text(text + OLD[name])
    edits = [(OLD[name], f"{OLD[name]}\n"), (f"{OLD[name]}\n", f"\n{OLD[name]}{NEW[name]}")]
    calls = [
        {"name": "read", "input": {"file_path": place}},
        *({"name": "edit", "input": {"file_path": place, "old_string": a, "new_string": b}} for a, b in edits),
    ]
    script = program.base / "script.json"
    replies = [{"calls": [call], "delay": 8} for call in calls]
    script.write_text(json.dumps({"replies": [*replies, {"text": "Done.", "delay": 8}, {"text": "Seen."}]}))
    return ("-m", f"script:{script}", "--mode", "yolo")


@pytest.mark.parametrize("name", NEW)
def test_the_program_tells_the_model_of_the_new_error_alone(program: Program, name: str) -> None:
    assert program.ask("-p", "go", *scripted(program, name)).code == 0
    assert program.run("-c", "-p", "on", "-m", "script:echo").code == 0
    told = [found for text in texts(program) for found in re.findall(rf"New findings of `{name}`:\n((?:.+\n?)+)", text)]
    assert len(told) == 1, texts(program)
    place = SOURCES[name][0]
    line = (program.work / place).read_text().split("\n").index(NEW[name].strip()) + 1
    assert re.fullmatch(rf"{place}:{line}:\d+: error: .*\n?(</system-reminder>)?", told[0]), told


def texts(program: Program) -> list[str]:
    """All that the model was told: outputs of calls, and reminders."""
    parts = [record.get("parts", [record]) for record in program.records()]
    return [part.get("output") or part.get("text") or "" for each in parts for part in each]


def test_a_person_at_a_terminal_sees_the_new_error(program: Program) -> None:
    with program.terminal(*scripted(program, "pyright")) as t:
        t.until("? keys")
        t.send("go\r", until="Done.", seconds=120)
        t.settle()
        shown = "\n".join(t.history())
        assert "New findings of `pyright`" in shown or "Findings came after the model's last edit" in shown, shown
        assert shown.count("is not assignable to") <= 1
