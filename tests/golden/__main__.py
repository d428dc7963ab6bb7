"""`python -m tests.golden [NAME…]`: play the runs anew and write what they led to into `tests/golden/`.

The sessions in `tests/golden/stored/` were written by an earlier version of the program and are never renewed; only what going on with
them leads to is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.golden.runs import CASES, folder_of_fixed_length

HERE = Path(__file__).parent

for name in sys.argv[1:] or CASES:
    with folder_of_fixed_length() as folder:
        told = CASES[name](folder)
    (HERE / f"{name}.json").write_text(json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    print(name, flush=True)
