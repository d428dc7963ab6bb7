"""Network of the sandbox by host.

A session has a proxy and the hosts that it allows. It asks one question about each other host.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve
from agentcli.core.message import ToolCall
from agentcli.core.tasks import run_beside
from agentcli.permissions.git_config import repository
from agentcli.permissions.network.hosts import DeniedHost, Hosts, host_name, hosts_in, opened
from agentcli.permissions.network.proxy import Proxy, listening_in
from agentcli.permissions.rules import NETWORK, Rule, Rules, parse_rule
from agentcli.permissions.shell.programs.known_programs import as_pip, uses_network
from agentcli.permissions.shell.syntax.parse import contents, runs
from agentcli.permissions.unattended import NOBODY as UNATTENDED
from agentcli.system.programs import find_program

if TYPE_CHECKING:
    from agentcli.permissions.sandbox.space import PrivateSpace

_ASKED: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx", "corepack"), ("npm", "config", "get", "registry")
    ),
    **dict.fromkeys(("pip", "pip3", "poetry", "pdm", "pipenv"), ("python3", "-m", "pip", "install", "--help")),
    **dict.fromkeys(("uv", "uvx"), ("uv", "pip", "install", "--help")),
    "go": ("go", "env", "GOPROXY", "GOSUMDB"),
    **dict.fromkeys(("gem", "bundle"), ("gem", "sources")),
    "cargo": ("cargo", "help", "login"),
}
"""The command that prints the registry of a package manager."""
_DEFAULT = re.compile(r"\(default:?\s+(https?://[^\s)]+)|\[default:\s+(https?://[^\s\]]+)")
"""The index of Python packages in a page of help, which names other addresses too."""
_TOKENS = re.compile(r"<https://([^\s/>]+)/me>")
"""The page of tokens at cargo's registry, whose index and crates are at its `index.` and `static.`."""
_FILES = re.compile(r"""(?:"url":\s*|href=)"(https?://[^"]+)""")
"""The address of a file in a page of a Python index, as JSON or HTML."""
_PAGE = 2_000_000
"""Most bytes of such a page that are read."""
_SECONDS = 10.0
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
DECLINED = "the user does not allow"
LATE = "the user allowed it after the command had ended; run the command again"
NOBODY = "nobody can allow it now; the next run can be started with --allow 'network({host})'"


class NetworkGate:
    """Proxy of one session, started by the first command that needs it."""

    def __init__(
        self,
        space: PrivateSpace,
        rules: Callable[[], Rules],
        roots: Sequence[Path],
        env: Mapping[str, str],
        approve: Approve,
        keep: Callable[[Rule, ApprovalResponse], None],
        inward: Sequence[str] = (),
    ) -> None:
        """`rules` returns the rules in force. `keep` adds the rule of an answer to them, and saves it for an "always".

        `inward`: networks that allowed hosts may be in, although they are not public.
        """
        self._space, self._rules, self._roots, self._env = space, rules, roots, env
        self._approve, self._keep, self._inward = approve, keep, inward
        self._port = 0
        self._failed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: Proxy | None = None
        self._answers: dict[str, str] = {}
        """Hosts that were refused, each with the reason."""
        self._once: dict[str, int] = {}
        """Hosts that the person has allowed once, each with the number of commands that may still start.

        The next start ends it, as the proxy can't tell commands apart. After a late answer the command may start again.
        """
        self._asking: dict[str, asyncio.Lock] = {}
        self._asked_for: dict[str, str] = {}
        self._registries: dict[tuple[str, ...], frozenset[str]] = {}
        self._programs: tuple[str, ...] = ()
        self._line = self._program = ""
        self._ended = True
        self._fetched = ""
        self._refusals: list[str] = []
        self._unreachable: list[str] = []
        self._denied: dict[str, DeniedHost] = {}
        self._told = 0

    def is_for(self, line: str) -> bool:
        """Return True if the last command that used the network is this one."""
        return line == self._fetched

    def port_for(self, line: str) -> int:
        """Return the port of the proxy for a command that starts now. What was allowed once has ended.

        Return 0 if none runs and the command needs none, or if none can run. With a rule for a host, each one needs it.
        """
        self._once = {host: starts - 1 for host, starts in self._once.items() if starts}
        started = [tuple(each) for part in contents(line)[0] for each in runs(part)]
        programs = tuple(dict.fromkeys(as_pip(each)[0] for each in started if uses_network(each, self._roots)))
        if programs or self._ended:
            names = programs[:1] or tuple({each[0] for each in started} - {"cd"})
            self._line, self._program = line, names[0] if len(names) == 1 else "a command"
            self._ended = False
        if not programs and not opened(self._rules()):
            return self._port
        self._programs = tuple(dict.fromkeys((*self._programs, *programs)))  # an earlier one may still run
        self._fetched = line if programs else self._fetched
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return 0  # nothing here could serve it
        if (not self._port or self._loop is not loop) and not self._failed:
            self._begin(loop)
        return self._port

    def refusals(self) -> Mapping[str, bool]:
        """Return why requests of a command that has ended failed, each with True if it may succeed outside.

        Leave out hosts that the person refused. An allowed host is out of reach outside, too, unless a proxy of the
        user's leads there.
        """
        self._ended = True
        proxied = any(self._env.get(each) for name in _PROXIES for each in (name, name.upper()))
        found = dict.fromkeys(self._refusals, True) | dict.fromkeys(self._unreachable, proxied)
        self._refusals.clear()
        self._unreachable.clear()
        return {why: outside for why, outside in found.items() if not why.startswith(DECLINED)}

    async def late(self, command: str) -> Sequence[str]:
        """Wait for open questions about hosts that a command asked for before it ended. Return the answers for the model."""
        self._ended = True
        asked = [host for host, line in self._asked_for.items() if line in command and self._asking[host].locked()]
        for host in asked:
            async with self._asking[host]:
                pass  # the question holds it
        return [self._answers.get(host) or f"{host}: {LATE}" for host in asked]

    def denied(self) -> Sequence[DeniedHost]:
        """Return the hosts that were denied since the last call, each once, without those that the person refused."""
        found = [*self._denied.values()][self._told :]
        self._told += len(found)
        return found

    def close(self) -> None:
        """End the proxy."""
        if self._proxy is not None and self._loop is not None and not self._loop.is_closed():
            self._proxy.close()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        entering = self._space.entering()
        listening = listening_in(entering) if entering else None
        if listening is None:
            self._failed = True
            return
        self._loop = loop
        self._port = listening.getsockname()[1]
        self._proxy = Proxy(
            self._allowed,
            refused=self._refusals.append,
            inward=self._inward,
            unreachable=self._unreachable.append,
        )
        run_beside(self._proxy.serve(listening))

    async def _allowed(self, host: str) -> str:
        """Return why a host is refused, or an empty text. Ask the person once about a host without a rule."""
        verdict, why = Hosts(self._rules(), self._remotes()).verdict(host)
        if verdict == "ask" and not why:
            verdict, why = Hosts(registries=await asyncio.to_thread(self._set_to, self._programs)).verdict(host)
        if verdict == "ask":
            async with self._asking.setdefault(host, asyncio.Lock()):
                if Hosts(self._rules()).verdict(host)[0] == "allow":
                    return ""  # the person has answered about another connection
                if host in self._answers or host in self._once:
                    return self._answers.get(host, "")
                return await self._ask(host)
        if verdict == "allow":
            return ""
        self._denied.setdefault(host, DeniedHost(host, why.removeprefix("the rule "), f"denied by {why}"))
        return f"{host} is denied by {why}"

    async def _ask(self, host: str) -> str:
        """Ask the person about a host, and remember the answer: a refusal for the session, another one for the command.

        Return why the host is refused, or an empty text.
        """
        program, rule = self._program, f"{NETWORK}({host})"
        why = "no rule names this host"
        call = ToolCall("network", "bash", {"command": f"{program} → {host}"})
        request = ApprovalRequest(
            call,
            f"Let {program} reach {host}?",
            why,
            self._line,
            "command",
            always=rule,
            session=rule,
            lasting=True,
        )
        self._asked_for[host] = self._line
        answer = await self._approve(request)
        if answer is not None and answer.choice in ("session", "always"):
            self._keep(replace(parse_rule(rule, "session"), proposed=True), answer)
            return ""
        if refusal := self._refusal(host, program, why, answer):
            self._answers[host] = refusal
        else:
            self._once[host] = int(self._ended)
        return refusal

    def _refusal(self, host: str, program: str, why: str, answer: ApprovalResponse | None) -> str:
        """Return why a host is refused after an answer; empty if it is not."""
        if answer is None:
            self._denied[host] = DeniedHost(host, "", f"{program} asked for it, but {why}. {UNATTENDED}")
            return f"{host}: {NOBODY.format(host=host)}"
        if answer.choice == "no":
            return f"{DECLINED} {host}{f': {answer.reason}' if answer.reason else ''}"
        return ""

    def _remotes(self) -> frozenset[str]:
        """Return the hosts of the git remotes in the workspace. A clone does not bring these settings along.

        A bare repository counts as none, because a clone may bring one.
        """
        texts = []
        for root in self._roots:
            top, *folders = repository(root) or (root,)
            for folder in folders:
                if folder != top:
                    with suppress(OSError, UnicodeDecodeError):
                        texts.append((folder / "config").read_text(encoding="utf-8")[:100_000])
        return hosts_in(text for each in texts for text in re.findall(r"(?m)^\s*url\s*=.*$", each))

    def _set_to(self, programs: Sequence[str]) -> frozenset[str]:
        """Return the registries of package managers. They are asked outside the project, so only the person can have set them."""
        found: frozenset[str] = frozenset()
        for command in dict.fromkeys(_ASKED[name] for name in programs if name in _ASKED):
            key = tuple(command)
            if key not in self._registries:
                self._registries[key] = self._said_by(command)
            found |= self._registries[key]
        return found

    def _said_by(self, command: Sequence[str]) -> frozenset[str]:
        program = find_program(command[0], self._roots, self._env.get("PATH"))
        if not program:
            return frozenset()
        try:
            said = subprocess.run(
                [program, *command[1:]], cwd="/", env=dict(self._env), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, text=True, check=False
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return frozenset()
        if indexes := [one or two for one, two in _DEFAULT.findall(said)]:
            return hosts_in(indexes).union(*map(_serving, indexes))
        if registry := _TOKENS.search(said):
            return frozenset(host_name(f"{part}.{registry[1]}") for part in ("index", "static"))
        return hosts_in([said] if len(said) < 2_000 else [])


def _serving(index: str) -> frozenset[str]:
    """Return the hosts that serve the files of a Python index, by its page about pip. Return none if it cannot be read."""
    from urllib.request import Request, urlopen

    wanted = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"}
    try:
        with urlopen(Request(f"{index.rstrip('/')}/pip/", headers=wanted), timeout=_SECONDS) as page:
            return hosts_in(_FILES.findall(page.read(_PAGE).decode("utf-8", "replace")))
    except (OSError, ValueError):
        return frozenset()
