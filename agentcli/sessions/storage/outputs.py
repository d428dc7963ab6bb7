"""`outputs/<call-id>.txt`: whole tool outputs that were cut for the model, and files from tools."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from agentcli.sessions.storage.disk import Disk, make_folder, write_file

_NAME_LENGTH = 100
_ENDING = ".txt"


class Outputs:
    """A session's kept outputs. An output that the disk refused stays in memory until it can be written."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = folder, disk
        self._unsaved: dict[str, bytes] = {}
        self._names: dict[str, str] = {}

    def add(self, call_id: str, output: str | bytes, ending: str = _ENDING) -> str:
        """Remember an output; `save` writes it to the returned path. An earlier output of the same call id remains."""
        name = self._names.get(call_id) or self._free(output_name(call_id), ending)
        self._names[call_id] = name
        self._unsaved[name] = output if isinstance(output, bytes) else output.encode("utf-8", "backslashreplace")
        return str(self._folder / name)

    def _free(self, name: str, ending: str) -> str:
        # Some servers restart the numbers of their calls from time to time.
        stem = name.removesuffix(_ENDING)
        numbered = (f"{stem}{f'-{n}' if n > 1 else ''}{ending}" for n in range(1, 1_000_000))
        return next(each for each in numbered if not (self._folder / each).exists())

    def save(self) -> None:
        """Write the outputs that are only in memory. Raises OSError."""
        while self._unsaved:
            name, data = next(iter(self._unsaved.items()))
            make_folder(self._disk, self._folder)
            write_file(self._disk, self._folder / name, data)
            del self._unsaved[name]

    def text(self, path: str) -> str:
        """Return a kept output, or an empty text if it is gone. Only the name counts: sessions are moved and forked."""
        name = Path(path).name
        data = self._unsaved.get(name)
        if data is None:
            try:
                data = (self._folder / name).read_bytes()
            except OSError:
                return ""
        return data.decode("utf-8", "replace")


def output_name(call_id: str) -> str:
    """Return a file name for a call's output, different for each id, that cannot lead out of the folder."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:_NAME_LENGTH]
    if safe == call_id and safe:
        return f"{safe}{_ENDING}"
    return f"{safe}-{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}{_ENDING}"
