"""Checks of a batch before it starts: repositories, keys, prices, the sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from agentcli.core.errors import AgentError, ConfigError, InputError
from agentcli.extras.batch import mirrors, trees
from agentcli.extras.batch.plan import Plan
from agentcli.extras.batch.tasks import Task
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.system.paths import app_dirs


def examined(
    plan: Plan, tasks: Sequence[Task], elsewhere: bool = False, env: Mapping[str, str] | None = None
) -> list[str]:
    """Return notes about the repositories. Raise AgentError before any start if a base, a key, a price or a sandbox is
    missing.

    `env` replaces this process's environment. `elsewhere` skips keys and sandboxes, which are on other machines: the
    first task that lacks one stops the batch.
    """
    notes = []
    cache = app_dirs(os.environ if env is None else env).cache
    folders = {repo: mirrors.fetched(cache, repo) for repo in dict.fromkeys(task.repo for task in tasks)}
    for repo, base in dict.fromkeys((task.repo, task.base) for task in tasks):
        if plan.isolation in ("worktree", "clone"):
            trees.base_commit(folders[repo], base)
            if not mirrors.is_url(repo) and trees.is_dirty(repo):
                notes.append(f"{repo} has changes that are not committed: the tasks do not see them.")
        elif mirrors.is_url(repo):
            raise InputError(f"{repo} has no files here: --isolate worktree or clone is for a repository with a URL.")
    for repo, model, own in dict.fromkeys((task.repo, task.model, task.settings) for task in tasks):
        program = program_of(Options(cwd=folders[repo], model=model, settings=(*plan.settings, *own)), env)
        spec = program.models.spec(model or program.selection.model_name())
        if not elsewhere and isinstance(obstacle := program.models.obstacle(spec.name), AgentError):
            raise obstacle
        if plan.cap is not None and spec.prices is None and spec.provider not in ("script", "demo"):
            raise ConfigError(
                f'The price of {spec.name} is not known, so no cap can be enforced: --set models."{spec.name}".prices=….'
            )
        if not elsewhere and plan.boxed and plan.isolation != "none" and not program.workspace_policy.sandbox.working:
            raise AgentError(
                f"No sandbox works here: {program.workspace_policy.sandbox.report} Install bubblewrap, or run with --unboxed."
            )
    return notes
