"""Workspace policy of a run: folders, permission rules, and the sandbox of its commands."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve
from agentcli.agent.settings import PermissionSettings
from agentcli.agent.setup import Permissions, Sandboxes
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, ConfigError
from agentcli.core.message import ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Mode
from agentcli.core.tool import Boxed, CommandSandbox, ToolLimits, Traits, Wrap
from agentcli.permissions.denied.files import NOTHING, Hidden, denial_of, reading_denials
from agentcli.permissions.paths import EXPOSED_NOTHING, Exposed, UndoCover, Workspace, judge_path, resolved
from agentcli.permissions.rules import Rule, Rules, in_own_names, parse_rules, paths_opened, paths_shown
from agentcli.permissions.sandbox import Sandbox, choose
from agentcli.permissions.sandbox.box import entrance_program, limits_told, unseen
from agentcli.permissions.sandbox.private_tmp import PrivateTmp
from agentcli.permissions.sandbox.visible import folders_of_programs, visible
from agentcli.program.config.general import General
from agentcli.program.project import Project
from agentcli.program.project_rules import project_rules, rules_before_trust
from agentcli.program.saved_rules import SavedRules
from agentcli.sessions.settings import SKIPPED, CheckpointLimits
from agentcli.system.programs import trusted_path

if TYPE_CHECKING:
    from agentcli.agent.timed_rules import RunRules
    from agentcli.permissions.network.hosts import KeptHost
    from agentcli.permissions.sandbox.aftermath import Aftermath
    from agentcli.permissions.sandbox.space import PrivateSpace
    from agentcli.permissions.started import Started
    from agentcli.program.network import NetworkGate


class WorkspacePolicy:
    """Workspace folders, permission rules and sandbox of a run; `approve` is called before a command leaves the
    sandbox.
    """

    def __init__(
        self,
        context: Project,
        approve: Approve,
        traits: Mapping[str, Traits],
        started: Callable[[], Sequence[Started]] = tuple,
    ) -> None:
        """`traits`: the traits of all tools that rules may be about, `started`: the commands of hooks and servers."""
        self._context, self._approve, self._traits, self._started = context, approve, traits, started
        self._let_out, self._kept_in = set[str](), set[str]()
        self._answered: tuple[Rule, ...] = ()
        self._kept_hosts: list[KeptHost] = []

    @cached_property
    def sandbox(self) -> Sandbox:
        """Sandbox of commands on this machine. Raises AgentError if one is required and none works."""
        self._context.leave_out(self._context.roots)  # the first program that is tried must not come from the workspace
        return choose(self._context.config[General].sandbox, self._context.roots)

    @cached_property
    def _aftermath(self) -> Aftermath:
        from agentcli.permissions.sandbox.aftermath import Aftermath  # few runs have a command

        return Aftermath()

    @cached_property
    def _tmp(self) -> PrivateTmp | None:
        """Folder that sandboxed commands of mode auto see as /tmp; None if they share none here."""
        return PrivateTmp() if self.sandbox.lasts else None

    @cached_property
    def _space(self) -> OnDemand[PrivateSpace | None]:
        """That /tmp and the loopback that these commands share."""

        def make() -> PrivateSpace | None:
            from agentcli.permissions.sandbox.space import PrivateSpace

            return PrivateSpace(self.sandbox.program, self._tmp) if self._tmp is not None else None

        return OnDemand(make)

    @cached_property
    def gated(self) -> bool:
        """True if commands of mode auto reach hosts that are allowed, through a proxy of their own."""
        return self.sandbox.lasts and not self._opens_network and entrance_program() is not None

    @property
    def network_report(self) -> str:
        """A line for `doctor`: what commands of mode auto reach."""
        if self._opens_network:
            return "sandbox_network opens the whole network to commands."
        if self.gated:
            return "In mode auto package managers reach hosts on a list; about others you are asked."
        return "Commands that use the network ask in mode auto: the list of hosts needs bubblewrap and nsenter."

    @cached_property
    def _gate(self) -> OnDemand[NetworkGate | None]:
        """The network of the commands in that space, by host."""

        def make() -> NetworkGate | None:
            from agentcli.program.network import NetworkGate  # few runs need a host

            space, context = self._space(), self._context
            if space is None or not self.gated:
                return None
            return NetworkGate(
                space,
                self._rules_now,
                context.roots,
                context.given_env,
                self._approve,
                self._keep_host,
                self.limits.fetch_addresses,
            )

        return OnDemand(make)

    def _keep_host(self, rule: Rule, answer: ApprovalResponse) -> None:
        """Add the rule of an answer about a host to the session's, and save it for an "always"."""
        from agentcli.permissions.network.hosts import KeptHost  # loaded by then, with the proxy

        self._answer((rule,), True)
        saved, error = answer.choice == "always", ""
        try:
            if saved:
                self.save_everywhere([str(rule)]) if answer.everywhere else self.saved.add([rule])
        except AgentError as failed:
            error = str(failed)
        self._kept_hosts.append(KeptHost(rule, saved, answer.everywhere, error))

    def _take_kept_hosts(self) -> Sequence[KeptHost]:
        found, self._kept_hosts[:] = tuple(self._kept_hosts), ()
        return found

    def close(self) -> None:
        """Remove what lasted as long as the run."""
        if (gate := self._gate.now) is not None:
            gate.close()
        if (space := self._space.now) is not None:
            space.close()
        elif (tmp := self.__dict__.get("_tmp")) is not None:
            tmp.remove()

    def workspace(self) -> Workspace:
        """Return the workspace as permission decisions need it."""
        context = self._context
        own = (context.dirs.config, context.dirs.data, context.dirs.state)
        home = Path(context.env.get("HOME") or Path.home())
        return Workspace(
            context.cwd,
            context.first_roots,
            home,
            own,
            added=lambda: context.added,
            made=lambda: context.made,
            sandboxed=self.sandbox.working,
            masks=self.sandbox.masks,
            records=self.sandbox.kind in ("bubblewrap", "seatbelt"),
            tmp=self._tmp.path if self._tmp is not None else None,
            gated=self.gated,
            exposes=self.sandbox.exposes and not self._opens_network,
            loopback=self._same_port if self._tmp is not None and not self._opens_network else None,
            started_here=_started_here,
            finds=lambda pattern: _found_by(pattern, (*context.first_roots, *context.added)),
            hides_processes=self.sandbox.kind == "bubblewrap",
            undo=self._undo,
            readable=lambda: context.prompt_files.readable,
            shown=lambda: paths_shown(self._rules_now().allow, home),
            opened=lambda: paths_opened(self._rules_now().allow, self.workspace()),
            installed=self._installed,
            destroys=context.config[PermissionSettings].destructive == "allow",
            path=context.search_path,
            other_homes=() if context.env.get("HOME") == os.environ.get("HOME") else (Path.home(),),
            env=context.given_env,
            started=cache(self._files_started),
        )

    def _installed(self) -> Sequence[Path]:
        return visible(self.workspace()).personal

    def _files_started(self) -> Mapping[Path, str]:
        """Return the files of the workspace that hooks and servers run."""
        from agentcli.permissions.shell.effects.files_started import files_started  # loads the tables of all programs

        return files_started(self._started(), tuple(map(resolved, self._context.roots)))

    @property
    def _opens_network(self) -> bool:
        return self._context.config[General].sandbox_network

    @property
    def _undo(self) -> UndoCover | None:
        """The extent of /undo in this run."""
        limits = self._context.config[CheckpointLimits]
        if self._context.options.no_session or not limits.seconds:
            return None
        return UndoCover(min(limits.file_bytes, limits.ignored_bytes), limits.files, SKIPPED)

    def rules(self) -> Rules:
        """Return the permission rules of configuration, flags, plugins, the project and its saved answers.

        Raises ConfigError or UsageError for a rule about an unknown tool.
        """
        given, options = self._context.config[PermissionSettings], self._context.options
        configured = parse_rules(given.allow, given.ask, given.deny, "config")
        known = self._traits
        rules = in_own_names(configured + parse_rules(self._allowed[0], (), options.deny, "flag"), known)
        rules += self.saved.rules()[0] + project_rules(self._context, known)[0]
        rules += rules_before_trust(self._context, known)
        return sum((_denied(tool) for plugin in self._context.plugins[0] for tool in plugin.excluded), rules)

    def _rules_now(self) -> Rules:
        """Return these rules with those that answers have added for the session."""
        return self.rules() + Rules(self._answered)

    def _answer(self, rules: Sequence[Rule], added: bool) -> None:
        left = tuple(rule for rule in self._answered if rule not in rules)
        self._answered = (*left, *rules) if added else left

    @property
    def timed(self) -> RunRules | None:
        """Rules that flags allow for a time, which begins now, or for a number of calls; None without any.

        Raises UsageError.
        """
        return self._allowed[1]

    @cached_property
    def _allowed(self) -> tuple[Sequence[str], RunRules | None]:
        """The rules of flags that last, and the others."""
        given = self._context.options.allow
        if not any("for" in rule for rule in given):
            return given, None
        from agentcli.agent.timed_rules import RunRules, begun, timed

        split = [*map(timed, given)]
        lasting = [rule for rule, term in split if term is None]
        terms = [(rule, term) for rule, term in split if term is not None]
        known = in_own_names(parse_rules([rule for rule, _ in terms], origin="flag"), self._traits).allow
        begun_now = tuple(begun(rule, term) for rule, (_, term) in zip(known, terms, strict=True))
        return lasting, RunRules(begun_now) if begun_now else None

    def objection(self, path: Path) -> str:
        """Return why an undo does not restore a file; else an empty text.

        An undo restores no file of which even mode auto-edit would deny an edit, or ask about it.
        """
        from agentcli.permissions.decide import decide

        call = ToolCall("undo", "edit", {"file_path": str(path)})
        decision = decide(call, self._traits, self.rules(), "auto-edit", self.workspace())
        return "" if decision.decision == "allow" else f"{decision.why}, so an edit of it asks first"

    def unreadable(self, path: Path) -> Rule | None:
        """Return the rule that denies reading a file; None if no rule does. Raises like `rules`."""
        deny = self.rules().deny
        denials = reading_denials(deny, self._traits) if deny else ()
        return denial_of(path, denials, self.workspace()) if denials else None

    def permissions(self) -> Permissions:
        """Return the initial permissions of a session. Raises like `rules`."""
        return Permissions(
            rules=self.rules(),
            run=self.timed,
            save_rules=self.saved.add,
            save_everywhere=self.save_everywhere,
            answered=self._answer,
            add_folder=self._context.add_folder,
            add_work_tree=self._add_work_tree,
            trusted=self._context.trusted,
            sandboxes=self.sandboxes,
            sandbox=self.sandbox.state,
            kept_hosts=self._take_kept_hosts,
            denied_hosts=lambda: gate.denied() if (gate := self._gate.now) is not None else (),
        )

    def _add_work_tree(self, folder: Path) -> None:
        """Note a work tree that a command has made; one outside joins the workspace if a person might add it."""
        from agentcli.permissions.exposed import may_join

        self._context.made.append(folder)
        workspace = self.workspace()
        if judge_path(str(folder), workspace, write=False).verdict == "outside" and may_join(folder, workspace):
            with suppress(AgentError):  # it has gone since
                self._context.add_folder(folder)

    @property
    def limits(self) -> ToolLimits:
        """Limits of tools. Raises ConfigError for an invalid address."""
        limits = self._context.config[ToolLimits]
        _check_networks(limits.fetch_addresses)
        return limits

    def sandboxes(
        self, mode: Mode, hidden: Hidden = NOTHING, contained: bool = False, exposed: Exposed = EXPOSED_NOTHING
    ) -> Sandboxes:
        """Return the sandboxes of commands in this mode.

        Commands that a person or a rule allowed run without a sandbox, unless one is required. Other commands that only
        read run in the `reader` sandbox, in every mode. In mode auto the rest run in a sandbox with a writable
        workspace. So does a `contained` command, whose decision relies on that. Paths that deny rules protect from
        reading are hidden in every mode, even from allowed commands.
        """
        if not self.sandbox.working:
            return Sandboxes()
        space = self._space() if mode == "auto" else None
        workspace = replace(self.workspace(), exposed=exposed)
        network, left = self._opens_network, self._let_out
        wraps = _Wraps(self.sandbox, workspace, hidden, space, network, left, self._port_for)
        reader, required = self._reader(wraps), self._context.config[General].sandbox == "require"
        if mode != "auto" and not required and not contained:
            return Sandboxes(self._outside(wraps.outside, wraps), reader, own=wraps.own)
        inside = self._inside(wraps)
        allowed = inside if required else self._outside(wraps.leaving, wraps)
        return Sandboxes(inside, reader, self._recording(wraps), allowed, wraps.own)

    def _reader(self, wraps: _Wraps) -> Wrap:
        """Return the sandbox of commands that only read."""

        def reader(argv: Sequence[str]) -> Boxed:
            path = trusted_path(self._context.search_path, self._context.roots)
            return self.sandbox.wrap_reader(argv, wraps.workspace, path, wraps.hidden)

        return reader

    def _outside(self, wrap: Wrap | None, wraps: _Wraps) -> CommandSandbox:
        """Return what runs commands outside: what they change in the workspace is looked at afterwards."""
        return CommandSandbox(wrap, watch=lambda _: self._aftermath.outside(wraps.workspace), outside=wrap)

    def _inside(self, wraps: _Wraps) -> CommandSandbox:
        """Return the sandbox of commands that may write into the workspace. One that fails there may leave it if the person agrees."""
        workspace, after = wraps.workspace, self._aftermath

        def watch(background: bool) -> Callable[[], Sequence[str]]:
            left = wraps.last[-1:] and wraps.last[-1] in self._let_out
            return after.outside(workspace) if left else after.inside(workspace, aside=not background)

        return CommandSandbox(
            wraps.inside,
            partial(self._escalate, workspace),
            watch,
            if_failed=limits_told(workspace),
            outside=wraps.leaving,
            unseen=partial(unseen, workspace),
            nameable=partial(_would_show, workspace),
            same_port=self._same_port,
            **self._of_network,
        )

    def _recording(self, wraps: _Wraps) -> CommandSandbox:
        """Return the sandbox of commands with which git records. What git writes into the work tree comes from the repository."""
        return CommandSandbox(
            wraps.recording,
            partial(self._escalate, wraps.workspace),
            lambda _: self._aftermath.inside(wraps.workspace, aside=False, by_git=True),
            hardened=True,
            outside=wraps.leaving,
            **self._of_network,
        )

    @property
    def _of_network(self) -> Mapping[str, Any]:
        """Return what a sandbox tells about the network of its last command."""
        return {
            "fetches": lambda line: self._gate.now is not None and self._gate.now.is_for(line),
            "gated": self.gated,
            "opens_network": self._opens_network,
            "refused_hosts": lambda: gate.refusals() if (gate := self._gate.now) is not None else {},
            "late_hosts": self._late_hosts,
        }

    async def _late_hosts(self, command: str) -> Sequence[str]:
        return await gate.late(command) if (gate := self._gate.now) is not None else ()

    def _port_for(self, line: str) -> int:
        """Return the port at which a command finds the proxy of the network; 0 if it needs none."""
        from agentcli.permissions.network.hosts import opened
        from agentcli.permissions.shell.effects.network_use import may_fetch

        gate = self._gate() if may_fetch(line) or opened(self.rules()) else self._gate.now
        return gate.port_for(line) if gate is not None else 0

    def _same_port(self, port: int) -> bool:
        """Return True if a sandboxed command reaches the same thing at a loopback port as outside."""
        from agentcli.permissions.sandbox.space import served_ports

        space = self._space() if not self._opens_network else None
        return space.same_port(port) if space is not None else port not in served_ports()

    @cached_property
    def saved(self) -> SavedRules:
        """Rules that the user's answers have saved for this project."""
        return SavedRules(self._context.dirs.sessions, self._context.cwd)

    def save_everywhere(self, rules: Sequence[str]) -> None:
        """Add allow rules to the user's own configuration permanently: all, or none if it raises."""
        from agentcli.program.config.toml import add_to_list

        add_to_list(self._context.dirs.config_file, "permissions", "allow", *rules)

    async def _escalate(self, workspace: Workspace, command: str, reason: str) -> bool | None:
        """Ask once about a command that failed in the sandbox of `workspace`; return None if nobody can answer.

        The answer may add the folders elsewhere in which the command could not write.
        """
        if command in self._kept_in:
            return False
        call = ToolCall("escalate", "bash", {"command": command})
        folders = _folders_to_add(workspace, reason)
        answer = await self._approve(
            ApprovalRequest(
                call, "Run it again outside the sandbox?", reason, command, "command", folders=folders,
                lasting=bool(folders),
            )
        )  # fmt: skip
        if answer is None:
            return None
        for folder in folders if answer.choice == "folder" else ():
            with suppress(AgentError):  # it has gone since: the next command says so
                self._context.add_folder(folder)
        leaves = answer.choice != "no"
        (self._let_out if leaves else self._kept_in).add(command)
        return leaves


def _folders_to_add(workspace: Workspace, reason: str) -> tuple[Path, ...]:
    """Return the folders elsewhere in which a command may have failed to write, as `reason` says."""
    from agentcli.permissions.offers import folders_around  # both only for a command that failed
    from agentcli.tools.lib.command_notes import READ_ONLY

    return folders_around(workspace.exposed.paths, workspace) if re.search(READ_ONLY, reason) else ()


def _would_show(workspace: Workspace, path: str) -> bool:
    from agentcli.permissions.exposed import would_show  # only for a command that failed

    return would_show(workspace, path)


@dataclass(frozen=True, slots=True)
class _Wraps:
    """Wraps of commands in one mode: inside a sandbox with a writable workspace, and outside of it."""

    sandbox: Sandbox
    workspace: Workspace
    hidden: Hidden
    space: PrivateSpace | None
    network: bool
    let_out: Set[str]
    """Commands that a person has let out of the sandbox."""
    port_for: Callable[[str], int]
    """Returns the port at which a command finds the proxy of the network; 0 if it needs none."""
    last: list[str] = field(default_factory=list)
    """The last command that was to run in the sandbox."""

    def inside(self, argv: Sequence[str]) -> Boxed:
        """Run a command in the sandbox, unless it was let out."""
        self.last[:] = argv[-1:]
        if argv[-1] in self.let_out:
            return self.leaving(argv)
        proxy = self.port_for(argv[-1]) if self.space is not None else 0
        return self.sandbox.wrap(
            argv, self.workspace, network=self.network, hidden=self.hidden, space=self.space, proxy=proxy
        )

    def recording(self, argv: Sequence[str]) -> Boxed:
        """Run a command with which git records something."""
        proxy = self.port_for(argv[-1]) if self.space is not None else 0
        return self.sandbox.wrap(argv, self.workspace, git=True, hidden=self.hidden, space=self.space, proxy=proxy)

    def own(self, argv: Sequence[str], writes: bool) -> Boxed:
        """Run a program from the user's settings: it is visible with its installation, wherever it is."""
        path = ":".join([*folders_of_programs(argv), self.workspace.path])
        workspace = replace(self.workspace, path=path)
        return self.sandbox.wrap(argv, workspace, hidden=self.hidden, space=self.space, still=not writes)

    def leaving(self, argv: Sequence[str]) -> Boxed:
        """Run a command outside, with the session's /tmp if it mentions that: sandboxed commands put their files there."""
        from agentcli.permissions.shell.effects.private_tmp import names_tmp

        if self.space is not None and names_tmp(argv[-1]):
            return self.sandbox.with_tmp(argv, self.hidden, self.workspace, self.space)
        return self.outside(argv) if self.outside is not None else Boxed(argv)

    @property
    def outside(self) -> Wrap | None:
        """Hides paths from a command outside; None if there is nothing to hide."""
        return self._masked if self.hidden.paths and self.sandbox.masks else None

    def _masked(self, argv: Sequence[str]) -> Boxed:
        return self.sandbox.mask(argv, self.hidden, self.workspace)


def _denied(tool: str) -> Rules:
    """Return the rule with which a plugin denies a tool; a command covers all with its prefix.

    An invalid rule denies the whole tool.
    """
    from agentcli.core.aliases import own_rule

    name, command, rest = own_rule(tool).partition("(")
    rule = (
        f"{name}({rest[:-1]}:*)" if name == "bash" and rest.endswith(")") and "*" not in rest else name + command + rest
    )
    for one in (rule, name):
        with suppress(AgentError):
            return parse_rules((), (), [one], "config") if one else Rules()
    return Rules()


def _check_networks(given: Sequence[str]) -> None:
    """Raise ConfigError for text that is neither an address nor a network."""
    if given:
        for network in given:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError as error:
                raise ConfigError(f"tools.fetch_addresses: {error}. Write 127.0.0.1 or 10.0.0.0/8.") from error


def _started_here(pid: int) -> bool:
    """Return True if a command of this program has started a living process."""
    from agentcli.system.descent import descends  # few commands end processes

    return descends(pid)


def _found_by(pattern: str, folders: Sequence[Path]) -> Mapping[str, bool] | None:
    """Return the processes that a pattern finds, each with True if a sandboxed command of the session runs it."""
    from agentcli.system.descent import found_by

    return found_by(pattern, tuple(map(resolved, folders)))
