"""`python -m tests.manual`: write the page that lists all settings, from the settings themselves, and the index of the pages."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import NOT_NEGATIVE, Access, Range, access
from agentcli.frontends.sections import SCHEMA
from agentcli.manual import FOLDER, GROUPS, summary
from agentcli.program.config.toml import toml_value

PAGE = FOLDER / "configuration.md"
INDEX = FOLDER / "index.md"
COMMANDS = """\
## Commands of the shell

| command | does |
|---|---|
| `agentcli [PROMPT]` | a session in the current folder |
| `agentcli -p PROMPT` | one prompt without a terminal; piped text comes first; `-o json` or `-o stream-json` for scripts |
| `agentcli -c`, `agentcli resume [SESSION]` | resume the newest session, or another |
| `agentcli sessions list · show · search · export · import · …` | the session store; imports sessions of Claude Code, Codex, Gemini CLI, opencode and pi |
| `agentcli context show · plan · compare` | what fills the window, what compaction would do, how policies compare |
| `agentcli permissions show · explain 'CMD'` | what runs without asking, and why |
| `agentcli models · tools · config · auth · doctor · stats` | models, tools, settings, keys, a check-up, costs |
| `agentcli batch run · status · report · show · stop · merge · clean` | many tasks, each in its own worktree, with commits as results |
| `agentcli bench` | measures models, prompts and settings on twenty tasks of its own, or on yours: rates with intervals |
| `agentcli mcp · hooks · skills · agents · plugins` | list, test and add what extends a session; files of Claude Code, Gemini CLI, Codex and opencode work as they are |
| `agentcli update` | updates agentcli with the tool that installed it |
| `agentcli import-config` | copies servers, hooks and rules from those programs |
| `from agentcli import query, run, Session` | the agent inside Python programs, many sessions in one process |
| `agentcli ps · attach SESSION · serve` | what runs on this machine; follow, answer and steer a session from another terminal, or from a page in the browser or on a phone |
| `agentcli acp` | the agent for editors that speak the Agent Client Protocol, such as Zed |
| `agentcli help [TOPIC]` | the manual |
"""
"""The table of commands in the index."""
HEAD = """\
<!-- words: settings, config file, options, preferences, defaults, environment variables, toml -->

# Configuration

Where settings come from, how to change them, and the reference of all of them with their defaults.

Your settings are in `config.toml` in `$XDG_CONFIG_HOME/agentcli` (on Linux `~/.config/agentcli`); `agentcli config path` prints the path.
From low to high: built-in defaults, your config.toml, a trusted project's `.agentcli/config.toml`, the environment
(`AGENTCLI_SECTION__KEY`), `--set KEY=VALUE`, flags.

    agentcli config set model sonnet           # the ten that people change most: model, mode, sandbox, ui.theme, ui.vi,
                                               # ui.keys, agent.effort, tools.web_search, checks, budget.session.cost
    agentcli config show --origin              # every setting, and where it comes from
    agentcli config set ui.theme dark          # comments in the file stay
    AGENTCLI_UI__THEME=light agentcli
    agentcli --effort high                     # the same as --set agent.effort=high; /effort switches in a session
    agentcli -m sonnet:high                    # model and effort together, also in /model

An unknown key is a warning with the nearest name, on the command line an error; a value of the wrong type or out of bounds is an error.
Retired settings are ignored, with a warning.

Each section says which settings a trusted project may change; agentcli reports the rest as ignored. Providers and models have tables of their own:
`agentcli help models`.

    model = "sonnet"

    [context]
    soft = 0.6

    [permissions]
    allow = ["bash(npm test)", "edit(src/**)"]
    deny = ["bash(git push *)"]

Each line below is a key with its default, the unit, and the other values or the bounds.
"""
THEMES: Mapping[str, tuple[str, ...]] = {
    "Model": ("model", "accounts", "agent"),
    "Permissions and sandbox": ("mode", "sandbox", "sandbox_network", "add_dirs", "permissions"),
    "Budgets": ("budget",),
    "Context": ("context",),
    "Context: pruning old outputs": ("context.prune",),
    "Context: editing by the provider": ("context.native",),
    "Context: policies of other programs": ("context.gemini", "context.opencode", "context.regions", "context.sliding"),
    "Tools": ("tools",),
    "Requests that fail": ("retry",),
    "Undo and rewind": ("checkpoints",),
    "Checks after edits": ("checks", "lsp"),
    "Old sessions": ("retention",),
    "Hooks and MCP servers": ("hooks", "mcp"),
    "Terminal": ("ui",),
}
"""The beginnings of the keys of each theme; the longest that fits a key decides."""
ABOUT: Mapping[str, str] = {
    "Permissions and sandbox": "Rules such as `bash(git push *)`; deny wins over ask, ask over allow.",
    "Budgets": "Of a session, a task (one prompt), an agent (a subagent).",
    "Context": "See `agentcli help context`.",
    "Context: editing by the provider": "For the policy `native`.",
    "Undo and rewind": "Limits of the files that `/undo` and `/rewind` can restore.",
    "Checks after edits": "See `agentcli help checks`.",
    "Hooks and MCP servers": "See `agentcli help hooks` and `agentcli help mcp`, also for the files that define them.",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as the page shows it."""

    key: str
    default: Any
    hint: Any
    access: Access
    meaning: str


def index() -> str:
    """The index of the pages, by group, and the commands."""
    parts = [
        "# The manual of agentcli\n\nPages, each `manual:NAME.md` for the read tool and `agentcli help NAME` in a shell.\n"
    ]
    for group, topics in GROUPS.items():
        parts.append("\n".join([f"## {group}\n", *(f"- {topic}: {summary(topic)}" for topic in topics), ""]))
    return "\n".join([*parts, COMMANDS])


def text() -> str:
    """The page."""
    themes: dict[str, list[Setting]] = {theme: [] for theme in THEMES}
    for each in settings():
        begun = {
            part: theme for theme, parts in THEMES.items() for part in parts if f"{each.key}.".startswith(f"{part}.")
        }
        themes[begun[max(begun, key=len)]].append(each)
    return "\n".join([HEAD, *(_theme(*theme) for theme in themes.items())])


def settings() -> Iterator[Setting]:
    """All settings."""
    for name, section in SCHEMA.sections.items():
        yield from _settings("" if name == "general" else name, section())


def _settings(name: str, value: Any) -> Iterator[Setting]:
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in dataclasses.fields(value):
        key, each = f"{name}.{field.name}".lstrip("."), getattr(value, field.name)
        if dataclasses.is_dataclass(each):
            yield from _settings(key, each)
        elif allowed := access(field):
            yield Setting(key, each, hints[field.name], allowed, _described(type(value))[field.name])


def _theme(title: str, settings: list[Setting]) -> str:
    lines = [f"- `{each.key}` = `{_default(each.default)}`{_values(each)}: {each.meaning}" for each in settings]
    about = f"{ABOUT.get(title, '')} {_project(settings)}".strip()
    return "\n".join([f"## {title}\n", f"{about}\n", *lines, ""])


def _default(value: Any) -> str:
    return f"{value:_}" if isinstance(value, int) and not isinstance(value, bool) else toml_value(value)


def _values(setting: Setting) -> str:
    """The unit, and the other values or the bounds."""
    hint, allowed = setting.hint, NOT_NEGATIVE
    if get_origin(hint) is Annotated:
        hint, allowed = get_args(hint)[0], next(each for each in get_args(hint) if isinstance(each, Range))
    if get_origin(hint) is Literal:
        others = [toml_value(each) for each in _flat(hint) if each not in ("", setting.default)]
        return f" ({', '.join(others)})"
    if hint not in (int, float):
        return ""
    unit = f" {allowed.unit}" if allowed.unit else ""
    return f"{unit} ({f'≥{allowed.low:g}' if allowed.high is None else f'{allowed.low:g}–{allowed.high:g}'.replace('e+0', 'e')})"


def _flat(hint: Any) -> Iterator[Any]:
    for each in get_args(hint):
        yield from _flat(each) if get_origin(each) is Literal else [each]


def _project(settings: list[Setting]) -> str:
    """A sentence about what a project may do to the settings of a theme."""
    keys: dict[str, list[str]] = defaultdict(list)
    for each in settings:
        rule = each.access.tighter.allowed if each.access.tighter else each.access.project
        name = f"`{each.key.rpartition('.')[2]}`"
        keys[rule] += [name] if name not in keys[rule] else []
    refused = ", ".join(keys.pop("never", []))
    if not keys:
        return "A project may set none of these."
    *fewer, most = sorted(keys, key=lambda rule: len(keys[rule]))
    others = "the others" if refused or fewer else "all of these"
    may = [_may(rule, ", ".join(keys[rule])) for rule in fewer] + [_may(most, others)]
    said = "; ".join(may[:-1]) + ("", " and ", "; and ")[min(len(fewer), 2)] + may[-1]
    alone = f"{refused} {'are' if ',' in refused else 'is'} yours alone; a" if refused else "A"
    return f"{alone} project may {said}."


def _may(rule: str, names: str) -> str:
    """What a project may do, in words, with the names in place of `it`."""
    if rule == "free":
        return f"set {names}"
    return rule.replace("change it towards false", "turn it off").replace(" it", f" {names}", 1)


@cache
def _described(kind: type) -> dict[str, str]:
    """The text below each field of a dataclass."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            found[field.target.id] = ast.literal_eval(after.value)
    return found


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    INDEX.write_text(index(), encoding="utf-8")
