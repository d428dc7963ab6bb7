"""`agentcli completion`: scripts for bash, zsh and fish, their installation, and the words that they request at each
Tab.

Static words (commands, options, models, settings) are read from the parser once for each version. They are stored in
the cache folder. Loading the parser is too slow for a Tab.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import harmful
from agentcli.core.text.encodings import readable
from agentcli.program.options import flags
from agentcli.system import probe
from agentcli.system.paths import app_dirs, replace_file

SHELLS = ("bash", "zsh", "fish")
WORDS = "--words"
"""Option with which the scripts call the program: the words before the cursor follow; the last is being typed."""
_SCRIPTS = {
    "bash": """\
_agentcli() {
    local line=${COMP_LINE:0:COMP_POINT} each start
    local -a words found
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    mapfile -t found < <(agentcli completion --words "${words[@]:1}" 2>/dev/null)
    # Bash replaces no more than what follows the last character that it breaks words at.
    start=${words[-1]}
    [[ $COMP_WORDBREAKS == *=* ]] || start=
    start=${start%"${start##*=}"}
    COMPREPLY=()
    for each in "${found[@]}"; do
        [[ $each == *= ]] && compopt -o nospace 2>/dev/null
        if [[ $each == :files ]]; then compopt -o default 2>/dev/null
        elif [[ -n $each ]]; then COMPREPLY+=("$(printf %q "${each#"$start"}")"); fi
    done
}
complete -F _agentcli agentcli
""",
    "zsh": """\
#compdef agentcli
_agentcli() {
    local -a found
    found=("${(@f)$(agentcli completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ ${found[(Ie):files]} -gt 0 ]]; then
        _files
    elif [[ -n ${found[1]} ]]; then
        compadd -a found
    fi
}
if [[ $funcstack[1] == _agentcli ]]; then _agentcli "$@"; else compdef _agentcli agentcli; fi
""",
    "fish": """\
function __agentcli_words
    set -l given (commandline -opc) (commandline -ct)
    set -l found (agentcli completion --words $given[2..] 2>/dev/null)
    if contains -- :files $found
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c agentcli -f -a '(__agentcli_words)'
""",
}
_FILES = ":files"
_FILE_NAMES = ("FILE", "DIR", "PATH")
_TOGGLES = ("true", "false")
_LISTED = 200
"""Maximum names from endpoints' lists: the scripts take time for each word."""
_PLACES = {
    "bash": ("data", "bash-completion/completions/agentcli"),
    "zsh": ("data", "zsh/site-functions/_agentcli"),
    "fish": ("config", "fish/completions/agentcli.fish"),
}
"""Folder and file of each shell's installed script."""
_NEXT = {
    "bash": "Open a new shell to use it. It needs the package bash-completion.",
    "zsh": "Put this line into ~/.zshrc, before compinit, and open a new shell: fpath=({folder} $fpath)",
    "fish": "Open a new shell to use it.",
}
"""What the user does after the installation."""


def complete(arguments: Sequence[str]) -> None:
    """Print the script for `agentcli completion SHELL`; for `--words …` the candidates at the cursor, one a line."""
    if arguments[:1] == [WORDS]:
        sys.stdout.write("".join(f"{word}\n" for word in found(arguments[1:])))
    elif len(arguments) == 1 and arguments[0] in SHELLS:
        _table()  # so that the first Tab is as fast as the others
        print(_SCRIPTS[arguments[0]], end="")
    elif arguments[:1] == ["install"] and arguments[1:] in ([], *([each] for each in SHELLS)):
        _install(arguments[1:])
    elif arguments in (["-h"], ["--help"]):
        print(_HELP)
    else:
        raise UsageError(f"Name your shell: agentcli completion {'|'.join(SHELLS)}.")


_HELP = """\
Usage: agentcli completion bash|zsh|fish
       agentcli completion install [bash|zsh|fish]

`install` writes the script and the man page to your own folders, and says where.
Print a script that completes commands, options, sessions, models and settings:
  bash   eval "$(agentcli completion bash)"        in ~/.bashrc
  zsh    eval "$(agentcli completion zsh)"         in ~/.zshrc, after compinit
  fish   agentcli completion fish > ~/.config/fish/completions/agentcli.fish"""


def _install(shells: Sequence[str]) -> None:
    from agentcli.frontends.cli.man import man_page
    from agentcli.frontends.cli.parser import whole_group

    shell = shells[0] if shells else shell_of()
    for line in installed(shell, _SCRIPTS[shell], man_page(whole_group())):
        print(line)


def installed(shell: str, script: str, man: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Write a shell's script and the man page to the user's folders.

    Return lines that name the files and the next step. Raises OSError if a file is not writable.
    """
    home = Path(env.get("HOME") or "~").expanduser()
    folders = {
        "data": _folder(env.get("XDG_DATA_HOME"), home / ".local/share"),
        "config": _folder(env.get("XDG_CONFIG_HOME"), home / ".config"),
    }
    kind, name = _PLACES[shell]
    completion, page = folders[kind] / name, folders["data"] / "man/man1/agentcli.1"
    replace_file(completion, script)
    replace_file(page, man)
    return [
        f"Wrote {completion} (completion for {shell}).",
        f"Wrote {page} (man page).",
        _NEXT[shell].format(folder=completion.parent),
    ]


def shell_of() -> str:
    """Return the name of the user's shell. Raise UsageError if it is not one with completion."""
    name = Path(os.environ.get("SHELL", "")).name
    if name not in _PLACES:
        raise UsageError("Name your shell: agentcli completion install bash|zsh|fish.")
    return name


def _folder(given: str | None, otherwise: Path) -> Path:
    return Path(given) if given and os.path.isabs(given) else otherwise


def command_paths() -> Sequence[str]:
    """Return the commands below groups, such as `sessions export`, each with its group."""
    return [path for path in _table()["commands"] if " " in path]


def found(words: Sequence[str], env: Mapping[str, str] = os.environ) -> list[str]:
    """Return completions of the last of these words, or `:files` if the shell knows better."""
    table = _table(env)
    *before, typed = words or [""]
    path, values, wanted = "", [], ""
    for word in before:
        here = table["commands"][path]
        if wanted:
            wanted = ""
        elif word.startswith("-"):
            wanted = "" if "=" in word else here["options"].get(word, "")
        elif f"{path} {word}".strip() in table["commands"]:
            path = f"{path} {word}".strip()
        else:
            values.append(word)
    here = table["commands"][path]
    option, equals, value = typed.partition("=")
    if equals and here["options"].get(option):
        return [f"{option}={each}" for each in _values(table, here["options"][option], value, values, env)]
    if wanted:
        return _values(table, wanted, typed, values, env)
    if typed.startswith("-"):
        return sorted(each for each in here["options"] if each.startswith(typed))
    inner = [name.rpartition(" ")[2] for name in table["commands"] if name and name.rpartition(" ")[0] == path]
    offered = [] if values else sorted(each for each in inner if each.startswith(typed))
    takes = here["arguments"][len(values) : len(values) + 1] or here["arguments"][-1:] * here["repeats"]
    return offered + (_values(table, takes[0], typed, values, env) if takes else [])


def _values(table: Any, kind: str, typed: str, given: Sequence[str], env: Mapping[str, str]) -> list[str]:
    settings = table["settings"]
    match kind:
        case "SESSION":
            return [each for each in _sessions(env) if each.startswith(typed)]
        case "KEY=VALUE":
            key, equals, value = typed.partition("=")
            if equals:
                return [f"{key}={each}" for each in settings.get(key, ()) if each.startswith(value)]
            return [f"{each}=" for each in settings if each.startswith(typed)]
        case "MODEL":
            known = dict.fromkeys((*_own_aliases(env), *table["values"]["MODEL"]))
            return [*(each for each in known if each.startswith(typed)), *_listed(typed, env)]
        case "KEY":
            return [each for each in settings if each.startswith(typed)]
        case "VALUE" if given:
            return [each for each in settings.get(given[0], ()) if each.startswith(typed)]
        case _ if kind in _FILE_NAMES:
            return [_FILES]
        case _:
            return [each for each in table["values"].get(kind, ()) if each.startswith(typed)]


def _listed(typed: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the first names of models that endpoints listed, from the cache."""
    folder = app_dirs(env).cache / "models"
    if probe.is_dir(folder):
        from agentcli.providers.endpoint_lists import names_in

        yield from islice((each for each in names_in(folder) if each.startswith(typed)), _LISTED)


def _own_aliases(env: Mapping[str, str]) -> Sequence[str]:
    """Return the names in the user's `[models.aliases]`; none if the file is invalid."""
    import tomllib

    try:
        return [*tomllib.loads(readable(app_dirs(env).config_file.read_bytes()))["models"]["aliases"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()


def _sessions(env: Mapping[str, str]) -> Iterator[str]:
    """Names and ids of this project's sessions, last used first."""
    from agentcli.sessions.store import Store

    store = Store(app_dirs(env).sessions)
    for info in store.list(store.project_id(_here())):
        yield from (each for each in (info.name, info.id) if each and not harmful(each))


def _here() -> Any:
    return Path.cwd()


def _table(env: Mapping[str, str] = os.environ) -> Any:
    """Return this version's commands, options and values, from the cache if it exists."""
    cached = app_dirs(env).cache / f"completion-{__version__}.json"
    stamp = _stamp()
    try:
        table = json.loads(cached.read_bytes())
        if table["stamp"] == stamp:
            return table
    except (OSError, ValueError, KeyError, TypeError):
        pass
    table = {"stamp": stamp, **_built()}
    with contextlib.suppress(OSError):  # without a cache it is rebuilt at every Tab, which is slow but works
        replace_file(cached, json.dumps(table), mode=0o600)
    return table


def _stamp() -> float:
    """Return the time of the last change to this installation's command line sources; bytecode does not count."""
    own = os.path.dirname(__file__)
    package = os.path.dirname(os.path.dirname(own))
    elsewhere = (f"{package}/**/{names}" for names in ("*command_line.py", "command_line/*.py"))
    files = (*glob(f"{own}/*.py"), *(file for place in elsewhere for file in glob(place, recursive=True)))
    return max(os.stat(file).st_mtime for file in files)


def _built() -> dict[str, Any]:

    from agentcli import manual
    from agentcli.context.settings import POLICIES
    from agentcli.core.record import MODES
    from agentcli.frontends.cli.parser import whole_group
    from agentcli.frontends.sections import SCHEMA
    from agentcli.program.command_line.flags import Format, parameter_name
    from agentcli.program.extras import extra
    from agentcli.providers import catalog
    from agentcli.providers.registry import SERVERS
    from agentcli.sessions.exporting import FORMATS

    commands: dict[str, Any] = {}
    _add(commands, "", whole_group())
    run = commands.pop("run")
    commands[""]["options"] |= run["options"]
    commands["completion"] = {"options": {"--help": "", "-h": ""}, "arguments": ["SHELL"], "repeats": False}
    commands["completion install"] = {"options": {}, "arguments": ["SHELL"], "repeats": False}
    values = {
        "TOPIC": list(manual.TOPICS),
        "PROVIDER": list(SERVERS),
        "PROGRAM": list(extra("programs with sessions")),
        "POLICY": list(POLICIES),
        "MODEL": [*catalog.ALIASES, *(model.name for model in catalog.models())],
        "MODE": list(MODES),
        "output_format": [each.value for each in Format],
        "format": list(FORMATS),
        "SHELL": list(SHELLS),
        **{parameter_name(flag): list(flag.choices) for flag in flags() if flag.choices},
    }
    return {"commands": commands, "values": values, "settings": SCHEMA.choices(_TOGGLES)}


def _kind(option: Any) -> str:
    """Return the kind of an option's value; FORMAT differs between commands, so the option's name replaces it."""
    return str(option.name if option.metavar in (None, "FORMAT") else option.metavar)


def _add(commands: dict[str, Any], path: str, command: Any) -> None:
    """Add a command with its options, each with its kind of value, and its subcommands."""
    visible = [each for each in command.params if not getattr(each, "hidden", False)]
    options = [each for each in visible if each.opts[0].startswith("-")]
    arguments = [each for each in visible if each not in options]
    commands[path] = {
        "options": {
            **dict.fromkeys(("-h", "--help"), ""),
            **{
                name: "" if each.is_flag else _kind(each)
                for each in options
                for name in (*each.opts, *each.secondary_opts)
            },
        },
        "arguments": [(each.metavar or each.name.upper()).strip("[].…") for each in arguments],
        "repeats": any(each.nargs == -1 for each in arguments),
    }
    for name, inner in getattr(command, "commands", {}).items():
        if name == "run" or not inner.hidden:
            _add(commands, f"{path} {name}".strip(), inner)
