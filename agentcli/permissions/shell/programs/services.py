"""Commands that only show the state of services, containers, terminals and databases, in the notation of `Shape`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Shape, fit

_LOGS = "-t -n:number --tail=word --since=text --until=text --timestamps --no-color --no-log-prefix --details"
_UNITS = "--user -al -n:number -t:word --no-pager --all --lines=number --plain --full --type=word --state=word --no-legend --quiet --failed --output=word"
_JOBS = (
    "-hlaNeRXPn -u:text -p:text -j:text -t:text -A:text -S:text -E:text -w:text -o:text -O:text --me --noheader --long --all --user=text "
    "--partition=text --jobs=text --job=text --states=text --state=text --format=text --Format=text --starttime=text --endtime=text --name=text "
    "--allocations --parsable --parsable2 --nodes=text --start --array --brief"
)
_READING: dict[str, tuple[Shape, ...]] = {
    "systemctl": (
        Shape(_UNITS, "=status|is-active|is-enabled|is-failed|list-units|list-timers|list-unit-files|list-sockets text*"),
    ),
    "journalctl": (
        Shape(
            "-xekqarl -u:text -n:word -o:word -p:word -S:text -U:text -b -t:text -g:text --unit=text --lines=word --since=text --until=text "
            "--no-pager --output=word --priority=word --grep=text --catalog --reverse --quiet --all --boot --utc --no-hostname --identifier=text --disk-usage --list-boots",
        ),
    ),
    "service": (Shape("", "word =status"),),
    "nginx": (Shape("-tTvV", needs="-t -T -v -V"),),
    "redis-cli": (Shape("", "=ping"),),
    # Jobs and nodes of Slurm; `sacct -B` would show scripts of jobs.
    **dict.fromkeys(("squeue", "sinfo", "sacct", "sstat", "sprio"), (Shape(_JOBS),)),
    "pg_isready": (Shape("-q -h:text -p:number -U:text -d:text -t:number"),),
}  # fmt: skip
_DOCKER = (
    Shape("-aqnls -f:text --all --quiet --no-trunc --size --last=number --filter=text --format=text --latest", "=ps|images"),
    Shape(_LOGS, "=logs text"),
    Shape("--format=text -q -f:text --filter=text", "=volume|network|context =ls"),
    Shape("-aq --all --quiet --no-trunc --filter=text --format=text", "=image|container =ls|list"),
    Shape("-a --all --no-stream --no-trunc --format=text", "=stats text*"),
    Shape("-f:text --format=text", "=volume|network =inspect text*"),
    Shape("-v --format=text", "=version|info"),
    Shape("-v --verbose --format=text", "=system =df"),
    # Behind its container, `top` takes options of `ps`, which shows environments.
    Shape("", "=top text"),
    Shape("", "=port text text?"),
)  # fmt: skip
_DOCKER_COMPOSE = (
    Shape("-aq --all --quiet --services --format=text --status=text --filter=text", "=ps|images|ls|top|version text*"),
    Shape(_LOGS, "=logs text*"),
    Shape("", "=config"),
)  # fmt: skip
_TMUX = (
    Shape("-aF:text -f:text -t:text", "=list-windows|list-sessions|list-panes|lsw|ls|lsp"),
    Shape("-aepJNPqCT -t:text -S:text -E:text", "=capture-pane|capturep"),
    Shape("-p -t:text -F:text", "=display-message|display text?"),
    Shape("-t:text", "=has-session|has"),
    Shape("-AgHpqsvw -t:text", "=show-options|show-option|show text?"),
    Shape("-1aN -T:text -P:text", "=list-keys|lsk text?"),
)


def reads_service(words: Sequence[str]) -> bool:
    """Return True if a command only shows the state of services, containers or a database."""
    name, *arguments = words
    match name:
        case "docker" | "podman" if arguments[:1] == ["compose"]:
            return _compose(arguments[1:])
        case "docker" | "podman":
            return _fits(_DOCKER, arguments)
        case "docker-compose":
            return _compose(arguments)
        case "psql":
            return _of_own_database(arguments) and _queries(arguments)
        case "pg_isready":
            return _of_own_database(arguments) and _fits(_READING[name], arguments)
        case "curl":
            return _asks_itself(arguments)
        case _:
            return name in _READING and _fits(_READING[name], arguments)


def reads_here(words: Sequence[str]) -> bool:
    """Return True if a command only shows containers, services or terminals of this machine."""
    name, *arguments = words
    if name == "tmux":
        prints = arguments[:1] not in (["capture-pane"], ["capturep"]) or any(map(_PRINTS.match, arguments))
        plain = all(_FORMAT.fullmatch(word) and not word.endswith(";") for word in arguments)
        return prints and plain and _fits(_TMUX, arguments)
    return (
        name in ("docker", "podman", "systemctl", "pg_isready")
        and arguments[:1] != ["compose"]
        and reads_service(words)
    )


_FORMAT = re.compile(r"(?:[^#]|#\{[a-z_]+\}|#\{\?[a-z_]+,[^#{},]*,[^#{},]*\}|#[A-Z])*")
"""A text of tmux that only shows values. `#(date)` runs a command, and so may what `#{E:…}` computes."""
_PRINTS = re.compile(r"-[aeJNPqCT]*p")
"""Options with which tmux prints a pane instead of copying it into a buffer."""


def _fits(shapes: Sequence[Shape], arguments: Sequence[str]) -> bool:
    return not isinstance(fit(shapes, list(arguments)), str)


def after_compose_options(arguments: Sequence[str]) -> list[str]:
    """Return the words after the options of `docker compose`; none if an option does more than choose a project."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option.partition("=")[0] not in ("-f", "--file", "-p", "--project-name", "--profile"):
            return []
        value = option.partition("=")[2] or (rest.pop(0) if rest else "")
        if option.startswith(("-f", "--file")) and not _COMPOSE_FILE.fullmatch(value):
            return []
    return rest


def _compose(arguments: Sequence[str]) -> bool:
    rest = after_compose_options(arguments)
    # Its whole text would show the values of variables.
    quiet = [
        word for word in rest[1:] if word not in ("-q", "--quiet", "--services", "--images", "--volumes", "--profiles")
    ]
    return _fits(
        _DOCKER_COMPOSE, ["config", *quiet] if rest[:1] == ["config"] and len(rest) > 1 else rest
    ) and rest != ["config"]


_COMPOSE_FILE = re.compile(r"(?!github\.com/)[\w./~-]+\.ya?ml")
"""A file of compose that it does not fetch."""
_OWN_HOST = re.compile(r"localhost|127\.0\.0\.1|::1|/(?:var/)?run/postgresql|/tmp")


def _of_own_database(arguments: Sequence[str]) -> bool:
    """Return True if a client of PostgreSQL connects to its own machine: others would learn its arguments."""
    own = True
    for before, word in pairwise(["", *arguments]):
        if before in ("-h", "--host"):
            own = own and bool(_OWN_HOST.fullmatch(word))
        elif word.startswith("--host=") or re.match(r"-h.", word):
            own = own and bool(_OWN_HOST.fullmatch(re.sub(r"^(?:--host=|-h)", "", word)))
        elif before not in ("-c", "--command", "-F", "-P") and not word.startswith("--command="):
            own = own and "://" not in word and not re.search(r"\w\s*=", word.removeprefix("--dbname").lstrip("="))
    return own


_SQL_WORDS = word_set("""
insert update delete drop alter create truncate grant revoke copy call do into set reset lock vacuum analyze reindex cluster refresh
import merge execute prepare listen notify comment security begin commit rollback checkpoint discard load declare fetch
""")
"""Words with which a statement of SQL may change something."""
_SQL_FUNCTIONS = word_set("""
count sum min max avg round abs floor ceil coalesce nullif greatest least lower upper length trim substring substr position replace
concat concat_ws left right split_part regexp_replace regexp_matches to_char to_timestamp to_date to_number now date_trunc date_part
extract age date time timestamp interval cast array_agg string_agg json_agg jsonb_agg json_build_object jsonb_build_object row_number
rank dense_rank lag lead first_value last_value percentile_cont percentile_disc stddev variance mode width_bucket random exists in any
all values unnest array_length cardinality generate_series jsonb_array_elements json_array_elements jsonb_object_keys
pg_size_pretty pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size pg_database_size pg_get_indexdef pg_get_viewdef
current_database current_user version over filter join lateral union intersect except distinct having between on and or not as by when then else case where from using numeric varchar char decimal
""")
"""Functions of SQL that only compute, and words that stand before a parenthesis."""
_PSQL = Shape(
    "-AtxXqe -d:word -U:word -h:word -p:number -c:text -F:text -P:text --dbname=word --username=word --host=word --port=number --command=text "
    "--tuples-only --no-align --expanded --csv --no-psqlrc --no-password -w --quiet",
    "word? word?",
)
_COMMENT = re.compile(r"--(?![^\n]*[\"'\\$])[^\n]*")
"""A comment of SQL without a quote: if it is part of a text, the text ends where it did."""
_SYSTEM_TABLE = re.compile(
    r"pg_(?:catalog|stat\w*|class|index(?:es)?|tables|views|matviews|databases?|namespace|attribute|constraint|locks|extension|type|sequences?|trigger|inherits)"
)
"""Tables of PostgreSQL itself without passwords."""
_DESCRIBES = re.compile(r"\\(?:d[a-zS]*\+?|l\+?|conninfo|dt\+?)(?:\s+[\w.*\"]+)?\s*;?")


def _queries(arguments: Sequence[str]) -> bool:
    """Return True if `psql` only asks a database."""
    fitting = fit((_PSQL,), list(arguments))
    if isinstance(fitting, str):
        return False
    asked = [after for before, after in pairwise(arguments) if before in ("-c", "--command")]
    given = [word for word in arguments if word.startswith(("-c", "--command"))]
    return bool(asked) and len(asked) == len(given) and all(map(sql_only_reads, asked))


def sql_only_reads(text: str) -> bool:
    """Return True if a text of SQL is one query without a function or word that may change something."""
    text = _COMMENT.sub("", text)
    if _DESCRIBES.fullmatch(text.strip()):
        return True
    if "\\" in text or "$$" in text or "--" in text or "/*" in text:
        return False
    plain = re.sub(r"'(?:[^']|'')*'", "''", re.sub(r"\"[^\"']*\"", "quoted", text)).strip().removesuffix(";").lower()
    plain = re.sub(r"^explain\s+(?:analyze\s+|\((?:[a-z]+[ ,]*)*\)\s*)?(?=select\b)", "", plain)
    if ";" in plain or "$" in plain or '"' in plain or not re.match(r"(?:select|show|with|table)\b", plain):
        return False
    own = re.findall(r"pg_\w+|\w*user_mapping\w*", text.lower())
    if not all(name in _SQL_FUNCTIONS or _SYSTEM_TABLE.fullmatch(name) for name in own):
        return False
    called = re.findall(r"([a-z_][\w.]*)\s*\(", plain)
    pure = all(name in _SQL_FUNCTIONS or re.fullmatch(r"st_[a-z]+", name) for name in called)
    return pure and _SQL_WORDS.isdisjoint(re.findall(r"[a-z_]+", plain))


_ITS_OWN = re.compile(r"https?://(?:localhost|127\.0\.0\.1)(?::\d{1,5})?(?:/[^\s]*)?")
_QUIETLY = re.compile(
    r"-[sSfIkvi]+|--(?:silent|show-error|fail|head|include|compressed|insecure)|-m\d*|--max-time|--connect-timeout|\d+"
)


def _asks_itself(arguments: Sequence[str]) -> bool:
    """Return True if `curl` sends a plain request to a server on its own machine."""
    rest, before = [], ""
    for word in arguments:
        skipped = (before in ("-o", "--output") and word == "/dev/null") or (
            before in ("-w", "--write-out") and "@" not in word and "%output" not in word
        )
        if not skipped and word not in ("-o", "--output", "-w", "--write-out"):
            rest.append(word)
        if before in ("-o", "--output") and word != "/dev/null":
            return False
        before = word
    named = [word for word in rest if _ITS_OWN.fullmatch(word)]
    return len(named) == 1 and all(_ITS_OWN.fullmatch(word) or _QUIETLY.fullmatch(word) for word in rest)
