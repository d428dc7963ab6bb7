"""Coverage of command rules with wildcards.

A rule `make *` was proposed for `make test`. It covers other targets, and options known to be harmless. They start no
program and access nothing beyond what an operand could name. An option that takes a program, a path or a configuration
asks again, unless the rule itself contains it. An unknown word is not covered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.shell.effects.harmless_values import names_nothing
from agentcli.permissions.shell.effects.network_use import local_server, server_of
from agentcli.permissions.shell.programs.administration import BY_NUMBER, numbers_ended
from agentcli.permissions.shell.programs.forge import told_by
from agentcli.permissions.shell.programs.known_programs import STARTERS, is_interpreter, is_unknown, word_set
from agentcli.permissions.shell.programs.readers import READERS

# Notation: `-x` and `--name` take no value. `-x:kind` takes one, joined, after `=` or as the next word. `-x:?kind`
# takes one joined or after `=`, or as the next word if that is a number. `--name-*` are all options with that prefix.
# Kinds are keys of `_KINDS`, or define how a path is judged. Options that take a program, a configuration or a file to
# write are missing here: they ask.

_GIT_MERGING = "--continue --abort --skip --quit --no-edit --edit -e -n --no-commit --signoff -s:strategy --strategy:strategy -X:word"
_JS_PACKAGES = """
-s --silent --if-present -ws --workspaces -w:word --workspace:word -D -P -O -E --save --save-dev --save-exact --save-optional --no-*
--ignore-scripts --force -f --legacy-peer-deps --production --omit:word --include:word --loglevel:word --verbose --frozen-lockfile
--immutable --parallel -r --recursive --prefer-offline --offline --filter:word --dry-run --json --dev --exact --stream
"""
_JS_TESTS = """
--watch --watchAll --coverage --ci --bail --verbose --silent --runInBand -i -t:text --testNamePattern:text --testPathPattern:text --grep:text
-g:text --passWithNoTests --onlyChanged -o --findRelatedTests --detectOpenHandles --forceExit --maxWorkers:word --updateSnapshot -u --run
--no-* --reporter:reporter --timeout:number --testTimeout:number --shard:share --retry:number --headless --workers:number --project:word
--silent --colors --listTests --exit --fix --quiet --allowOnly -x --headed --ui
"""
_TABLES = {
    "pytest": """
-q -v -s -x -l -h --version --lf --ff --nf --sw --last-failed --failed-first --new-first --stepwise --stepwise-skip --exitfirst --verbose
--quiet --no-* --collect-only --co --strict --strict-markers --strict-config --showlocals --full-trace --cov-branch --cache-show
-k:text -m:text -n:word -r:word --maxfail:number --tb:word --durations:number --durations-min:number --cov:?path --cov-report:word
--cov-fail-under:number --color:word --timeout:number --capture:word --show-capture:word --randomly-seed:word -p:off --dist:word
--reruns:number --deselect:path --ignore:path --verbosity:number --count:number --fixtures --markers
""",
    "npm": _JS_PACKAGES,
    "pnpm": _JS_PACKAGES,
    "yarn": _JS_PACKAGES,
    "bun": _JS_PACKAGES,
    "jest": _JS_TESTS,
    "vitest": _JS_TESTS,
    "mocha": _JS_TESTS,
    "playwright": _JS_TESTS,
    "eslint": "--fix --fix-dry-run --quiet --cache --max-warnings:number --ext:text -f:reporter --format:reporter --color --no-* --debug",
    "prettier": "--write -w --check -c -l --list-different --no-* --log-level:word --loglevel:word --cache --tab-width:number "
    "--print-width:number --single-quote --trailing-comma:word --ignore-unknown -u --parser:word",
    "stylelint": "--fix --quiet --cache --max-warnings:number --color --no-*",
    "tsc": "--noEmit --watch -w --build -b --incremental --strict --pretty --listFiles --skipLibCheck --target:word --module:word --jsx:word "
    "--lib:word --declaration -d --emitDeclarationOnly --sourceMap --noEmitOnError --noUnused* --no-* --traceResolution --esModuleInterop",
    "vite": "--mode:word --minify:word --sourcemap --watch -w --host --port:number --force",
    "webpack": "--mode:word --watch -w --progress --color --no-*",
    "cargo": """
--release -r --workspace --all --all-features --all-targets --lib --bins --tests --doc --examples --benches --locked --offline --frozen -q -v
--quiet --verbose -p:word --package:word --exclude:word --features:word -F:word --test:word --bin:word --example:word --bench:word -j:number
--jobs:number --no-* --keep-going --profile:word --color:word --message-format:word --fix --allow-dirty --allow-staged --check --target:word
--nocapture --test-threads:number --ignored --include-ignored --exact --show-output --skip:text --list -D:word -W:word -A:word --open
--invert:word -i:word -d:number --depth:number -e:word --edges:word --retries:number
""",
    "go": """
-v -race -short -cover -json -x -n -a -failfast -fullpath -benchmem -trimpath -m -u -deps -test -e -count:number -timeout:word -run:text
-bench:text -skip:text -parallel:number -cpu:word -p:number -tags:word -covermode:word -coverpkg:word -mod:mod -shuffle:word -buildvcs:word
-f:text -list:text -benchtime:word -fuzztime:word -fuzz:text -o:path -all -src -cmd
""",
    "gofmt": "-l -w -d -s -e",
    "make": "-j:?number --jobs:?number -k -B -n -s -i -q -w -r -R --keep-going --silent --quiet --dry-run --just-print --always-make "
    "--no-* -l:number --output-sync:?word -O:?word --trace --print-directory --warn-undefined-variables",
    "ninja": "-j:number -k:number -l:number -v -n --verbose --quiet",
    "cmake": "-j:?number --parallel:?number --target:word -t:word --config:word --clean-first -v --verbose -B:path -S:path --fresh -L -LA "
    "-Wno-dev -Wdev --log-level:word",
    "ctest": "-j:?number --parallel:?number -V -VV --verbose --output-on-failure -R:text -E:text -L:text -LE:text --rerun-failed -N --timeout:number "
    "-C:word --stop-on-failure --repeat:word --progress -I:word",
    "mypy": """
--strict --strict-* --pretty --no-* --show-* --hide-* --ignore-missing-imports --follow-imports:word -p:word -m:word --package:word
--module:word --explicit-package-bases --namespace-packages --check-* --warn-* --disallow-* --allow-* --python-version:word --platform:word
--disable-error-code:word --enable-error-code:word -v --verbose --exclude:text --implicit-optional --extra-checks --non-interactive
""",
    "ruff": """
--fix --fix-only --unsafe-fixes --diff --select:word --ignore:word --extend-select:word --extend-ignore:word --check -q --quiet -s --silent
--statistics --show-fixes --show-files --output-format:word --line-length:number --target-version:word --watch -w --preview --exit-zero
--no-* -n -v --verbose --add-noqa --exit-non-zero-on-fix -e --isolated --range:word
""",
    "black": "--check --diff --color -q -v --quiet --verbose -l:number --line-length:number -t:word --target-version:word --fast --safe "
    "--preview -S -C --no-* --skip-*",
    "isort": "--check --check-only -c --diff --profile:word -q --quiet -v --only-modified --atomic",
    "flake8": "--max-line-length:number --ignore:word --select:word --extend-ignore:word --extend-select:word --count --statistics --exclude:text "
    "--show-source --max-complexity:number -v -q -j:number --exit-zero --isolated --benchmark",
    "pyright": "--outputjson --stats --warnings --verbose --watch -w --skipunannotated --level:word",
    "gcc": "-c -g -g3 -ggdb -S -E -O -O0 -O1 -O2 -O3 -Os -Og -Ofast -Wall -Wextra -Wpedantic -Werror -Wno-* -W -w -pedantic -ansi -std:word "
    "-Wshadow -Wconversion -fPIC -fpic -fPIE -fno-* -fsanitize:word -fopenmp -m64 -m32 -march:word -mtune:word -D:text -U:word -I:path "
    "-L:path -l:word -pthread -shared -static -pipe -v -M -MM -MD -MMD -MP -s -x:word -funroll-loops -flto",
    "tox": "-e:word -p:?word --parallel:?word -q -v -r --recreate -l --listenvs -a --listenvs-all --skip-* --notest --no-* -f:word --result-json:path",
    "nox": "-s:word -e:word --session:word --sessions:word -r -R -l --list -k:text -t:word --tags:word -p:word -P:word --python:word --no-* "
    "--reuse-existing-virtualenvs --stop-on-first-error -x -v --error-on-missing-interpreters",
    "coverage": "-m --show-missing --skip-covered --skip-empty --branch -a --append --fail-under:number --precision:number -i --ignore-errors -q",
    "gradle": "-q -i -d -s -w -S -m -a --info --debug --stacktrace --full-stacktrace --quiet --offline --parallel --continue --daemon --no-* "
    "--rerun-tasks --refresh-dependencies --build-cache --warning-mode:word --console:word -x:word --exclude-task:word --tests:text --scan "
    "--dry-run --all --configuration:word --configuration-cache --max-workers:number",
    "mvn": "-q -B -o -e -X -U -T:word -am -amd -fae -ff -fn -ntp -N -V --quiet --batch-mode --offline --no-* -pl:word -rf:word --projects:word "
    "-DskipTests -Dtest:text -DskipITs -Dmaven.test.skip:word --also-make --errors --update-snapshots --fail-at-end",
    "dotnet": "--no-* -c:word --configuration:word -f:word --framework:word -v:word --verbosity:word --filter:text --nologo -q --collect:text "
    "--list-tests -t --blame -r:word --runtime:word --self-contained",
    "rspec": "-f:reporter --format:reporter -e:text --example:text --tag:text -t:text --fail-fast --seed:number --order:word --color --colour --no-* "
    "--only-failures -n --next-failure -b --backtrace -p --profile --dry-run -w --warnings --bisect",
    "rake": "-T:?word -P -n -s -q -v -t --trace --dry-run --silent --quiet -j:number -m --tasks -A --all -D",
    "phpunit": "--filter:text --group:word --exclude-group:word --testsuite:word --testdox --stop-on-* --colors:?word --debug -v --verbose --no-* "
    "--list-tests --order-by:word --fail-on-* --display-*",
    "mix": "--trace --only:text --exclude:text --include:text --seed:number --max-failures:number --stale --failed --cover --color --no-* "
    "--slowest:number --force --warnings-as-errors --check-formatted --dry-run",
    "swift": "-c:word --configuration:word --filter:text --skip:text --parallel -v -q --verbose --quiet --skip-build --enable-code-coverage",
    "golangci-lint": "--fix -v --verbose --fast --timeout:word -E:word -D:word --enable:word --disable:word --enable-all --new -n --no-*",
    "shellcheck": "-x -a -s:word -e:word -i:word -S:word -f:word -W:number --shell:word --exclude:word --severity:word --format:word --color:?word",
    "pre-commit": "-a --all-files --files -v --verbose --show-diff-on-failure --from-ref:word --to-ref:word -s:word -o:word --color:word",
    "docker": "-d --detach --build --no-* --force-recreate --remove-orphans --wait --follow --tail:number --timeout:number --quiet -q "
    "--timestamps -t:tag --tag:tag --pull --target:word --progress:word --platform:word --load -a --all --rmi:word --abort-on-container-exit",
    "kubectl": "-n:word --namespace:word -o:word --output:word -A --all-namespaces -w --watch --show-labels --no-* --sort-by:text -l:text "
    "--selector:text --field-selector:text --tail:number -f --follow --previous -p --since:word --timestamps -c:word --container:word",
    "terraform": "-no-color -refresh:word -input:word -target:text -lock:word -compact-warnings -destroy -json -detailed-exitcode "
    "-parallelism:number -recursive -check -diff -upgrade",
    "pip": "-U --upgrade -q -v --quiet --verbose --no-* --pre --user --force-reinstall --dry-run --disable-pip-version-check -I "
    "--break-system-packages --ignore-installed --upgrade-strategy:word --outdated --format:word",
    "rsync": "-a -v -r -z -n -h -P -t -l -p -u -c -i -q -x -H -g -o -D -W --archive --verbose --recursive --progress --stats --exclude:text "
    "--include:text --dry-run --checksum --update --human-readable --itemize-changes --compress --delete --no-* --info:word",
    "curl": "-s -S -L -f -I -i -v -k -g -G -4 -6 --silent --show-error --location --fail --head --include --verbose --compressed --insecure -X:word "
    "--request:word -m:number --max-time:number --connect-timeout:number --retry:number -H:inert --header:inert -d:inert --data:inert "
    "--data-raw:text --json:inert -w:format --write-out:format -A:text --http1.1 --http2 -N --no-* -o:null --output:null",
    "gh": "-R:word --repo:word --json:word -q:text --jq:text -t:text --template:text -L:number --limit:number -s:word --state:word -a:word "
    "--author:text --assignee:text -l:text --label:text -S:text --search:text -c --comments --log --log-failed -j:number --job:number -b:word "
    "--branch:word --workflow:word --required --watch -i:number --interval:number --fail-fast --name-only --patch --color:word --paginate --slurp "
    "--cache:word --include --exit-status -B:word --base:word --head:word --merged --closed --no-* -v --attempt:number --milestone:word",
    "git add": "-A -u -p -n -v -f -N -i --all --update --patch --dry-run --force --verbose --intent-to-add --renormalize --no-all --chmod:word",
    "git commit": "-m:text -F:stdin --file:stdin -a -q -v -s -n -p -i -o -e --message:text --amend --no-* --all --quiet --verbose --signoff --allow-empty "
    "--allow-empty-message --author:text --date:text --trailer:text --fixup:word --squash:word -C:word -c:word --reuse-message:word "
    "--dry-run --patch --cleanup:word --edit --only --include --reset-author",
    "git merge": f"--no-* --ff-only --ff --squash --commit -m:text -q -v --quiet --verbose --stat --allow-unrelated-histories --autostash {_GIT_MERGING}",
    "git cherry-pick": f"-x -m:number --mainline:number --allow-empty --keep-redundant-commits --ff {_GIT_MERGING}",
    "git revert": f"-m:number --mainline:number {_GIT_MERGING}",
    "git push": "-u -f -n -q -v -d --set-upstream --force --force-with-lease:?word --force-if-includes --tags --all --dry-run --delete "
    "--follow-tags --no-* --quiet --verbose --prune --atomic --porcelain",
    "git pull": f"-r:?word --rebase:?word --ff-only --ff --no-* --all --prune -p --tags -t --depth:number -q -v --quiet --verbose -f --autostash {_GIT_MERGING}",
    "git fetch": "-a --all --prune -p --tags -t --depth:number --unshallow --no-* -q -v --quiet --verbose -f --force --dry-run -j:number -P",
    "git rebase": f"-i --interactive --onto:word --autosquash --autostash -q --root --keep-base --rebase-merges --no-* --update-refs {_GIT_MERGING}",
    "git checkout": "-b:word -B:word --detach --track -t -f --force --ours --theirs -p --patch -q --quiet --orphan:word -m --no-*",
    "git switch": "-c:word -C:word --create:word --detach -d --track -t -f --force --discard-changes -q --orphan:word --no-*",
    "git restore": "-S --staged -W --worktree -s:word --source:word -p --patch -q --ours --theirs",
    "git stash": "-u -k -m:text --message:text --include-untracked --keep-index -p -q --all -a --index -S --staged --no-*",
    "git branch": "-a -r -d -D -m -M -c -v -f -q --list --all --delete --move --force --show-current -u:word --set-upstream-to:word --merged "
    "--contains --sort:word --no-* --track",
    "git tag": "-a -d -f -l -n -m:text --message:text --annotate --delete --force --list --sort:word --no-*",
    "git reset": "--soft --mixed --hard --keep --merge -q --quiet -p --patch --no-*",
    "git rm": "-r -f -n -q --cached --force --dry-run --ignore-unmatch --quiet",
    "git mv": "-f -k -n -v --force --dry-run --verbose",
    "git clean": "-f -d -x -X -n -q -i --force --dry-run -e:text --exclude:text",
}  # fmt: skip
_SAME = {
    **dict.fromkeys(("g++", "cc", "c++", "clang", "clang++"), "gcc"),
    **dict.fromkeys(("gradlew",), "gradle"),
    **dict.fromkeys(("mvnw",), "mvn"),
    **dict.fromkeys(("pip3",), "pip"),
    **dict.fromkeys(("podman",), "docker"),
}
_EVERYWHERE = "-v -q --verbose --quiet --help --version --dry-run --debug --force --yes -y --all --no-*"
"""Options that mean the same in every program that has them."""
AFTER_MARK = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "jest"),
    **dict.fromkeys(("tox", "nox"), "pytest"),
    **dict.fromkeys(("cmake",), "make"),
}
"""Programs that pass the options after `--` to another program."""
RUNNERS = word_set("npx bunx pnpx uv poetry pipenv hatch pdm rye bundle python python3 pnpm yarn npm bun")
"""Programs that may run another program named after their own name."""


def table_name(program: str, subcommand: str) -> str:
    """Return the table's name for a program, or a subcommand of git; empty if its options are unknown."""
    own = _SAME.get(program, program)
    name = f"git {subcommand}" if own == "git" else own
    return name if name in _TABLES else ""


@lru_cache(maxsize=128)
def harmless_options(table: str) -> Mapping[str, str]:
    """Return the harmless options of a table with the kinds of their values, empty for an option without a value."""
    words = f"{_EVERYWHERE} {_TABLES.get(table, '')}".split()
    return {name: kind for name, _, kind in (word.partition(":") for word in words)}


_SWITCH = r"\d+(?:\.\d+)?%?|true|false|yes|no|on|off|auto|always|never|all|none"
_KINDS = {
    "number": re.compile(r"[+-]?\d+(?:\.\d+)?%?"),
    "word": re.compile(r"(?!\.)[\w.,:+%@^~-]+(?:/(?!\.)[\w.,:+%@-]+)*|\.{3}|\./\.{3}"),
    "off": re.compile(r"no:[\w-]+"),
    "share": re.compile(r"\d+/\d+"),
    "mod": re.compile(r"mod|readonly|vendor"),
    "strategy": re.compile(r"ours|ort|recursive|resolve|octopus|subtree"),
    "reporter": re.compile(r"[a-z]+(?:-[a-z]+)?"),
    "tag": re.compile(r"[a-z0-9][\w.-]*(?:/[\w.-]+)*(?::[\w.-]+)?"),
    "text": re.compile(r".*", re.DOTALL),
    "inert": re.compile(r"(?!@).*", re.DOTALL),
    "format": re.compile(r"(?!@)(?:(?!%output\{).)*", re.DOTALL),
    "null": re.compile(r"/dev/null"),
    "stdin": re.compile(r"-"),
}
_SWITCHED = re.compile(_SWITCH, re.IGNORECASE)
_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9-]*|-[A-Za-z]")
_ASSIGNMENT = re.compile(r"[\w.:\[\]-]+[:+?!]?=(?!=)", re.DOTALL)
_STARTING = word_set("exec dlx shell eval foreach env runner console x repl")
"""Subcommands that start the program named after them."""
_SCOPED = re.compile(r"@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*(?:@[\w.^~-]+)?")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*)://|[\w.-]+@[\w.-]+:", re.IGNORECASE)
ASKING_THE_WEB = word_set("curl wget http https xh")
_HELPER = re.compile(r"[a-z0-9+.-]+::", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of the judged words: their base folders, and the workspace."""

    folders: Sequence[Path]
    workspace: Workspace
    open: bool = False
    """True if the program is unknown: its options may then have any value that names nothing."""
    server: str = ""
    """The local server in the rule: the command may query no other."""

    def inert(self, option: str, value: str | None) -> bool:
        """Return True if an option of the program may have this value."""
        if not self.open or value is None or option.startswith(STARTERS):
            return False
        return value not in _STARTING and names_nothing(value, self.folders, self.workspace)


def why_uncovered(pattern: str, words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why a rule does not cover a command that its pattern matches; empty if it does.

    `folders` are the folders in which the command may run.
    """
    if _covers_all(pattern, words[0]):
        return ""
    if pattern == BY_NUMBER and not numbers_ended(words):
        return "the rule covers only processes named by number"
    if (told := told_by(pattern, words)) is not None:
        return "" if told else "the rule does not cover its other words"
    server = local_server(pattern.split()) if words[0] in ASKING_THE_WEB else ""
    place = _Place(folders, workspace, open=is_unlisted(words[0]), server=server)
    given = given_words(pattern)
    fixed = named_words(pattern, words)
    table, marked, index = _table(words[:fixed]), "--" in words[:fixed], fixed
    operands = [word for word in words[1:fixed] if not word.startswith("-")]
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            program = os.path.basename(words[0])
            table, marked = table_name(AFTER_MARK.get(program, ""), "") or table, True
        elif word in given:
            continue
        elif word.startswith("-") and word != "-":
            after = words[index] if index < len(words) else None
            taken = _option(word, after, harmless_options(table), bool(table), place)
            if isinstance(taken, str):
                return taken
            index += taken
        else:
            if why := _operand(word, words, operands, place):
                return why
            operands.append(word)
            table = table if marked else (_table(words[:index]) or table)
    return ""


def is_unlisted(program: str) -> bool:
    """Return True if no table has a program.

    The tables list programs that start, change or fetch something, and programs that read.
    """
    return is_unknown(program) and program not in READERS


def _covers_all(pattern: str, program: str) -> bool:
    """Return True if a rule covers everything that its pattern matches.

    It contains every word, or a person allowed all scripts with it. No rule for all scripts is ever offered.
    """
    return "*" not in pattern.replace("\\*", "") or (
        is_interpreter(program) and pattern in (f"{program} *", f"{program}:*")
    )


def given_words(pattern: str) -> frozenset[str]:
    """Return the words that a pattern contains completely."""
    return frozenset(word.replace("\\*", "*") for word in pattern.split() if "*" not in word.replace("\\*", ""))


def named_words(pattern: str, words: Sequence[str]) -> int:
    """Return how many words of a command the pattern contains, completely or in part, before its first wildcard."""
    text = pattern[:-2] + " *" if pattern.endswith(":*") else pattern
    before = re.split(r"(?<!\\)\*", text, maxsplit=1)[0].replace("\\*", "*").replace("\\\\", "\\")
    count = max(len(before.split()), 1)
    climbs = count <= len(words) and not before.endswith(" ") and ".." in words[count - 1].split("/")
    return count - 1 if climbs else count


def takes_text(option: str, words: Sequence[str]) -> bool:
    """Return True if an option, by the words before it, is known to take a text, a word or nothing."""
    return _kind(option, harmless_options(_table(words))) is not None


def _table(words: Sequence[str]) -> str:
    """Return the name of the option table for a command that begins with these words."""
    plain = [os.path.basename(word) for word in words if not word.startswith("-")]
    if not plain:
        return ""
    own = table_name(plain[0], plain[1] if len(plain) > 1 else "")
    if is_unlisted(plain[0]) and len(plain) > 1:
        return table_name(plain[1], plain[2] if len(plain) > 2 else "")  # it may start that program, with its options
    inner = (table_name(word, "") for word in reversed(plain[1:])) if plain[0] in RUNNERS else iter(())
    return next(filter(None, inner), "") or own


def _option(word: str, after: str | None, known: Mapping[str, str], complete: bool, place: _Place) -> int | str:
    """Return how many of the words after an option are its value, or why the option is not covered.

    `complete` is true if the program's options are known.
    """
    name, equals, value = word.partition("=")
    kind = _kind(name, known)
    if kind is not None:
        return _known(name, kind, value if equals else None, after, place)
    if equals:
        inert = _SWITCHED.fullmatch(value) or place.inert(name, value)
        return 0 if inert else f"the rule does not cover {name}, which may name a program or a file"
    if not word.startswith("--") and (bundle := _bundle(word, after, known, place)) is not None:
        return bundle
    alone = after is None or after.startswith("-")
    if _FLAG.fullmatch(word) and alone and (not complete or word.startswith("--")):
        return 0
    if _FLAG.fullmatch(word) and after is not None and _KINDS["number"].fullmatch(after) and word.startswith("--"):
        return 1
    if _FLAG.fullmatch(word) and place.inert(word, after):
        return 1
    return f"the rule does not cover {word}, which may name a program or a file"


def _kind(name: str, known: Mapping[str, str]) -> str | None:
    if name in known:
        return known[name]
    wild = (entry for entry in known if entry.endswith("*") and name.startswith(entry[:-1]))
    found = next(wild, None)
    return None if found is None else known[found]


def _known(name: str, kind: str, value: str | None, after: str | None, place: _Place) -> int | str:
    problem = f"the rule does not cover {name} with this value"
    if not kind:
        return 0 if value is None or _SWITCHED.fullmatch(value) else problem
    if kind.startswith("?"):
        if value is None:
            return int(after is not None and bool(_KINDS["number"].fullmatch(after)))
        return 0 if _fits(kind[1:], value, place) else problem
    if value is not None:
        return 0 if _fits(kind, value, place) else problem
    return 1 if after is not None and _fits(kind, after, place) else problem


def _bundle(word: str, after: str | None, known: Mapping[str, str], place: _Place) -> int | str | None:
    """Judge several letters after one dash like `_option`; the last may take a value.

    Return None if they are unknown.
    """
    for index, letter in enumerate(word[1:], 2):
        kind = known.get(f"-{letter}")
        if kind is None:
            return None
        if kind:
            return _known(f"-{letter}", kind, word[index:] or None, after, place)
    return 0


def _fits(kind: str, value: str, place: _Place) -> bool:
    if kind == "path":
        return not _leads_away(value, place)
    return bool(_KINDS[kind].fullmatch(value)) and (
        kind in ("text", "inert", "format", "null") or not _leads_away(value, place)
    )


def _operand(word: str, words: Sequence[str], before: Sequence[str], place: _Place) -> str:
    """Return why a plain word is not covered, or an empty string."""
    program = os.path.basename(words[0])
    if place.server:
        return "" if server_of(word) == place.server else f"the rule does not cover {word}"
    if not _STARTING.isdisjoint(re.split(r"[:]", word)):
        return f"{word} may start other programs"
    if _ASSIGNMENT.match(word) and not _SWITCHED.fullmatch(word.partition("=")[2]):
        return f"the rule does not cover {word.partition('=')[0]}=…"
    if word.startswith("@") and not (program in RUNNERS and _SCOPED.fullmatch(word)):
        return f"the rule does not cover {word}"
    if program == "git" and _HELPER.match(word):
        return f"{word.partition('::')[0]}:: starts a program"
    if _URL.search(word):
        web = program in ASKING_THE_WEB and word.startswith(("http://", "https://"))
        return "" if web else f"{word} is an address"
    return f"{word} is outside the workspace" if _leads_away(word, place) else ""


def leads_away(word: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a word in a rule may be a path that needs permission to read."""
    return not word.startswith("-") and _leads_away(word, _Place(folders, workspace))


def _leads_away(word: str, place: _Place) -> bool:
    """Return True if a word may be a path that needs permission to read."""
    path = word.partition("::")[0]
    climbing = path.startswith(("/", "~", "$HOME")) or ".." in path.split("/")
    if not climbing and not any(os.path.lexists(folder / path) for folder in place.folders):
        return False
    return any(judge_path(path, place.workspace, write=False, cwd=folder).verdict != "free" for folder in place.folders)
