"""Nothing is imported before it is needed: that is what keeps starting fast."""

from __future__ import annotations

import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import say
from tests.loopback import Loopback

REPOSITORY = Path(__file__).parent.parent
HEAVY = (
    "anthropic",
    "google.genai",
    "openai",
    "prompt_toolkit",
    "rich",
    "tiktoken",
    "typer",
    "httpx2",
    "pydantic",
    "tree_sitter",
    "acp",
    "mcp",
    "mcp_types",
    "starlette",
    "uvicorn",
    "yaml",
    "jsonschema",
    "opentelemetry",
)


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The modules that are loaded in a fresh interpreter after running this code."""
    script = f"import sys\n{code}\nprint('\\n'.join(sorted(sys.modules)), file=sys.stderr)"
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd=tmp_path, check=True
    )
    return set(done.stderr.split("\n"))


def test_the_version_needs_nothing(tmp_path: Path) -> None:
    modules = loaded("from agentcli.__main__ import main\nmain(['--version'])", tmp_path)
    assert not modules & {*HEAVY, "asyncio", "json", "dataclasses"}
    assert {module for module in modules if module.startswith("agentcli")} == {"agentcli", "agentcli.__main__"}


def test_the_package_is_imported_without_its_python_api_until_a_name_of_it_is_asked_for(tmp_path: Path) -> None:
    modules = loaded("import agentcli", tmp_path)
    assert not modules & {*HEAVY, "asyncio", "json", "dataclasses", "typing"}
    assert {module for module in modules if module.startswith("agentcli")} == {"agentcli"}
    assert not loaded("from agentcli import Session, query, run, run_batch, tool", tmp_path) & set(HEAVY)


def test_the_composition_root_loads_no_sdk_and_no_terminal_library(tmp_path: Path) -> None:
    assert not loaded("import agentcli.program.program", tmp_path) & set(HEAVY)


def test_a_run_without_hooks_loads_nothing_to_run_them_with_and_nothing_that_reads_other_programs(
    tmp_path: Path,
) -> None:
    modules = loaded("from agentcli.__main__ import main\nmain(['-p', 'hi', '-m', 'script:echo'])", tmp_path)
    hooks = ("runner", "verdict", "session_hooks", "payloads", "transcript", "configured")
    assert not modules & {f"agentcli.features.hooks.{name}" for name in hooks}
    unused = (
        "agentcli.extras.importers.config",
        "agentcli.extras.importers.config.import_run",
        "agentcli.features.hooks.commands",
        "agentcli.features.hooks.command_line",
    )
    assert not [module for module in modules if module.startswith(unused)]


def test_a_background_session_keeps_no_parser_in_its_memory(tmp_path: Path) -> None:
    modules = loaded("from agentcli.__main__ import main\nmain(['agents', 'run', 'nobody'])", tmp_path)
    assert "agentcli.frontends.agents.running" in modules
    assert not modules & {"typer", "rich", "prompt_toolkit"}


def test_the_early_prompt_needs_only_a_handful_of_modules(tmp_path: Path) -> None:
    modules = loaded("import agentcli.frontends.terminal.early", tmp_path)
    assert not modules & {*HEAVY, "asyncio", "json", "dataclasses"}


@pytest.mark.parametrize("model", ["script:echo", "script:steps:2"])
def test_a_headless_run_loads_neither_a_terminal_library_nor_another_providers_sdk(tmp_path: Path, model: str) -> None:
    run = f"from agentcli.__main__ import main\nmain(['-p', 'hi', '-m', '{model}'])"
    modules = loaded(run, tmp_path)
    assert not modules & set(HEAVY)
    assert not [module for module in modules if module.startswith("agentcli.context.snapshot")]  # hundreds of patterns


WINGS = {f"agentcli.features.{folder.name}." for folder in (REPOSITORY / "agentcli/features").glob("[a-z]*/")}
NEEDED = {"agentcli.features.hooks.", "agentcli.features.mcp."}
"""Wings that every run needs a part of: it looks for hooks and servers. Of the others it loads the class, which is the package itself."""
UNUSED = (
    "agentcli.agent.timed_rules",
    "agentcli.providers.accounts",
    "agentcli.program.daily",
    "agentcli.context.policies.native",
    "agentcli.context.policies.provider",
    "agentcli.context.policies.regions",
    "agentcli.core.text.options",
    "agentcli.program.prompt_files.installed_plugins",
    "agentcli.program.prompt_files.mentions",
    "agentcli.program.prompt_files.plugin_source",
    "agentcli.program.prompt_files.plugins",
    "agentcli.providers.endpoint_lists",
    "agentcli.permissions.sandbox.space",
    "agentcli.frontends.serve",
    "agentcli.frontends.terminal.status_facts",
    "agentcli.features.status_command",
    "agentcli.tools.lib.web_request",
    "agentcli.frontends.commands.memory_proposal",
    "jsonschema",
)


@pytest.mark.parametrize("model", ["script:steps:2", "openai/gpt-5.6-luna"])
def test_a_run_loads_nothing_of_the_features_that_it_does_not_use(tmp_path: Path, model: str) -> None:
    assert WINGS > NEEDED
    keys = "import os\nos.environ.update(OPENAI_API_KEY='k', OPENAI_BASE_URL='http://127.0.0.1:1/v1')"
    run = f"from agentcli.__main__ import main\nmain(['-p', 'hi', '-m', '{model}', '--set', 'retry.attempts=1'])"
    modules = loaded(f"{keys}\n{run}", tmp_path)
    assert "agentcli.agent.loop" in modules
    assert not [module for module in modules if module.startswith((*UNUSED, *(WINGS - NEEDED)))]


LATER = (
    "agentcli.agent.compaction.summariser",
    "agentcli.agent.project.frontmatter",
    "agentcli.agent.project.instruction_imports",
    "agentcli.context.context_editing",
    "agentcli.context.ledger",
    "agentcli.context.loss",
    "agentcli.context.policies.auto",
    "agentcli.context.pruning.plan",
    "agentcli.context.room",
    "agentcli.core.aliases",
    "agentcli.core.costs",
    "agentcli.core.images",
    "agentcli.core.text.passage",
    "agentcli.core.text.patch",
    "agentcli.core.text.terminal",
    "agentcli.core.text.truncate",
    "agentcli.program.definition",
    "agentcli.program.demo",
    "agentcli.program.prompt_files.fill",
    "agentcli.permissions.sandbox.aftermath",
    "agentcli.program.prompt_files.template",
    "agentcli.providers.arguments",
    "agentcli.providers.context_windows",
    "agentcli.providers.google.errors",
    "agentcli.providers.refusals",
    "agentcli.sessions.checkpoints",
    "agentcli.sessions.copying",
    "agentcli.sessions.in_memory",
    "agentcli.sessions.recovery",
    "agentcli.sessions.retention",
    "agentcli.sessions.storage.recall_index",
    "agentcli.sessions.trash",
    "agentcli.system.network",
    "agentcli.system.pictures",
    "agentcli.system.process",
    "agentcli.system.git",
    "agentcli.system.worktrees",
    "agentcli.tools.foreign",
    "agentcli.tools.lib",
    "agentcli.tools.mending",
)
"""Modules that a session needs once a tool is called, a text is searched, or something is taken back."""
COPIES = {f"agentcli_copy_of_{sdk}" for sdk in ("anthropic", "google_genai", "openai")}
"""The SDKs, as copies without what no request needs."""
MOST = 230
"""Number of our own modules that a one-shot may load."""


@pytest.mark.parametrize(
    ("model", "sdk"), [("anthropic/claude-sonnet-5", "anthropic"), ("google/gemini-3.8-flash", "google_genai")]
)
def test_a_one_shot_needs_few_modules_of_ours_none_that_it_may_need_later_and_one_sdk(
    tmp_path: Path, model: str, sdk: str
) -> None:
    with Loopback([say("hello")]) as server:
        run = f"import os\nos.environ.update({dict(server.env)!r})\nfrom agentcli.__main__ import main\n"
        modules = loaded(f"{run}main(['-p', 'hi', '-m', '{model}'])", tmp_path)
    own = {module for module in modules if module.split(".")[0] == "agentcli"}
    assert "agentcli.agent.loop" in own
    assert len(own) <= MOST
    assert modules & COPIES == {f"agentcli_copy_of_{sdk}"}
    assert not modules & {"anthropic", "google.genai", "openai", "rich", "tiktoken"}
    assert not [module for module in own if module.startswith(LATER)]


def test_a_resumed_talk_without_calls_needs_only_the_files_of_its_session_besides(tmp_path: Path) -> None:
    run = "from agentcli.__main__ import main\nmain(['-p', 'hi', '-m', 'script:echo'{}])".format
    first, later = loaded(run(""), tmp_path), loaded(run(", '-c'"), tmp_path)
    more = {module for module in later - first if module.startswith("agentcli.")}
    assert "agentcli.sessions.recovery" in more
    unneeded = (
        "agentcli.context.policies.",
        "agentcli.context.room",
        "agentcli.agent.delegation.subagent",
        "agentcli.sessions.storage.recall",
    )
    assert not [module for module in more if module.startswith(unneeded)]


def test_a_run_without_commands_loads_nothing_that_judges_them(tmp_path: Path) -> None:
    modules = loaded("from agentcli.__main__ import main\nmain(['-p', 'hi', '-m', 'script:echo'])", tmp_path)
    judging = tuple(f"agentcli.permissions.{name}" for name in ("decide", "facts", "shell"))
    assert "agentcli.permissions.rules" in modules
    assert not [module for module in modules if module.startswith(judging)]


def test_the_terminal_loads_nothing_of_them_until_they_are_used(tmp_path: Path) -> None:
    modules = loaded(
        "import agentcli.frontends.cli.launch, agentcli.frontends.terminal.app",
        tmp_path,
    )
    assert not [module for module in modules if module.startswith((*UNUSED, *(WINGS - NEEDED)))]


@pytest.mark.full
@pytest.mark.parametrize("command", ["'models'", "'config', 'show'", "'stats'", "'permissions', 'show'", "'--help'"])
def test_what_goes_into_a_pipe_is_printed_without_rich(tmp_path: Path, command: str) -> None:
    assert "rich" not in loaded(f"from agentcli.__main__ import main\nmain([{command}])", tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "'sessions', 'list'",
        "'sessions', 'list', '--limit', '1'",
        "'sessions', 'search', 'word', '--all', '--json', '--hits=2'",
    ],
)
def test_sessions_are_listed_and_searched_without_a_parser_or_an_agent(tmp_path: Path, command: str) -> None:
    modules = loaded(f"from agentcli.__main__ import main\nmain([{command}])", tmp_path)
    assert not modules & {*HEAVY, "asyncio", "tomllib"}
    assert not {
        module
        for module in modules
        if module.startswith(("agentcli.agent", "agentcli.tools", "agentcli.program.program"))
    }
    assert "search" in command or not modules & {"agentcli.sessions.session", "agentcli.core.history"}


def test_a_run_with_one_vendor_loads_no_others_sdk(tmp_path: Path) -> None:
    keys = "import os\nos.environ.update(OPENAI_API_KEY='k', OPENAI_BASE_URL='http://127.0.0.1:1/v1')"
    run = f"{keys}\nfrom agentcli.__main__ import main\nmain(['-p', 'hi', '-m', 'luna', '--set', 'retry.attempts=1'])"
    modules = loaded(run, tmp_path)
    assert modules & COPIES == {"agentcli_copy_of_openai"}
    assert not modules & {"anthropic", "google.genai", "openai", "rich", "prompt_toolkit", "tiktoken"}


PARSING = (
    "agentcli.program.extras",
    "agentcli.frontends.cli",
    "agentcli.frontends.opening",
    "agentcli.core",
    "agentcli.program.command_line",
    "agentcli.program.options",
    "agentcli.manual",
    "agentcli.system.cells",
    "agentcli.system.paths",
    "agentcli.system.probe",
)
NAMES = (
    "agentcli.agent.feature",
    "agentcli.program.feature",
    "agentcli.features.hooks.files",
    "agentcli.features.mcp.transport",
    "agentcli.program.definition",
    "agentcli.system.regular_file",
    "agentcli.system.disk",
    "agentcli.extras.importers.config",
)
"""Modules whose tables of names stand in the help, and what they and the packages of features need."""
EVERY_HELP = """
import contextlib, io
from agentcli.frontends.cli import run
from agentcli.frontends.cli.parser import whole_group

def paths(command, path=()):
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from paths(inner, (*path, name))

for path in paths(whole_group()):
    for option, code in (("--help", 0), ("--no-such-option", 2)):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert run([*path, option]) == code, path
"""


def test_the_help_of_a_command_reads_nothing_of_the_others(tmp_path: Path) -> None:
    modules = loaded("from agentcli.__main__ import main\nmain(['batch', '--help'])", tmp_path)
    assert not modules & {
        "json",
        "agentcli.frontends.cli.run_commands",
        "agentcli.frontends.cli.sessions",
        "agentcli.extras.bench",
    }


def test_the_help_of_any_command_and_a_usage_error_load_only_the_parser_and_tables_of_names(tmp_path: Path) -> None:
    modules = loaded(EVERY_HELP, tmp_path)
    assert "agentcli.features.mcp.command_line" in modules  # every command is among them
    assert not modules & (set(HEAVY) - {"typer"} | {"asyncio", "tomllib", "socket", "logging", "tempfile"})
    ours = {module for module in modules if module.startswith("agentcli.") and not module.startswith(PARSING)}
    packages = {module.rpartition(".")[0] for module in modules}
    parts = tuple(f".{name}" for name in ("command_line", "flags"))
    assert not {module for module in ours - packages if not module.startswith(NAMES) and not module.endswith(parts)}
    assert not modules & {"agentcli.core.record", "agentcli.core.message", "agentcli.core.model"}


_IMPORT = re.compile(r"^\s*(?:from (agentcli[\w.]*) import (\([^)]*\)|[^#\n]+)|import (agentcli[\w.]*))", re.MULTILINE)


def test_no_modules_import_one_another_not_even_for_types_or_inside_functions() -> None:
    files = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts): path
        for path in (REPOSITORY / "agentcli").rglob("*.py")
    }
    sources = {name.removesuffix(".__init__"): path.read_text() for name, path in files.items()}
    graph = {
        module: {
            target
            for package, names, whole in _IMPORT.findall(source)
            for name in re.findall(r"\w+", names) or [""]
            for target in [next(one for one in (f"{package}.{name}", package or whole) if one in sources)]
            if target != module
        }
        for module, source in sources.items()
    }
    assert len(graph) > 500
    assert list(TopologicalSorter(graph).static_order())
