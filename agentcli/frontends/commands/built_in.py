"""Built-in slash commands by feature; /help comes with the registry."""

from __future__ import annotations

from agentcli.frontends.commands import (
    changes,
    context,
    files,
    folders,
    importing,
    memory,
    model,
    moving,
    prompt_files,
    queue,
    reports,
    sessions,
    settings,
    status,
)

CONVERSATION = (
    context.compress,
    context.uncompress,
    context.prune,
    context.context,
    context.pin,
    context.unpin,
    sessions.resume,
    sessions.sessions,
    sessions.rename,
    sessions.clear,
    sessions.handoff,
    sessions.fork,
    queue.queue,
    folders.add_dir,
    folders.cd,
    moving.worktree,
    model.model,
    model.effort,
    model.mode,
    status.status,
    settings.config,
    settings.keys,
    reports.permissions,
    reports.tools,
)
CHECKPOINTS = (files.undo, files.redo, context.rewind)
PROMPT_FILES = (prompt_files.skills, prompt_files.agents, prompt_files.plugins, importing.import_)
REMOTE = (sessions.remote, moving.bg)
TODO = (reports.todo,)
JOBS = (reports.tasks,)
INSTRUCTIONS = (memory.memory,)
CHANGES = (changes.diff_, changes.review, changes.findings_)
TERMINAL = (
    files.copy,
    files.export,
    files.view,
    reports.why,
    model.theme,
    model.raw,
    model.vim,
    model.editor,
    reports.doctor,
    sessions.quit_,
)
