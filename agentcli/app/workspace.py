"""The workspace policy of a run: folders, permission rules, and the sandbox of its commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from agentcli.agent.ports import ApprovalRequest, Approve
from agentcli.agent.setup import Sandboxes
from agentcli.app.project import ProjectContext
from agentcli.app.project_rules import project_rules
from agentcli.app.saved_rules import SavedRules
from agentcli.core.aliases import own_rule
from agentcli.core.errors import AgentError, ConfigError
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Boxed, CommandSandbox, ToolLimits, Traits
from agentcli.permissions.decide import decide
from agentcli.permissions.denied.files import NOTHING, Hidden, denial_of, reading_denials
from agentcli.permissions.paths import UndoCover, Workspace, resolved
from agentcli.permissions.rules import Rule, Rules, in_own_names, parse_rules
from agentcli.permissions.started import Started, files_started
from agentcli.sandbox import Sandbox, box_for, choose, protected_since
from agentcli.sessions.checkpoints.file_states import SKIPPED
from agentcli.system.programs import trusted_path


class WorkspacePolicy:
    """Workspace folders, permission rules and sandbox of a run; `approve` is asked before a command leaves the sandbox."""

    def __init__(
        self,
        context: ProjectContext,
        approve: Approve,
        traits: Mapping[str, Traits],
        started: Callable[[], Sequence[Started]] = tuple,
    ) -> None:
        """`traits`: the traits of all tools that rules may be about, `started` the commands of hooks and servers."""
        self._context, self._approve, self._traits, self._started = context, approve, traits, started

    @cached_property
    def sandbox(self) -> Sandbox:
        """The sandbox of commands on this machine. Raises AgentError if one is required and none works."""
        self._context.leave_out(self._context.roots)  # the first program that is tried must not come from the workspace
        return choose(self._context.config.general.sandbox, self._context.roots)

    def workspace(self) -> Workspace:
        """Return the workspace as permission decisions need it."""
        context = self._context
        own = (context.dirs.config, context.dirs.data, context.dirs.state)
        home = Path(context.env.get("HOME") or Path.home())
        return Workspace(
            context.cwd,
            self._context.roots,
            home,
            own,
            sandboxed=self.sandbox.working,
            masks=self.sandbox.masks,
            records=self.sandbox.kind in ("bubblewrap", "seatbelt"),
            undo=self._undo,
            readable=lambda: context.extensions.readable,
            destroys=context.config.permissions.destructive == "allow",
            path=context.search_path,
            other_homes=() if context.env.get("HOME") == os.environ.get("HOME") else (Path.home(),),
            env=context.given_env,
            started=files_started(self._started(), tuple(map(resolved, self._context.roots))),
        )

    @property
    def _undo(self) -> UndoCover | None:
        """The extent of /undo in this run."""
        limits = self._context.config.checkpoints
        if self._context.options.no_session or not limits.seconds:
            return None
        return UndoCover(min(limits.file_bytes, limits.ignored_bytes), limits.files, SKIPPED)

    def rules(self) -> Rules:
        """Return the permission rules of configuration, flags, plugins, the project and its saved answers. Raises ConfigError or UsageError for a rule about no tool."""
        given, options = self._context.config.permissions, self._context.options
        configured = parse_rules(given.allow, given.ask, given.deny, "config")
        known = self._traits
        rules = in_own_names(configured + parse_rules(options.allow, (), options.deny, "flag"), known)
        rules += self.saved.rules()[0] + project_rules(self._context, known)[0]
        return sum((_denied(tool) for plugin in self._context.plugins[0] for tool in plugin.excluded), rules)

    def objection(self, path: Path) -> str:
        """Return why an undo does not restore a file (even mode auto-edit would ask about an edit of it, or deny it); else empty."""
        call = ToolCall("undo", "edit", {"file_path": str(path)})
        decision = decide(call, self._traits, self.rules(), "auto-edit", self.workspace())
        return "" if decision.decision == "allow" else f"{decision.why}, so an edit of it asks first"

    def unreadable(self, path: Path) -> Rule | None:
        """Return the rule that denies reading a file; None if no rule does. Raises like `rules`."""
        deny = self.rules().deny
        denials = reading_denials(deny, self._traits) if deny else ()
        return denial_of(path, denials, self.workspace()) if denials else None

    @property
    def limits(self) -> ToolLimits:
        """Limits of tools. Raises ConfigError for an invalid address."""
        limits = self._context.config.tools
        _check_networks(limits.fetch_addresses)
        return limits

    def sandboxes(self, mode: Mode, hidden: Hidden = NOTHING) -> Sandboxes:
        """Return the sandboxes of commands in this mode.

        Commands that a person or a rule allowed run without a sandbox. Of the others, commands that only read run in the
        sandbox of `reader`, in every mode; in mode auto the rest run in a sandbox with a writable workspace.
        Paths that deny rules protect from reading are hidden in every mode, from allowed commands as well.
        """
        config = self._context.config
        if not self.sandbox.working:
            return Sandboxes()
        workspace = self.workspace()

        def reader(argv: Sequence[str]) -> Boxed:
            return self.sandbox.wrap_reader(
                argv, workspace, trusted_path(self._context.search_path, self._context.roots), hidden
            )

        def mask(argv: Sequence[str]) -> Boxed:
            return self.sandbox.mask(argv, hidden, workspace)

        outside = mask if hidden.paths and self.sandbox.masks else None
        if mode != "auto" and config.general.sandbox != "require":
            return Sandboxes(CommandSandbox(outside, outside=outside), reader)

        def wrap(argv: Sequence[str]) -> Boxed:
            return self.sandbox.wrap(argv, workspace, network=config.general.sandbox_network, hidden=hidden)

        def watch() -> Callable[[], Sequence[str]]:
            before = box_for(workspace).readonly
            return lambda: protected_since(workspace, before)

        def recorder(argv: Sequence[str]) -> Boxed:
            return self.sandbox.wrap(argv, workspace, git=True, hidden=hidden)

        return Sandboxes(
            CommandSandbox(wrap, self._escalate, watch, outside=outside),
            reader,
            CommandSandbox(recorder, self._escalate, watch, hardened=True, outside=outside),
        )

    @cached_property
    def saved(self) -> SavedRules:
        """The rules that the user's answers have saved for this project."""
        return SavedRules(self._context.dirs.sessions, self._context.cwd)

    def save_everywhere(self, rules: Sequence[str]) -> None:
        """Add allow rules to the user's own configuration, for good: all, or none if it raises."""
        from agentcli.config.edit import add_to_list

        add_to_list(self._context.dirs.config_file, "permissions", "allow", *rules)

    async def _escalate(self, command: str, reason: str) -> bool:
        call = ToolCall("escalate", "bash", {"command": command})
        answer = await self._approve(
            ApprovalRequest(call, "Run it again outside the sandbox?", reason, command, "command")
        )
        return answer is not None and answer.choice != "no"


def _denied(tool: str) -> Rules:
    """Return the rule by which a plugin denies a tool; a command covers all that begin with it. An invalid rule denies the whole tool."""
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
        import ipaddress

        for network in given:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError as error:
                raise ConfigError(f"tools.fetch_addresses: {error}. Write 127.0.0.1 or 10.0.0.0/8.") from error
