"""Checks trajectory files with Harbor's own models; runs in Harbor's Python: `python trajectories.py FILE...`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory  # type: ignore[import-not-found]
from harbor.utils.trajectory_validator import TrajectoryValidator  # type: ignore[import-not-found]

for file in map(Path, sys.argv[1:]):
    raw = json.loads(file.read_text())
    assert Trajectory.model_validate(raw).to_json_dict() == raw, f"{file.name} comes back changed"
    validator = TrajectoryValidator()
    assert validator.validate(file), f"{file.name}: {validator.errors}"
    print(file.name)
