"""Commands by trade: what builds and tests, what starts other code, what talks to the network."""

from __future__ import annotations

from itertools import pairwise

from agentcli.agent.permissions.nested import SHELLS
from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shell import Command

INTERPRETERS = words("""
python node nodejs deno bun ruby irb perl php lua luajit tclsh wish Rscript R julia java jshell groovy scala kotlin
elixir iex erl ghci runghc ocaml pwsh powershell osascript ipython ts-node tsx bash sh zsh dash ksh fish csh tcsh
awk gawk mawk sed ed ex vi vim nvim emacs nano less more man busybox toybox sqlite sqlite3 psql mysql mongosh redis-
cli gdb lldb uv poetry pipenv conda npx bunx uvx pipx pnpx eval source exec rlwrap expect m4 dc bc jq yq
""")
"""Programs that run what they are given: no rule is ever saved for them."""

NETWORK = words("""
curl wget http https xh aria2c ssh scp sftp rsync nc ncat netcat telnet ftp lftp socat dig nslookup host ping
traceroute whois gh glab hub aws gcloud az doctl heroku vercel netlify fly kubectl helm docker podman terraform
ansible ansible-playbook pip pip3 apt apt-get dnf yum brew pacman snap flatpak gem cpan twine rclone s3cmd nmap
openssl mail sendmail
""")
"""Programs whose trade is the network: no rule is ever saved for them."""

_ANY = frozenset[str]()
_ORDINARY: dict[str, frozenset[str]] = {
    "make": _ANY, "ninja": _ANY, "cmake": _ANY, "ctest": _ANY, "meson": _ANY, "bazel": frozenset({"build", "test"}),
    "pytest": _ANY, "tox": _ANY, "nox": _ANY, "ruff": _ANY, "mypy": _ANY, "pyright": _ANY, "black": _ANY, "isort": _ANY, "flake8": _ANY,
    "python": _ANY, "python3": _ANY, "node": _ANY, "coverage": _ANY, "hatch": _ANY,
    "npm": frozenset({"test", "t", "run", "run-script", "start"}), "yarn": frozenset({"test", "run", "build", "lint"}),
    "pnpm": frozenset({"test", "run", "build", "lint"}), "bun": frozenset({"test", "run", "build"}), "deno": frozenset({"test", "check", "lint", "fmt"}),
    "jest": _ANY, "vitest": _ANY, "mocha": _ANY, "eslint": _ANY, "prettier": _ANY, "tsc": _ANY, "webpack": _ANY, "vite": frozenset({"build"}),
    "cargo": frozenset({"build", "test", "check", "clippy", "fmt", "bench", "run", "doc", "tree", "nextest"}), "rustc": _ANY,
    "go": frozenset({"build", "test", "vet", "fmt", "run", "list", "generate"}), "gofmt": _ANY, "golangci-lint": _ANY,
    "gcc": _ANY, "g++": _ANY, "cc": _ANY, "c++": _ANY, "clang": _ANY, "clang++": _ANY, "ld": _ANY, "ar": _ANY, "javac": _ANY, "java": _ANY,
    "mvn": _ANY, "gradle": _ANY, "dotnet": frozenset({"build", "test", "run"}), "swift": frozenset({"build", "test"}), "zig": frozenset({"build", "test"}),
    "mix": frozenset({"test", "compile", "format"}), "rake": _ANY, "rspec": _ANY, "bundle": frozenset({"exec"}), "phpunit": _ANY, "shellcheck": _ANY,
    "uv": frozenset({"run"}), "poetry": frozenset({"run"}), "pipenv": frozenset({"run"}), "pdm": frozenset({"run"}), "rye": frozenset({"run", "test", "lint", "fmt"}),
    "npx": words("eslint tsc jest vitest mocha prettier stylelint playwright webpack vite tsx ts-node"), "composer": frozenset({"test", "run", "run-script"}),
    "php": _ANY, "ruby": _ANY, "perl": _ANY, "tsx": _ANY, "ts-node": _ANY, "just": _ANY, "task": _ANY, "pre-commit": frozenset({"run"}),
    "mkdir": _ANY, "touch": _ANY,
}  # fmt: skip

KNOWN = (
    frozenset(_ORDINARY)
    | words("git docker podman kubectl cp mv ln rm rmdir chmod chown tee dd install patch gh hg svn pip pip3")
) - INTERPRETERS
"""Programs whose arguments are no commands, but for those that `nested` knows."""


_NETWORKED_MODULES = words("pip pipx ensurepip http.server twine uv poetry")


def is_ordinary(command: Command) -> bool:
    """Whether a command belongs to the daily round of building and testing: it may run unasked inside a sandbox.

    A script of the workspace can do no more there than the build tools: `./gradlew test`, `sh scripts/test.sh`.
    """
    name, *arguments = command.words
    if not command.bare or _fetches(name, arguments):
        return False
    if name in SHELLS:
        return bool(arguments) and _is_local(arguments[0])
    if name not in _ORDINARY:
        return "/" in name and _is_local(name)
    allowed = _ORDINARY[name]
    return not allowed or next((word for word in arguments if not word.startswith(("-", "+"))), "") in allowed


def _is_local(path: str) -> bool:
    """Whether a path as it is written stays below the working folder."""
    return not path.startswith(("/", "-", "~")) and ".." not in path.split("/")


def _fetches(name: str, arguments: list[str]) -> bool:
    """Whether a build tool is asked for what only the network holds."""
    if name == "go":
        return any("@" in word for word in arguments)
    modules = (word for option, word in pairwise(arguments) if option == "-m")
    return name in ("python", "python3") and not _NETWORKED_MODULES.isdisjoint(modules)
