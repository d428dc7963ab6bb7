"""Skills, slash commands and kinds of agents of one open session: found, looked up, opened, and filled in as prompts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.instructions import folders_to
from agentcli.agent.ports import ApprovalRequest, Prompt, PromptSource, SessionPromptFiles, TurnGrants
from agentcli.agent.project.places import programs
from agentcli.agent.project.prompt_files import PromptFiles, Skill, Template
from agentcli.agent.tool_context import offer
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError, InputError, ToolError
from agentcli.core.journal import Journal
from agentcli.core.message import TYPED, Part, Text, ToolCall, ToolResult, reminder
from agentcli.core.text.words import instead, name_and_argument
from agentcli.core.tool import UNKNOWN, ToolOutput
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.program.prompt_files.discover import changes_since, with_nested
from agentcli.system import probe
from agentcli.system.regular_file import Unusable
from agentcli.tools.skill import Skills
from agentcli.tools.task import Delegates, Delegation

SKILL_FOLDERS = "skill_folders"
"""Metadata field of a result with the folders of skills that its call found."""


class NestedSkills(Stage):
    """Finds folders of skills between the session's first folders and the folders that its calls touch.

    A found folder is known as long as the session is open. On resume it is known if a result in force contains it.
    """

    def __init__(self, journal: Journal, cwd: Path, roots: Sequence[Path]) -> None:
        self._cwd, self._roots = cwd, roots
        results = (entry.body for entry in journal.history.entries if isinstance(entry.body, ToolResult))
        named = [str(name) for result in results for name in result.metadata.get(SKILL_FOLDERS, ())]
        self._known = dict.fromkeys(Path(name) for name in named if os.path.isdir(name))

    @property
    def folders(self) -> Sequence[Path]:
        """The folders found so far."""
        return tuple(self._known)

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            return self._noted(await run(call))

        return ran

    def _noted(self, call: Call) -> Call:
        """Return the call with newly touched folders in its output's metadata."""
        output, traits = call.output, call.its_tool.traits
        if output is None or output.status != "success":
            return call
        if not traits.touches_files:
            return call
        fresh = [*self._fresh(call.paths)]
        if not fresh:
            return call
        self._known |= dict.fromkeys(fresh)
        metadata = {**output.metadata, SKILL_FOLDERS: [str(folder) for folder in fresh]}
        return replace(call, output=replace(output, metadata=metadata))

    def _fresh(self, paths: Sequence[Path]) -> Iterable[Path]:
        """Return the unknown folders of skills on the way to these paths."""
        touched = dict.fromkeys(folder for path in paths for folder, _ in folders_to(path, self._cwd, self._roots))
        here = (folder / program / "skills" for folder in touched for program in programs("skills"))
        return [folder for folder in here if folder not in self._known and probe.is_dir(folder)]


class Catalogue:
    """Prompt files of one session, searched at each prompt and in each folder of `skills` that its calls find."""

    def __init__(self, core: SessionCore, skills: NestedSkills) -> None:
        self._core, self._skills = core, skills
        self._found: PromptFiles | None = None
        self._nested = len(skills.folders)

    @property
    def found(self) -> PromptFiles:
        """The files found by the last search."""
        if self._found is None:
            self._found = self._search()
        return self._found

    async def refresh(self) -> str:
        """Search again, and return a reminder of the skills and agents added or removed since the session began.

        Return an empty text if there are none.
        """
        self._found = await asyncio.to_thread(self._search)
        return self._changes(self._found)

    def touched(self) -> Sequence[str]:
        """Return the same reminder if calls have touched a folder with nested skills; otherwise nothing."""
        known, self._nested = self._nested, len(self._skills.folders)
        if self._nested == known:
            return ()
        before = self.found.skills
        self._found = found = self._search()
        return [*filter(None, [self._changes(found)])] if found.skills.keys() != before.keys() else ()

    def _search(self) -> PromptFiles:
        return with_nested(self._core.setup.prompt_files(), self._skills.folders, self._core.ctx.cwd)

    def _changes(self, found: PromptFiles) -> str:
        builder, setup = self._core.builder, self._core.setup
        delegates = any(setup.tools.traits.get(tool.name, UNKNOWN).behaviour.delegates for tool in builder.tools)
        agents = found.agents if setup.settings.agent.subagents and delegates else {}
        loads = setup.parent.depth == 0 or any(tool.name == "skill" for tool in builder.tools)
        return changes_since(builder.system, found.skills if loads else {}, agents)


BODY_CHARACTERS = 200_000
"""Characters of a skill's body at most."""


class FoundPromptFiles(SessionPromptFiles):
    """Prompt files of one session. Subagents, and the prompts of servers, are services of the session."""

    def __init__(self, core: SessionCore, catalogue: Catalogue) -> None:
        self._core, self._setup, self._catalogue = core, core.setup, catalogue
        self._asking = asyncio.Lock()
        self._approved: set[tuple[str, ...]] = set()
        self._uses = 0

    @property
    def found(self) -> PromptFiles:
        """The files found by the last search."""
        return self._catalogue.found

    @property
    def _prompts(self) -> PromptSource | None:
        """The prompts of servers, if there are any."""
        return self._core.ctx.service(PromptSource) if self._setup.servers is not None else None

    def entry(self, name: str) -> Skill | Template | None:
        """Return the skill or command that the person means by `/name`."""
        from agentcli.program.prompt_files.mentions import named

        found = named(self.found, name)
        return None if isinstance(found, Skill) and not found.for_person else found

    def mentioned(self, text: str) -> Sequence[Skill | Template]:
        """Return the skills, and the commands of files, that a text mentions as `$skill` or `/name` anywhere, in order."""
        if "$" not in text and "/" not in text:
            return ()
        from agentcli.program.prompt_files.mentions import MOST, mentions  # most prompts name none

        named_by = {one: self.entry(one.name) for one in mentions(text)}
        meant = [
            entry
            for one, entry in named_by.items()
            if entry is not None and (one.sign == "/" or isinstance(entry, Skill))
        ]
        return [entry for number, entry in enumerate(meant) if entry not in meant[:number]][:MOST]

    def is_entry(self, text: str) -> bool:
        """Return True if a prompt begins with `/name` of a skill, a command, or a server's prompt."""
        known = text.startswith("/") and self.entry(name_and_argument(text)[0]) is not None
        return known or ((prompts := self._prompts) is not None and prompts.named(text))

    async def expanded(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the text of the command at its beginning.

        It also gets the bodies of all skills and commands in it. Raises InputError if a text is unreadable, or contains
        a command that may not run.
        """
        said = prompt.text if prompt.own is None else prompt.own
        begins = self.entry(name_and_argument(prompt.text)[0]) if prompt.text.startswith("/") else None
        further = [entry for entry in self.mentioned(said) if entry is not begins]
        prompt = await self._beginning(prompt)
        return await self._with_further(further, prompt) if further else prompt

    async def _with_further(self, entries: Sequence[Skill | Template], prompt: Prompt) -> Prompt:
        """Return the prompt with the skills and commands mentioned after its beginning put before its text, which is
        otherwise unchanged.
        """
        from agentcli.context.compaction.carryover import skill_body

        before: list[Part] = []
        seen = {skill_body(block) for block in self._core.builder.window().view.blocks}
        grants = prompt.grants
        for entry in entries:
            self._uses += 1
            alone = Prompt(f"/{entry.name}")
            call_id = f"{entry.name}-{self._uses}"
            if isinstance(entry, Skill):
                found = await self._with_skill(entry, alone, (), "", call_id)
            else:
                found = await self._with_command(entry, alone, (), "", call_id)
            grants += found.grants
            before += _put_before(entry, [part for part in found.parts if part != Text(alone.text)], seen)
        return replace(prompt, parts=(*before, *(prompt.parts or (Text(prompt.text),))), grants=grants)

    async def _beginning(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the text of the command, or the body of the skill, at its beginning.

        Return any other prompt unchanged. Raises InputError if the text is unreadable, or contains a command that may
        not run.
        """
        keep = self._core.ctx.keep_output
        rules = self._core.approval.rules
        if (prompts := self._prompts) is not None:
            from agentcli.agent.unreadable import require_readable_uri  # few sessions have servers

            prompt = await prompts.attached(prompt, keep, lambda uri: require_readable_uri(uri, rules, self._setup))
        if prompt.text.startswith("@"):
            return self._for_agent(prompt)
        if not prompt.text.startswith("/"):
            return prompt
        name, rest = name_and_argument(prompt.text)
        entry = self.entry(name)
        before = tuple(part for part in prompt.parts if part != Text(prompt.text))
        if entry is None:
            return await prompts.expanded(prompt, keep) if prompts is not None else prompt
        self._uses += 1
        call_id = f"{name}-{self._uses}"
        if isinstance(entry, Skill):
            return await self._with_skill(entry, prompt, before, rest, call_id)
        return await self._with_command(entry, prompt, before, rest, call_id)

    async def open_skill(self, call_id: str, name: str, given: str) -> ToolOutput:
        """Return the body of a skill that the model requests. Raises ToolError for a skill that it cannot have."""
        from agentcli.context.compaction.carryover import skill_body

        known = {skill.name: skill for skill in self.found.skills.values() if skill.for_model}
        skill = known.get(name) or next((one for one in known.values() if one.name.endswith(f":{name}")), None)
        if skill is None:
            near = instead(name, known)
            raise ToolError(f"There is no skill {name!r}.{near} Available: {', '.join(known) or 'none'}.")
        async with self._asking:
            text = await self._body(skill, given, call_id)
        if skill.forks:
            return await self._delegated(call_id, Delegation(f"skill {skill.name}", text, skill.agent))
        if any(skill_body(block) == text for block in self._core.builder.window().view.blocks):
            return ToolOutput(f"The skill {skill.name} is loaded already: it is above, unchanged.")
        self._core.approval.turn_rules += (await self._granted(skill, call_id)).rules
        return ToolOutput(text, metadata={"skill": skill.name})

    async def with_skills(self, names: Sequence[str], prompt: Prompt) -> Prompt:
        """Return the prompt with the bodies of these skills before it; skip unknown names."""
        known = [self.found.skills[name] for name in names if name in self.found.skills]
        if not known:
            return prompt
        bodies = [Text(await self._body(skill, "", skill.name), True, "skill") for skill in known]
        return replace(prompt, parts=(*bodies, *(prompt.parts or (Text(prompt.text),))))

    async def _delegated(self, call_id: str, work: Delegation) -> ToolOutput:
        """Give a skill's text to a subagent, and return its report. Raises ToolError."""
        delegates = self._core.ctx.service(Delegates)
        if delegates is None:
            raise ToolError(f"The {work.description} runs in a subagent, and there are none here.")
        return await delegates.delegate(call_id, work)

    async def _granted(self, entry: Skill | Template, call_id: str) -> TurnGrants:
        """Return a skill's or command's changes to the turn; a project's file may allow calls only if the person
        agrees.

        Consent lasts for the session and covers only these rules of this file.
        """
        denied = entry.denied if isinstance(entry, Skill) else ()
        allowed, forbidding = _own(entry.allowed), _rules((), _own(denied))
        grants = TurnGrants(_rules(allowed, ()) + forbidding, entry.model, entry.effort)
        key = (entry.name, str(entry.file), *allowed)
        if not allowed or entry.place.scope != "project" or key in self._approved:
            return grants
        kind, title = ("skill", f"Skill {entry.name}") if isinstance(entry, Skill) else ("command", f"/{entry.name}")
        asked = ApprovalRequest(
            ToolCall(call_id, kind, {"name": entry.name}),
            title,
            f"This {kind} of the project wants these calls to run without asking until the turn ends.",
            "\n".join(allowed),
        )
        async with self._asking:
            answer = await self._setup.person.approve(asked)
        if answer is None or answer.choice == "no":
            return replace(grants, rules=forbidding)
        self._approved.add(key)
        return grants

    async def _with_skill(
        self, skill: Skill, prompt: Prompt, before: tuple[Part, ...], rest: str, call_id: str
    ) -> Prompt:
        grants = await self._granted(skill, call_id)
        if skill.forks:
            given = f" and arguments={rest!r}" if rest else ""
            order = f"The user asks for the skill {skill.name}, which runs in a subagent. Call skill with name={skill.name!r}{given}, then tell what came of it."
            return replace(prompt, parts=(*before, reminder(order), Text(prompt.text)), grants=grants)
        text = await self._body(skill, rest, call_id)
        return replace(prompt, parts=(*before, Text(text, True, "skill"), Text(prompt.text)), grants=grants)

    async def _with_command(
        self, command: Template, prompt: Prompt, before: tuple[Part, ...], rest: str, call_id: str
    ) -> Prompt:
        from agentcli.program.prompt_files import commands
        from agentcli.program.prompt_files.fill import Filler
        from agentcli.program.prompt_files.template import arguments

        grants = await self._granted(command, call_id)
        self._core.approval.turn_rules = grants.rules
        try:
            parts = await asyncio.to_thread(commands.body_of, command)
        except Unusable as why:
            raise InputError(f"Can't use the command /{command.name}: {why} ({command.file}).") from why
        ending = commands.ending(command, rest)
        filler = Filler(f"Command /{command.name}", self._core, call_id)
        filled = await filler.fill(parts, arguments(rest, self._variables(command.file.parent, command)), ending)
        if not any(isinstance(part, Text) and part.text.strip() for part in filled):
            raise InputError(f"The command /{command.name} is empty ({command.file}).")
        own = next((part for part in filled if isinstance(part, Text) and not part.synthetic), None)
        marked = tuple(replace(part, meta={TYPED: {"line": prompt.text}}) if part is own else part for part in filled)
        if command.forks or command.agent:
            kind = command.agent or "general"
            order = reminder(
                f"The user wants this done by a subagent: call task with agent={kind!r} and the text below as its prompt, then tell what came of it."
            )
            marked = (order, *marked)
        return replace(prompt, parts=(*before, *marked), grants=grants)

    def _for_agent(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the instruction to give it to the agent at its beginning."""
        word, _, rest = prompt.text[1:].partition(" ")
        name = word.removeprefix("agent-")
        if name not in self.found.agents or not rest.strip():
            return prompt
        order = f"The user wants the agent {name} to do this: call task with agent={name!r}, and put all that it needs to know into its prompt."
        before = tuple(part for part in prompt.parts if part != Text(prompt.text))
        return replace(prompt, parts=(*before, reminder(order), Text(prompt.text)))

    async def _body(self, skill: Skill, given: str, call_id: str) -> str:
        """Return the body of a skill in its tags, with its folder and the names of its files."""
        from agentcli.program.prompt_files import skills
        from agentcli.program.prompt_files.fill import Filler
        from agentcli.program.prompt_files.template import arguments

        try:
            parts = await asyncio.to_thread(skills.body_of, skill)
            listed = await asyncio.to_thread(skills.files_of, skill)
        except Unusable as why:
            raise InputError(f"Can't use the skill {skill.name}: {why}.") from why
        filler = Filler(f"Skill {skill.name}", self._core, call_id)
        ending = f"\n\nARGUMENTS: {given.strip()}" if given.strip() else ""
        filled = await filler.fill(parts, arguments(given, self._variables(skill.folder, skill)), ending)
        body = "".join(part.text for part in filled if isinstance(part, Text))[:BODY_CHARACTERS]
        files = f"\n\nFiles of this skill: {', '.join(listed)}" if listed else ""
        return wrap("skill", f"Base directory for this skill: {skill.folder}\n\n{body}{files}", name=skill.name)

    def _variables(self, folder: Path, entry: Skill | Template) -> dict[str, str]:
        root = str(entry.place.folder.parent)
        session = self._core.journal.id
        return {
            "CLAUDE_SKILL_DIR": str(folder),
            "CLAUDE_PLUGIN_ROOT": root,
            "AGENTCLI_PLUGIN_ROOT": root,
            "extensionPath": root,
            "CLAUDE_SESSION_ID": session,
            "AGENTCLI_SESSION_ID": session,
            "CLAUDE_PROJECT_DIR": str(self._core.ctx.cwd),
        }


def _put_before(entry: Skill | Template, parts: Sequence[Part], seen: Container[str]) -> Sequence[Part]:
    """Return the parts for names within a prompt's text.

    A command's text becomes one part. A skill in the view becomes a reminder of it.
    """
    if isinstance(entry, Skill):
        again = reminder(f"The user names the skill {entry.name} again: it is above, unchanged.")
        return [again if isinstance(part, Text) and part.text in seen else part for part in parts]
    told = [part for part in parts if isinstance(part, Text) and (not part.synthetic or part.source == "inline")]
    text = "".join(part.text for part in told)
    return [*(part for part in parts if part not in told), Text(wrap("command", text, name=entry.name), True, "skill")]


def _own(rules: Sequence[str]) -> tuple[str, ...]:
    """Return the rules of a file in our syntax, without rules about tools that agentcli lacks."""
    from agentcli.core.aliases import own_rule

    return tuple(filter(None, map(own_rule, rules)))


def _rules(allow: Sequence[str], deny: Sequence[str]) -> Rules:
    """Return the rules of a turn; leave out invalid ones."""
    return sum([*(_rule([text], ()) for text in allow), *(_rule((), [text]) for text in deny)], Rules())


def _rule(allow: Sequence[str], deny: Sequence[str]) -> Rules:
    try:
        return parse_rules(allow, (), deny, "skill")
    except AgentError:
        return Rules()


class PromptFilesSession(SessionPart):
    """Skills, commands and kinds of agents in a session; nested skills only in a trusted folder."""

    name = "skills and commands"

    def __init__(self, core: SessionCore) -> None:
        workspace, trusted = core.setup.workspace, core.setup.permissions.trusted
        nested = NestedSkills(core.journal, workspace.cwd, workspace.resolved_roots if trusted else ())
        self._catalogue = Catalogue(core, nested)
        found = FoundPromptFiles(core, self._catalogue)
        self.stages = [nested] if trusted else []
        self.services = [offer(Skills, Skills(found.open_skill)), offer(SessionPromptFiles, found)]

    async def fact(self) -> str:
        return await self._catalogue.refresh()

    def news(self) -> Sequence[str]:
        return self._catalogue.touched()
