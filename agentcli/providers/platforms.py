"""Clouds that serve a vendor's models under their own accounts: the package each needs, and where its SDK looks for credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from agentcli.core.dataclass import dataclass
from agentcli.providers.anthropic import models as anthropic_models
from agentcli.providers.google import models as google_models


@dataclass(frozen=True, slots=True)
class Platform:
    """A cloud: the kind of provider whose models it serves, and the extra and module of this package that it needs.

    Credentials are found in one of `variables`, in one of `files` below the home folder, or by the cloud's own machines; `required` are
    variables that must be set besides, any one of each group.
    """

    title: str
    kind: str
    extra: str
    module: str
    variables: tuple[str, ...]
    files: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    counts: bool = True
    """False where it has no counting of tokens."""

    def found(self, env: Mapping[str, str], home: Path) -> str:
        """The first place that has credentials; empty where none is seen."""
        names = (name for name in self.variables if env.get(name))
        files = (f"~/{name}" for name in self.files if (home / name).is_file())
        return next(chain(names, files), "")

    def missing(self, env: Mapping[str, str]) -> Iterator[str]:
        """The variables that are not set though one of each group must be, as text."""
        for group in self.required:
            if not any(env.get(name) for name in group):
                yield " or ".join(group)


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
        ),
        "vertex": Platform(
            "Vertex AI",
            anthropic_models.KIND,
            "vertex",
            "google.auth",
            ("GOOGLE_APPLICATION_CREDENTIALS",),
            _GOOGLE_FILES,
            (("CLOUD_ML_REGION",), ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")),
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
"""Platforms by the name that `platform` in a `[providers.<name>]` table has."""


def vendor_id(model: str) -> str:
    """The vendor's own id of a model that a platform lists as `us.anthropic.claude-…-20250929-v1:0` or `claude-…@20250929`."""
    bare = model.rpartition("/")[2].rpartition("anthropic.")[2].partition("@")[0]
    return re.sub(r"(-\d{8})?(-v\d+(:\d+)?)?$", "", bare)
