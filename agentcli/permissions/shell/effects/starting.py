"""Options with which a program starts another one, or reads a configuration with programs.

A rule that a person wrote covers everything that its pattern matches, except these. They ask, unless the rule contains
them. Rules that agentcli proposes cover less, see `covered.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.shell.effects.covered import given_words, named_words, takes_text
from agentcli.permissions.shell.programs.known_programs import SHELLS, STARTERS, is_interpreter

# Notation: options of a program, also joined with their value. `NAME=` is an assignment, as an operand or as the value
# of an option.

_JS_PACKAGES = "--script-shell --shell --node-options --userconfig --globalconfig --init-module --call --git"
_JS_TESTS = "--runner --testRunner --require -r --loader --import"
_SSH = "-F -S -J ProxyCommand= LocalCommand= KnownHostsCommand= -oProxyCommand -oLocalCommand -oKnownHostsCommand"
_STARTING = {
    "make": "--eval SHELL= .SHELLFLAGS= MAKE= MAKEFLAGS= GNUMAKEFLAGS= MAKEFILES=",
    "cmake": "-E -P --toolchain CMAKE_TOOLCHAIN_FILE= CMAKE_C_COMPILER= CMAKE_CXX_COMPILER= CMAKE_MAKE_PROGRAM= "
    "CMAKE_C_COMPILER_LAUNCHER= CMAKE_CXX_COMPILER_LAUNCHER=",
    "ctest": "--build-and-test --script",
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _JS_PACKAGES),
    **dict.fromkeys(("npx", "bunx", "pnpx"), f"{_JS_PACKAGES} -c --package -p"),
    **dict.fromkeys(("jest", "vitest", "mocha", "ava", "nyc", "c8"), _JS_TESTS),
    "eslint": "--rulesdir --resolve-plugins-relative-to --plugin --parser",
    **dict.fromkeys(("prettier", "stylelint"), "--plugin --custom-formatter"),
    "webpack": "--require -r",
    "pytest": "-p",
    "mypy": "--python-executable",
    "pylint": "--load-plugins --init-hook",
    "cargo": "--config",
    "rustc": "linker= -Clinker",
    "go": "-exec -toolexec -vettool -overlay -modfile",
    **dict.fromkeys(
        ("gcc", "g++", "cc", "c++", "clang", "clang++"), "-wrapper -specs --specs -fplugin -fpass-plugin -B --config"
    ),
    "ld": "-plugin",
    "gradle": "-I --init-script",
    "javac": "-processor -processorpath --processor-path -Xplugin",
    "java": "-javaagent:* -agentlib:* -agentpath:*",
    "rspec": "-r --require",
    "rake": "-r --require -e -p -E --execute --execute-print --execute-continue",
    "phpunit": "--bootstrap --loader --extension",
    "mix": "-r --require -e --eval",
    "just": "--shell --chooser",
    "docker": "-H --host --config",
    "kubectl": "--kubeconfig",
    "helm": "--post-renderer --kubeconfig",
    "terraform": "-plugin-dir",
    "pip": "--config-settings --global-option --build-option --python",
    "hg": "--config --ssh --remotecmd",
    "svn": "--config-dir --config-option --editor-cmd --diff-cmd --diff3-cmd",
    "tar": "-I --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script -F --rsh-command --rmt-command",
    "zip": "-TT --unzip-command",
    "rsync": "-e --rsh --rsync-path",
    **dict.fromkeys(("ssh", "scp", "sftp"), _SSH),
    "curl": "-K --config --engine",
    "wget": "--use-askpass --config -e --execute",
    "sort": "--compress-program",
    "split": "--filter",
    "rg": "--pre --hostname-bin",
    "find": "-exec -execdir -ok -okdir",
    **dict.fromkeys(("fd", "fdfind"), "-x -X --exec --exec-batch"),
    "man": "-P --pager -H --html",
    "gem": "-e --editor",
    "openssl": "-engine -provider",
    "git": "-c --config-env --exec-path --git-dir --work-tree",
    "git archive": "--exec",
    "git clone": "-u --upload-pack -c --config --template",
    "git difftool": "-x --extcmd",
    **dict.fromkeys(("git diff", "git log", "git show"), "--ext-diff --textconv"),
    **dict.fromkeys(("git fetch", "git pull", "git ls-remote"), "--upload-pack"),
    "git grep": "-O --open-files-in-pager --ext-grep --textconv",
    "git init": "--template",
    "git push": "--receive-pack --exec",
    "git rebase": "-x --exec",
}
"""Options that start a program, or take a configuration that does."""
_CONFIGURING = {
    "make": "-f --file --makefile -C --directory -I --include-dir",
    "ninja": "-f -C",
    "cmake": "-C -S",
    "ctest": "-S",
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "--prefix -C --dir --cwd"),
    **dict.fromkeys(
        ("jest", "vitest", "mocha", "playwright", "cypress", "eslint", "prettier", "stylelint"), "-c --config"
    ),
    **dict.fromkeys(("vite", "webpack", "rollup", "tox", "pre-commit", "golangci-lint"), "-c --config"),
    "pytest": "-c --config-file --rootdir --confcutdir",
    **dict.fromkeys(("mypy", "coverage", "pylint", "flake8"), "--config-file --rcfile --config"),
    "cargo": "--manifest-path",
    "mvn": "-s --settings -f --file -t --toolchains",
    "gradle": "-b --build-file -c --settings-file -p --project-dir",
    "ant": "-f -file -buildfile -lib",
    "rake": "-f --rakefile",
    "rspec": "-O --options",
    "bundle": "--gemfile",
    "phpunit": "-c --configuration",
    "composer": "--working-dir -d",
    "just": "-f --justfile",
    "uv": "--config-file --directory --project",
    "git": "-C",
}
"""Options that take a project's configuration, which may be in the workspace.

There it can do as much as any other file of the workspace.
"""
_GIVEN_SHELL = re.compile(r"(?<![\w.-])((?:[\w./-]*/)?)(\w+)(?![\w./=-])")


def starts_another(pattern: str, words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why a person's rule does not cover a command that its pattern matches; empty if it does.

    `folders` are the folders in which the command may run.
    """
    given = given_words(pattern)
    for index in range(named_words(pattern, words), len(words)):
        word, before, after = words[index], words[:index], words[index + 1 : index + 2]
        if word in given:
            continue
        option = word.partition("=")[0]
        if _is_known(word, before, _STARTING, after) or (word.startswith(STARTERS) and not is_interpreter(before[0])):
            return f"{option} makes {words[0]} start a program or read what starts one; a rule that names {option} would cover it"
        if _is_known(word, before, _CONFIGURING, after) and _leads_out(word, after, folders, workspace):
            return f"{option} reads a configuration outside the workspace"
        if word.startswith("-") and (shell := _shell_given(word, after, before)):
            return f"{option} gives {words[0]} the program {shell}; a rule that names {option} would cover it"
    return ""


def started_by_options(words: Sequence[str]) -> Iterator[str]:
    """Yield what a command's options start, as far as the table knows them: each option with the word after it."""
    for index, word in enumerate(words[1:], 1):
        after = words[index + 1 : index + 2]
        if word.startswith("-") and _is_known(word, words[:index], _STARTING, after):
            value = word.partition("=")[2] or (word[2:] if not word.startswith("--") else "")
            yield from filter(None, (value, *after))


def _is_known(word: str, before: Sequence[str], tables: Mapping[str, str], after: Sequence[str]) -> bool:
    """Return True if a table has the option for the program, or for one that it starts.

    `before` are the words before it.
    """
    names = [os.path.basename(each) for each in before if not each.startswith("-")]
    chosen = [f"git {names[1]}"] if names[0] == "git" and len(names) > 1 else names
    switched_off = "".join((word[2:], *after)).startswith("no:")  # `pytest -p no:cacheprovider`
    return not switched_off and any(
        _matches(word, option) for name in chosen for option in tables.get(name, "").split()
    )


def _matches(word: str, option: str) -> bool:
    if option.endswith("*"):
        return word.startswith(option[:-1])
    if option.endswith("="):
        return word.removeprefix("-D").lower().startswith(option.lower())
    if len(option) == 2:
        return word.startswith(option)
    return word == option or word.startswith(f"{option}=")


def _leads_out(word: str, after: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if an option's value, joined, after `=` or as the next word, is a path outside the workspace."""
    value = word.partition("=")[2] or (word[2:] if not word.startswith("--") else "") or "".join(after)
    return any(judge_path(value, workspace, write=False, cwd=folder).verdict != "free" for folder in folders)


def _shell_given(word: str, after: Sequence[str], before: Sequence[str]) -> str:
    """Return the shell in an option's value, alone or with arguments.

    Return an empty text if there is none, or if the value is free text.
    """
    name, equals, value = word.partition("=")
    if takes_text(name, before):
        return ""
    texts = (value,) if equals else after
    found = (match for text in texts for match in _GIVEN_SHELL.findall(text) if match[1] in SHELLS)
    by_path = is_interpreter(before[0])  # its code may name a shell without starting it
    return next((f"{folder}{shell}" for folder, shell in found if folder or not by_path), "")
