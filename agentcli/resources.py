"""Texts that a model reads, from the installed package or beside it in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def prompt(name: str) -> str:
    """Return the text of `prompts/<name>` without the blank line at its end. Raise FileNotFoundError if there is none."""
    for folder in (_PACKAGE / "prompts", _PACKAGE.parent / "prompts"):
        file = folder / name
        if file.is_file():
            return file.read_text(encoding="utf-8").rstrip("\n")
    raise FileNotFoundError(f"prompts/{name} is neither in the package nor beside it.")


def pages(folder: str) -> tuple[str, ...]:
    """Return the names of the pages in a folder of `prompts`, in order, without `.md`."""
    for place in (_PACKAGE / "prompts" / folder, _PACKAGE.parent / "prompts" / folder):
        if place.is_dir():
            return tuple(sorted(page.stem for page in place.iterdir() if page.suffix == ".md"))
    raise FileNotFoundError(f"prompts/{folder} is neither in the package nor beside it.")
