"""Which project a folder belongs to: one repository is one project, wherever in it the user stands."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_NAME_LENGTH = 40


def project_root(directory: Path) -> Path:
    """The repository's top folder (the nearest with a `.git`), or the folder itself outside of any."""
    here = Path(os.path.realpath(directory))
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def project_id(directory: Path) -> str:
    """A readable name and a hash of the whole path: stable, safe as a file name, different for different roots."""
    root = project_root(directory)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:_NAME_LENGTH]
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    return f"{name or 'root'}-{digest[:10]}"
