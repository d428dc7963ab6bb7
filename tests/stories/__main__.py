"""`python -m tests.stories [NAME…] [--pictures FOLDER]`: record the stories anew; with a folder also their pictures, as SVG."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.stories.stories import STORIES
from tests.stories.story import Story, record

parser = argparse.ArgumentParser(prog="python -m tests.stories")
parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STORIES))
parser.add_argument("--pictures", type=Path, metavar="FOLDER")
given = parser.parse_args()
for name in given.names or STORIES:
    with tempfile.TemporaryDirectory() as folder, Story(Path(folder)) as story:
        STORIES[name](story)
    record(name, story.scenes)
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
        for number, picture in enumerate(story.pictures.values(), 1):
            (given.pictures / f"{name}-{number}.svg").write_text(picture, encoding="utf-8")
    print(name, flush=True)
