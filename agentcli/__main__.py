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
    if all(argument in ("-c", "--trust") for argument in arguments):
        # An editor will surely come up, so its prompt may be painted before anything else is looked at.
        from agentcli.ui.early import possible, start

        early = start() if possible() else None
    from agentcli.cli import run

    return run(arguments, early)


if __name__ == "__main__":
    sys.exit(main())
