"""The way in: answers what needs nothing, paints the prompt before anything heavy is imported, hands over to the rest."""

from __future__ import annotations

import sys

from agentcli import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run the program with these arguments (default: the command line's) and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]):
        print(f"agentcli {__version__}")
        return 0
    early = None
    if _opens_editor(arguments):
        # The prompt is painted before anything else is looked at, and taken back if it turns out to be wrong.
        from agentcli.ui.early import possible, start

        early = start() if possible() else None
    from agentcli.cli import run

    return run(arguments, early)


def _opens_editor(arguments: list[str]) -> bool:
    """Whether an editor will come up, as far as the words alone can tell."""
    if any(argument.startswith(NO_EDITOR) for argument in arguments):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    return not words or words[0] not in OTHER_COMMANDS


NO_EDITOR = ("-p", "--print", "--prompt", "-h", "--help", "-V", "--version", "--plain")
OTHER_COMMANDS = ("sessions", "context", "permissions", "models", "tools", "config", "doctor", "stats")

if __name__ == "__main__":
    sys.exit(main())
