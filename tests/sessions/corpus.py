"""Sessions of every origin in one store: those of golden runs, samples of old schemas, and files of other programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from agentcli.extras.importers.sessions import read
from agentcli.sessions.info import SessionInfo, decode_info
from agentcli.sessions.store import Store
from tests.sessions.imported import store_imported

HERE = Path(__file__).parent
REAL = HERE.resolve().parents[2] / "shared" / "data" / "real-session.jsonl"
STORED = HERE.parent / "golden" / "stored"


def sessions(root: Path) -> Iterator[tuple[str, Store, SessionInfo]]:
    """Each session with a name for people and its store under `root`."""
    for number, folder in enumerate((*sorted((HERE / "samples").iterdir()), *sorted(STORED.iterdir()))):
        store = Store(root / str(number))
        info = decode_info((folder / "session.json").read_bytes())
        shutil.copytree(folder, store.root / info.project_id / info.id)
        yield folder.name, store, info
    store = Store(root / "imported")
    foreign = sorted((HERE.parent / "extras" / "importers" / "sessions" / "samples").iterdir())
    for file in (*foreign, REAL) if REAL.exists() else foreign:
        yield file.name, store, store_imported(store.root, read(file), root)


def raw_records(store: Store, info: SessionInfo) -> Iterator[dict[str, object]]:
    """The records of a session as their files hold them."""
    for path in sorted((store.folder(info) / "records").glob("*.json")):
        yield json.loads(path.read_bytes())
