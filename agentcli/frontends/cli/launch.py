"""Start a run, interactive or not. Imports nothing that is not needed at once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from agentcli.core.errors import CredentialsError, InputError
from agentcli.frontends.opening import program_of
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.program.front_end import FrontEnd, soon
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.agent.ports import Approve, AskUser
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.app import Terminal
    from agentcli.frontends.terminal.device import Device
    from agentcli.frontends.terminal.early import EarlyTerminal
    from agentcli.frontends.terminal.sharing import Front, Share, Sharing
    from agentcli.program.program import Program

NO_TERMINAL = "Not a terminal. Use -p PROMPT for non-interactive use."


def start(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run as the command line requests and return the exit code. Raises InputError if a person is needed but stdin is
    not a terminal.

    `early` is a terminal that already shows the prompt, and echoes keys during loading.
    """
    if options.background:
        from agentcli.frontends.agents.starting import in_background

        return in_background(options)
    if options.worktree is not None:
        from agentcli.frontends.cli.in_worktree import in_worktree

        return in_worktree(options, start, attended=not options.print and has_terminal())
    if options.demo:
        from agentcli.program.demo import prepared

        with prepared(options, alone=options.print or not has_terminal()) as asked:
            return run_options(asked, early)
    if options.session == "" and (options.print or not has_terminal()):
        raise InputError("Which session? Give an id, a unique prefix, or a name, or use --last.")
    return run_options(options, early)


def run_options(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run with these options and return the exit code."""
    if options.print:
        from agentcli.frontends.headless.print_mode import print_mode
        from agentcli.system.logs import log_to

        program = program_of(options)
        log_to(program.dirs, program.env, enabled=not options.no_session)
        return print_mode(program, options)
    if not has_terminal():
        if options.session is None:
            _needs_model(options)
        raise InputError(NO_TERMINAL)
    return repl(options, early)


def has_terminal() -> bool:
    """Return whether stdin and stdout are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _needs_model(options: Options) -> NoReturn:
    """Raise CredentialsError if no model is chosen, which the user must fix first; else InputError."""
    program = program_of(options)
    with program.preparing():
        program.selection.model_name()
        raise InputError(NO_TERMINAL)


def repl(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run a session with a person at a terminal; line by line on a dumb terminal or with `--plain`.

    Return the exit code.
    """
    from agentcli.frontends.terminal.early import possible
    from agentcli.frontends.terminal.sharing import Sharing

    sharing = Sharing()
    load_session = partial(_load_session, options, sharing)
    try:
        if options.plain or not possible():
            from agentcli.frontends.plain.repl import run

            return _elsewhere(options, sharing, run(load_session, prompts=_prompts(options)))
        import_startup = partial(importlib.import_module, "agentcli.frontends.terminal.startup")
        startup = early.during(import_startup) if early is not None else import_startup()
        code: int = startup.run(load_session, load_terminal, prompts=_prompts(options), early=early)
    except CredentialsError as error:
        if early is not None:
            early.leave()
        return _ask_for_key(error, options)
    return _elsewhere(options, sharing, code)


def _elsewhere(options: Options, sharing: Sharing, code: int) -> int:
    """Continue the session elsewhere if the person asked for that; return the exit code, by default the terminal's."""
    leaving = sharing.leaving
    if leaving is None:
        return code
    from agentcli.frontends.agents.starting import go_on, stored_options

    if leaving.worktree is None:
        return go_on(options, leaving)
    from agentcli.frontends.cli.in_worktree import within

    return within(leaving.worktree, stored_options(options, leaving.session, leaving.prompts), start, attended=True)


def load_terminal() -> Callable[[Device], Terminal]:
    """Import the class of the terminal that takes over once the program is loaded; the import is the slow part."""
    from agentcli.frontends.terminal.app import Terminal

    return Terminal


def _load_session(
    options: Options, sharing: Sharing, approve: Approve, ask: AskUser, report: Callable[[str], object]
) -> tuple[Program, Sharing, AgentSession]:
    """Return everything that a session needs, loaded and put together while the person already types."""
    from agentcli.frontends.terminal.reading import reading
    from agentcli.frontends.terminal.render.status_line import check_facts
    from agentcli.program.retention import sweep_later
    from agentcli.providers.connect import warm
    from agentcli.system.logs import log_to

    program = program_of(options, front_end=FrontEnd(partial(sharing.approve, approve), partial(sharing.ask_user, ask)))
    sharing.start = partial(_share, program)
    log_to(program.dirs, program.env, enabled=not options.no_session)
    with program.preparing():
        session = program.sessions.begin_with_choice(reading(report))
    # Import the SDK, which takes a second, while the person types, not while they wait for the first answer.
    soon(warm, session.core.model.kind)
    if not options.no_session:
        sweep_later(program)
    soon(program.start_parts)
    check_facts(program.config[UiSettings].status)
    return program, sharing, session


async def _share(program: Program, front: Front) -> Share:
    from agentcli.frontends.serve.control import share_session

    return await share_session(program, front)


def _prompts(options: Options) -> tuple[str, ...]:
    if options.session == "":
        return ("/resume", *options.prompts(""))
    return options.prompts(options.prompt or "")


def _ask_for_key(error: CredentialsError, options: Options) -> int:
    """Without a key: explain how to set one, offer a prompt for pasting one, and the demo."""
    from getpass import getpass

    print(*getattr(error, "__notes__", ()), error, sep="\n", file=sys.stderr)
    while True:
        try:
            answer = getpass("Paste a key (hidden), or type demo; Enter quits: ").strip()
            if answer.lower() in ("", "n", "no", "q", "quit", "exit"):
                return error.exit_code
            if answer.lower() in ("demo", "y", "yes"):
                return start(Options(demo=True, plain=options.plain))
            _store_key(answer, options)
            return repl(options)
        except EOFError:
            return error.exit_code
        except (CredentialsError, InputError) as wrong:
            print(wrong, file=sys.stderr)


def _store_key(text: str, options: Options) -> None:
    """Try a pasted key and store it. Raises CredentialsError if it is rejected, InputError if it is not a key."""
    from agentcli.program.keys import checked, provider_of, try_key
    from agentcli.providers.registry import SERVERS
    from agentcli.providers.settings import BUILT_IN
    from agentcli.system.key_store import KeyStore

    key = checked(text)
    provider = provider_of(key) or input(f"Which provider is it for? [{'/'.join(SERVERS)}] ").strip()
    if provider not in SERVERS:
        raise InputError(f"Unknown provider {provider!r}. Use `agentcli auth set PROVIDER`.")
    program = program_of(options)
    if reason := try_key(BUILT_IN[provider], key, program.given_env):
        print(f"The key could not be checked: {reason}.", file=sys.stderr)
    store = KeyStore(program.dirs.config)
    place = store.set(provider, key)
    print(f"Stored the key in {'the keyring' if place == 'keyring' else store.path}.", file=sys.stderr)
