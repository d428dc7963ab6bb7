"""Tables of known programs: wrappers, interpreters, network clients, build and test tools."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.system import probe


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text: a readable notation for tables."""
    return frozenset(text.split())


WRAPPERS = word_set("""
env nice ionice nohup setsid stdbuf xargs parallel sudo doas pkexec run0 runuser unshare nsenter time command builtin exec eval source . trap
alias watch strace ltrace gdb script chronic caffeinate prlimit setpriv systemd-run bwrap firejail proxychains proxychains4 torsocks
bash sh zsh dash ksh fish busybox toybox coproc entr expect unbuffer rlwrap gtime catchsegv faketime fakeroot dbus-run-session xvfb-run
direnv npx bunx uvx pipx timeout gtimeout su chroot flock ssh taskset chrt sg mise asdf find fd fdfind
complete mapfile readarray bind arch tmux
""")
"""Commands that run another command given among their arguments."""

OPERANDS = {
    "timeout": 1,
    "gtimeout": 1,
    "su": 1,
    "chroot": 1,
    "flock": 1,
    "ssh": 1,
    "taskset": 1,
    "chrt": 1,
    "sg": 1,
    "mise": 1,
    "asdf": 1,
}
OPERANDS |= {"faketime": 1, "direnv": 2, "git": 3, "docker": 3, "podman": 3, "kubectl": 3}
OPERANDS |= dict.fromkeys(
    word_set("uv poetry pipenv conda mamba micromamba pixi hatch pdm rye nix bundle npm pnpm yarn bun"), 2
)
"""Number of operands before the inner command; 0 for any other wrapper."""

RUNNING = {
    "git": word_set("bisect submodule rebase filter-branch difftool mergetool"),
    "docker": word_set("run exec compose container"),
    "podman": word_set("run exec compose container"),
    "kubectl": word_set("run exec"),
    **dict.fromkeys(
        word_set("uv poetry pipenv conda mamba micromamba pixi hatch pdm rye nix bundle"),
        word_set("run exec shell develop"),
    ),
    **dict.fromkeys(word_set("npm pnpm yarn bun"), word_set("exec x dlx")),
}
"""Commands that run another command only with some subcommands."""

ANYWHERE = word_set("bwrap coproc firejail systemd-run")
"""Wrappers whose options take so many values that the inner command may begin at any word."""

_LIMITS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(
        ("timeout", "gtimeout"),
        re.compile(r"(?:(?:--foreground|--kill-after=[\d.]+[smh]?|-k [\d.]+[smh]?|-s [A-Z0-9]+) )*[\d.]+[smhd]? "),
    ),
    "nice": re.compile(r"(?:-n \d+ |-\d+ )?"),
    "caffeinate": re.compile(r"(?:-[dimsu]+ )*"),
    "time": re.compile(""),
}
"""Wrappers that only limit or measure a command, with their words before it."""


def limited(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a command without wrappers that only limit or measure it, such as `timeout 9`."""
    while words and (options := _LIMITS.get(words[0])):
        rest = words[1:]
        found = options.match("".join(f"{word} " for word in rest if not any(map(str.isspace, word))))
        taken = found[0].count(" ") if found else len(rest)
        if taken >= len(rest) or any(" " in word for word in rest[:taken]):
            break
        words = rest[taken:]
    return words


def limited_program(words: Sequence[str]) -> str:
    """Return the program of a command without folders, behind the wrappers that `limited` leaves out."""
    return limited(words)[0].rpartition("/")[2]


MARKS = {
    "find": word_set("-exec -execdir -ok -okdir"),
    "fd": word_set("-x -X --exec --exec-batch"),
    "fdfind": word_set("-x -X --exec --exec-batch"),
}
"""Commands that run another command only after one of these options."""

SHELLS = word_set("bash sh zsh dash ksh ash fish busybox")
"""Programs that read shell text."""

PASSING_INPUT = word_set("""
timeout gtimeout nice nohup time gtime stdbuf env exec command builtin sudo doas run0 pkexec setsid ionice chrt taskset chroot unshare nsenter
setpriv prlimit busybox toybox chronic fakeroot faketime caffeinate arch
""")
"""Wrappers whose command, their first operand, reads the wrapper's standard input."""

MOVES = ("cd", "pushd", "popd", "chdir")
"""Commands that move to another folder."""

EVALUATING = word_set("test [ [[ printf read let declare typeset local export readonly unset getopts wait hash enable")
"""Builtins that run the `$(…)` of a subscript even inside quotes."""

BUILTINS = word_set("""
. : [ [[ alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs disown echo enable eval exec
exit export false fc fg for function getopts hash help history if jobs kill let local logout mapfile popd printf pushd pwd read readarray
readonly return select set shift shopt source suspend test time times trap true type typeset ulimit umask unalias unset until wait while
""")
"""Words that begin a command of the shell without a program of that name."""
OF_THE_SHELL = BUILTINS - WRAPPERS - word_set("bg disown enable fg kill suspend ulimit umask")
"""Builtins that act only on their own line's shell, and start nothing."""


INTERPRETERS = word_set("""
python node nodejs deno bun ruby irb perl php lua luajit tclsh wish Rscript R julia java jshell groovy scala kotlin
elixir iex erl ghci runghc ocaml pwsh powershell osascript ipython ts-node tsx bash sh zsh dash ksh fish csh tcsh
awk gawk mawk sed ed ex vi vim nvim emacs nano less more man busybox toybox sqlite sqlite3 psql mysql mongosh
redis-cli gdb lldb uv poetry pipenv conda mamba micromamba pixi npx bunx uvx pipx pnpx eval source exec rlwrap expect m4 dc bc jq yq
""")
"""Programs that run scripts or programs passed to them: no rule is ever saved for them."""

CLIENTS = word_set("gh glab hub aws gcloud az doctl heroku vercel netlify fly kubectl helm")
"""Clients of services: they act with the person's login, on a server that the person has chosen."""
NETWORK = CLIENTS | word_set("""
curl wget http https xh aria2c ssh scp sftp rsync nc ncat netcat telnet ftp lftp socat dig nslookup host ping
traceroute whois docker podman terraform ansible ansible-playbook pip pip3 apt apt-get dnf yum brew pacman snap flatpak
gem cpan twine rclone s3cmd nmap openssl mail sendmail
""")
"""Programs whose purpose is the network: no rule is ever saved for them."""

_REMOTE = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "remote", "submodule"})

STARTERS = (
    *(
        "--pre",
        "--hostname-bin",
        "--compress-program",
        "--ext-diff",
        "--textconv",
        "--open-files-in-pager",
        "--use-compress-program",
    ),
    *(
        "--checkpoint-action",
        "--to-command",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "-exec",
        "-toolexec",
        "--eval",
        "--config-env",
        "--git-dir",
        "--work-tree",
    ),
)
"""Options by which an ordinary program starts another one."""

_ANY = frozenset[str]()
ORDINARY: dict[str, frozenset[str]] = {
    "make": _ANY, "ninja": _ANY, "cmake": _ANY, "ctest": _ANY, "meson": _ANY, "bazel": frozenset({"build", "test"}),
    "pytest": _ANY, "tox": _ANY, "nox": _ANY, "ruff": _ANY, "mypy": _ANY, "pyright": _ANY, "black": _ANY, "isort": _ANY, "flake8": _ANY,
    "python": _ANY, "python3": _ANY, "node": _ANY, "coverage": _ANY, "hatch": _ANY,
    "npm": frozenset({"test", "t", "run", "run-script", "start"}), "yarn": frozenset({"test", "run", "build", "lint"}),
    "pnpm": frozenset({"test", "run", "build", "lint"}), "bun": frozenset({"test", "run", "build"}), "deno": frozenset({"test", "check", "lint", "fmt"}),
    "jest": _ANY, "vitest": _ANY, "mocha": _ANY, "eslint": _ANY, "prettier": _ANY, "tsc": _ANY, "webpack": _ANY, "vite": frozenset({"build"}),
    "cargo": frozenset({"build", "test", "check", "clippy", "fmt", "bench", "run", "doc", "tree", "nextest"}), "rustc": _ANY,
    "go": frozenset({"build", "test", "vet", "fmt", "run", "list", "generate", "doc"}), "gofmt": _ANY, "golangci-lint": _ANY,
    "gcc": _ANY, "g++": _ANY, "cc": _ANY, "c++": _ANY, "clang": _ANY, "clang++": _ANY, "ld": _ANY, "ar": _ANY, "javac": _ANY, "java": _ANY,
    "mvn": _ANY, "gradle": _ANY, "dotnet": frozenset({"build", "test", "run"}), "swift": frozenset({"build", "test"}), "zig": frozenset({"build", "test"}),
    "mix": frozenset({"test", "compile", "format"}), "rake": _ANY, "rspec": _ANY, "bundle": frozenset({"exec"}), "phpunit": _ANY, "shellcheck": _ANY,
    "uv": frozenset({"run"}), "poetry": frozenset({"run"}), "pipenv": frozenset({"run"}), "pdm": frozenset({"run"}), "rye": frozenset({"run", "test", "lint", "fmt"}),
    "npx": word_set("eslint tsc jest vitest mocha prettier stylelint playwright webpack vite tsx ts-node"), "composer": frozenset({"test", "run", "run-script"}),
    "php": _ANY, "ruby": _ANY, "perl": _ANY, "tsx": _ANY, "ts-node": _ANY, "just": _ANY, "task": _ANY, "pre-commit": frozenset({"run"}),
    "mkdir": _ANY, "touch": _ANY,
}  # fmt: skip

KNOWN = (
    frozenset(ORDINARY)
    | word_set("git docker podman kubectl cp mv ln rm rmdir chmod chown tee dd install patch gh hg svn pip pip3")
) - INTERPRETERS
"""Programs whose arguments are not commands, except for the subcommands in `RUNNING`."""


_NETWORKED_MODULES = word_set("pipx twine uv poetry")


def is_ordinary(words: Sequence[str]) -> bool:
    """Return True if a command is an ordinary build or test command, which may run unasked in a sandbox.

    There a script of the workspace can do no more than the build tools: `./gradlew test`, `sh scripts/test.sh`.
    """
    name, *arguments = words
    if fetches(name, arguments):
        return False
    if name in SHELLS:
        return bool(arguments) and _is_local(arguments[0])
    if name not in ORDINARY:
        return "/" in name and _is_local(name)
    allowed = ORDINARY[name]
    return not allowed or next((word for word in arguments if not word.startswith(("-", "+"))), "") in allowed


def uses_network(words: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if a command needs the network: for a package, a remote repository, a missing tool."""
    name, *arguments = words
    if name == "jj" and arguments[:1] == ["git"]:
        name, *arguments = arguments
    if fetches(name, arguments) or (name == "git" and _reaches_remote(arguments)):
        return True
    if arguments and _LOCAL_OPTIONS.issuperset(arguments[-1:]):
        return False
    if (name in FETCHING or name in _PIPS) and not _OFFLINE.isdisjoint(arguments):
        return False
    if name in NETWORK:
        return not (arguments and arguments[0] in _LOCAL.get(name, ()))
    operands = [word for word in arguments if not word.startswith(("-", "+"))] or [""]
    if name in ("npx", "bunx", "pnpx") or (name == "npm" and operands[0] in ("exec", "x")):  # `pnpm exec` never fetches
        tool = operands[0] if name.endswith("x") else "".join(operands[1:2])
        return tool not in ORDINARY["npx"] and not _installed(tool, folders)
    named = operands[
        : 2 if arguments and arguments[0].startswith("-") else 1
    ]  # the first may be the value of an option
    named.append(" ".join(operands[:2]))
    return name in _FETCHERS or not FETCHING.get(name, _ANY).isdisjoint(named)


def _installed(tool: str, folders: Sequence[Path]) -> bool:
    """Return True if a package of the project installed a tool in a folder, or above it."""
    return any(
        probe.exists(above / f"node_modules/.bin/{tool}") for folder in folders for above in (folder, *folder.parents)
    )


def _reaches_remote(arguments: Sequence[str]) -> bool:
    subcommand, operand = [*arguments[:2], "", ""][:2]
    if subcommand == "remote":
        return operand in ("update", "show", "prune")
    if subcommand == "submodule":
        return operand not in ("", "status")
    return subcommand in _REMOTE


_PIPS = ("pip", "pip3")
_OFFLINE = frozenset({"--offline", "--no-index"})
"""Options with which package managers use only what is on this machine."""
_OTHER_REMOTE = word_set("push pull fetch clone incoming outgoing in out")
_LOCAL = {
    "openssl": word_set("rand dgst enc genrsa genpkey req x509 rsa pkey ec passwd base64 asn1parse verify version"),
    "brew": word_set("list ls leaves config deps uses --prefix --cellar --version"),
    **dict.fromkeys(_PIPS, word_set("show list freeze check config debug inspect cache hash help completion")),
}
"""Subcommands of network programs that do not use the network."""


_JS_FETCHING = word_set("""
install i in ci add update up upgrade publish unpublish login logout whoami view info show search outdated audit dlx create init owner access
dist-tag token team ping star deprecate adduser remove rm uninstall
""")
_CONDA_FETCHING = word_set("install create update upgrade remove uninstall search repoquery self-update") | {
    "env create",
    "env update",
    "env remove",
}
_PYTHON_FETCHING = word_set("add sync lock install update remove publish pip tool python self cache export")
FETCHING: dict[str, frozenset[str]] = {
    **dict.fromkeys(("npm", "pnpm", "bun"), _JS_FETCHING),
    "yarn": _JS_FETCHING | {""},
    **dict.fromkeys(word_set("uv poetry pipenv pdm rye"), _PYTHON_FETCHING),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA_FETCHING),
    "rustup": word_set("default install update self") | {"toolchain install", "target add", "component add"},
    "nvm": word_set("install ls-remote"),
    "cargo": word_set("install add update publish search login owner yank fetch"),
    "go": word_set("get install mod"),
    "bundle": word_set("install add update outdated"),
    "composer": word_set("install require update remove outdated show search"),
    "dotnet": word_set("add restore nuget tool"),
    "mise": word_set("install use upgrade self-update plugins ls-remote"),
    "asdf": word_set("install plugin"),
    "deno": word_set("install add upgrade publish"),
    "mix": frozenset({"deps.get", "deps.update", "hex.publish", "archive.install"}),
    "swift": word_set("package"),
    **dict.fromkeys(("hg", "sl", "chg", "bzr", "brz", "darcs", "fossil", "pijul"), _OTHER_REMOTE | {"sync"}),
    "svn": word_set("checkout co commit ci update up switch sw log info list ls cat copy cp import export"),
}
"""Subcommands that cannot work without the network: they change what is installed, or what others see. All others are tried without it."""
_FETCHERS = word_set("uvx pipx corepack nix")
_LOCAL_OPTIONS = frozenset({"--version", "--help", "-h", "-V"})


def _is_local(path: str) -> bool:
    """Return True if a path as written stays below the working folder."""
    return not path.startswith(("/", "-", "~")) and ".." not in path.split("/")


def as_pip(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return `python -m pip list` as `pip list`, and any other command unchanged."""
    return words[2:] if words[0] in ("python", "python3") and words[1:3] == ("-m", "pip") else words


def fetches(name: str, arguments: list[str]) -> bool:
    """Return True if a build tool needs the network for its arguments."""
    if name == "go":
        return any("@" in word for word in arguments)
    if name not in ("python", "python3") or "-m" not in arguments[:-1]:
        return False
    module, *rest = arguments[arguments.index("-m") + 1 :]
    return module in _NETWORKED_MODULES or (module == "pip" and uses_network(("pip", *rest), ()))


_WIDENED_FILES = word_set("mkdir touch rmdir cp mv chmod sed")
"""Commands about files for which a rule with a wildcard applies only inside the workspace."""


def bounded(words: Sequence[str]) -> bool:
    """Return True if a rule with a wildcard covers this command only inside the workspace."""
    return words[0] in _WIDENED_FILES


_RUN_A_FILE = (word_set("python node nodejs bun ruby perl php lua luajit julia Rscript fish tsx ts-node") | SHELLS) - {
    "busybox"
}
"""Interpreters whose first operand is a script, and whose other operands are the script's."""


def runs_a_file(program: str) -> bool:
    """Return True if the first operand of an interpreter, given by name, is a script: `python3.12 x.py`."""
    return program in _RUN_A_FILE or program.rstrip("0123456789.") in _RUN_A_FILE


def is_unknown(program: str) -> bool:
    """Return True if no table here has a program, given by name.

    Neither its options nor the programs that it starts are then known.
    """
    tables = (KNOWN, WRAPPERS, NETWORK, ORDINARY, FETCHING, RUNNING, MARKS, EVALUATING, _FETCHERS)
    return "/" not in program and not is_interpreter(program) and not any(program in table for table in tables)


def is_interpreter(program: str) -> bool:
    """Return whether a program, given by name or path, runs scripts: `python3.12` as `python`."""
    name = os.path.basename(program)
    return name in INTERPRETERS or name.rstrip("0123456789.") in INTERPRETERS


def command_name(words: Sequence[str]) -> str:
    """Return a command's name for people: `git push`, `npm install`, or its program alone."""
    name = os.path.basename(words[0])
    verb = words[1] if len(words) > 1 and (name == "git" or name in FETCHING) else ""
    return f"{name} {verb}" if verb and not verb.startswith("-") else name


def never_saved(words: Sequence[str]) -> str:
    """Return the reason to ask about a command each time, without its name; empty if a rule may be saved."""
    name, *arguments = words
    base = os.path.basename(name)
    if is_interpreter(base):
        return f"{base} runs whatever it is given"
    if base in WRAPPERS or any(word.startswith(STARTERS) for word in arguments):
        return f"{base} starts other programs"
    if base in NETWORK or (base == "git" and not _REMOTE.isdisjoint(arguments)):
        return f"{base} uses the network"
    options_first = base == "git" and bool(arguments) and arguments[0].startswith("-")
    return f"{base} may run its arguments as commands" if options_first or base in ("test", "printf") else ""
