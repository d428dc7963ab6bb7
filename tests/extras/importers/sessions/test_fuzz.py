"""Whatever stands in a file, it is taken over or refused with a reason; never a traceback, never a session that cannot be written."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import decode, encode
from agentcli.core.errors import InputError
from agentcli.core.record import Record
from agentcli.extras.importers.sessions import Timed, read
from tests.sampling import sampled

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    [],
    {},
    [1],
    {"type": "text"},
    [None],
    "\ud800",
    "2026-99-99",
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value at which something else could stand."""
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def damaged(text: str, dice: random.Random) -> str:
    """The file with a value or two replaced by something that does not belong there."""
    try:
        rows = [json.loads(text)]
    except ValueError:
        rows = [json.loads(line) for line in text.split("\n") if line]
    for _ in range(dice.randint(1, 3)):
        holder, key = dice.choice(list(places(rows)))
        if dice.random() < 0.3 and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = copy.deepcopy(dice.choice(STRANGE))  # what is shared would be damaged in every file
    return "\n".join(map(json.dumps, rows))


def bodies(file: Path) -> Sequence[Timed]:
    """The bodies imported; none where the file was refused."""
    try:
        return read(file).bodies
    except InputError:
        return ()


@pytest.mark.parametrize("sample", sampled(SAMPLES, 3), ids=lambda path: path.name)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
@example(seed=1659)  # a tool whose name is a number
@example(seed=4096)  # a call whose id is not text, in a later line of a reply
def test_a_file_with_something_strange_in_it_is_taken_over_or_refused(sample: Path, seed: int, tmp_path: Path):
    file = tmp_path / "strange"
    file.write_text(damaged(sample.read_text(), random.Random(seed)), encoding="utf-8", errors="surrogatepass")
    for seq, (time, body) in enumerate(bodies(file), 1):
        assert decode(encode(Record(seq, "r", time, "", body))).body == body
