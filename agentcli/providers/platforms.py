"""Clouds that serve a vendor's models under their own accounts.

Each needs a package, and its SDK looks for credentials in known places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from agentcli.core.dataclass import dataclass
from agentcli.providers.anthropic import models as anthropic_models
from agentcli.providers.google import models as google_models
from agentcli.system import probe


@dataclass(frozen=True, slots=True)
class Platform:
    """A cloud.

    Credentials are in one of `variables`, or in one of `files` below the home folder. The cloud's own machines may
    supply them too. In addition, one variable of each group in `required` must be set.
    """

    title: str
    kind: str
    """The kind of provider whose models it serves."""
    extra: str
    """The extra of this package that it needs."""
    module: str
    """The module that it needs."""
    variables: tuple[str, ...]
    files: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    counts: bool = True
    """False if it cannot count tokens."""
    dated: str = "{model}"
    """Form of its ids for models with dated ids, with the vendor's id and the date."""
    undated: str = "{model}"
    """The form of its ids for all later models."""
    irregular: Mapping[str, str] = field(default_factory=dict)
    """Its ids that follow neither form."""
    legacy_version: str = ""
    """`anthropic_version` of models up to 4.6, if they may refuse the SDK's own, newer one."""

    def listed(self, model: str) -> str:
        """Return its id for a vendor's model id; any other name unchanged."""
        if not model.startswith("claude-") or "@" in model:
            return model
        date = _SNAPSHOTS.get(model)
        form = self.irregular.get(model) or (self.dated if date else self.undated)
        return form.format(model=model, date=date)

    def version(self, model: str) -> str:
        """Return the `anthropic_version` that a model needs; empty for the SDK's."""
        number = _NUMBER.match(vendor_id(model))
        legacy = number is not None and (int(number[1]), int(number[2] or 0)) <= _LAST_LEGACY
        return self.legacy_version if legacy else ""

    def found(self, env: Mapping[str, str], home: Path) -> str:
        """Return the first place that has credentials; empty if there is none."""
        names = (name for name in self.variables if env.get(name))
        files = (f"~/{name}" for name in self.files if probe.is_file(home / name))
        return next(chain(names, files), "")

    def missing(self, env: Mapping[str, str]) -> Iterator[str]:
        """Yield each group of required variables without a set variable, as text."""
        for group in self.required:
            if not any(env.get(name) for name in group):
                yield " or ".join(group)


_SNAPSHOTS = {"claude-opus-4-5": "20251101", "claude-sonnet-4-5": "20250929", "claude-haiku-4-5": "20251001"}
"""Dates in the ids of models before 4.6 (platform.claude.com, model ids and versions); later ids have none."""
_NUMBER = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d+))?")
"""Version number in a model's id: before the family name in old ids (`claude-3-5-haiku`), after it in later ones."""
_LAST_LEGACY = (4, 6)
"""The last models with versions in their Bedrock ids (platform.claude.com, Claude on Amazon Bedrock (Opus 4.6 and
earlier)).
"""
_GOOGLE_FILES = (".config/gcloud/application_default_credentials.json",)
PLATFORMS: Mapping[str, Platform] = MappingProxyType(
    {
        "bedrock": Platform(
            "Amazon Bedrock",
            anthropic_models.KIND,
            "bedrock",
            "botocore",
            ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
            (".aws/credentials", ".aws/config"),
            (("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"),),
            counts=False,
            dated="global.anthropic.{model}-{date}-v1:0",
            undated="global.anthropic.{model}",
            irregular=MappingProxyType({"claude-opus-4-6": "global.anthropic.claude-opus-4-6-v1"}),
            legacy_version="bedrock-2023-05-31",
        ),
        "vertex": Platform(
            "Vertex AI",
            anthropic_models.KIND,
            "vertex",
            "google.auth",
            ("GOOGLE_APPLICATION_CREDENTIALS",),
            _GOOGLE_FILES,
            (("CLOUD_ML_REGION",), ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")),
            dated="{model}@{date}",
        ),
        "vertexai": Platform(
            "Vertex AI",
            google_models.KIND,
            "",
            "google.auth",
            ("GOOGLE_APPLICATION_CREDENTIALS",),
            _GOOGLE_FILES,
            (("GOOGLE_CLOUD_PROJECT",), ("GOOGLE_CLOUD_LOCATION",)),
        ),
    }
)
"""Platforms by their names for `platform` in a `[providers.<name>]` table."""


def vendor_id(model: str) -> str:
    """Return the vendor's id for a platform's id such as `us.anthropic.claude-…-20250929-v1:0` or `claude-…@20250929`."""
    bare = model.rpartition("/")[2].rpartition("anthropic.")[2].partition("@")[0]
    return re.sub(r"(-\d{8})?(-v\d+(:\d+)?)?$", "", bare)
