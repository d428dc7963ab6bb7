"""Table of the commands that only read; any other asks."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import ANYTHING, Shape, fit

_GREP = """
-EFGIPivnclLqshHowxabzUyT -NUM -A:number -B:number -C:number -m:number --extended-regexp --fixed-strings --basic-regexp
--perl-regexp --ignore-case --no-ignore-case --invert-match --line-number --count --files-with-matches --files-without-match
--quiet --silent --no-messages --no-filename --with-filename --only-matching --word-regexp --line-regexp --after-context=number
--before-context=number --context=number --max-count=number --include=glob --exclude=text --exclude-dir=text --color[=word]
--colour[=word] --byte-offset --null --text --binary-files=word --initial-tab --line-buffered --null-data -rR --recursive
--dereference-recursive
"""
_GREP_GIVEN = " -e:text -f:path --regexp=text --file=path"
_GREP_SHAPES = (Shape(_GREP, "text path*"), Shape(_GREP + _GREP_GIVEN, "path*", needs="-e -f --regexp --file"))
_RG = """
-ivnclowxFPSsUHIaNpqhVb0 -NUM -A:number -B:number -C:number -m:number -g:glob -t:filetype -T:word -j:number -M:number -d:number
-r:text -E:word --ignore-case --invert-match --line-number --no-line-number --count --count-matches --files-with-matches
--files-without-match --only-matching --word-regexp --line-regexp --fixed-strings --pcre2 --smart-case --case-sensitive
--multiline --multiline-dotall --with-filename --no-filename --text --pretty --quiet --after-context=number
--before-context=number --context=number --max-count=number --glob=glob --iglob=glob --type=filetype --type-not=word --threads=number
--max-columns=number --max-columns-preview --max-depth=number --maxdepth=number --replace=text --encoding=word --color=word
--colors=text --heading --no-heading --column --no-column --json --stats --sort=word --sortr=word --trim --vimgrep --null
--no-config --no-messages --passthru --line-buffered --no-follow --byte-offset --context-separator=text --max-filesize=size --crlf
--mmap --no-mmap --one-file-system --no-ignore-messages --debug -u. --hidden --no-ignore --no-ignore-vcs --unrestricted
"""
_CUT = """
-sznb -b:text -c:text -d:text -f:text --bytes=text --characters=text --delimiter=text --fields=text --only-delimited --complement
--output-delimiter=text
"""
_LS = """
-aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1 -w:number -I:text -T:number --all --almost-all --author --escape --block-size=size
--ignore-backups --color[=word] --directory --classify[=word] --file-type --full-time --group-directories-first --no-group
--human-readable --si --inode --ignore=text --hide=text --literal --numeric-uid-gid --indicator-style=word --quote-name
--quoting-style=word --reverse --recursive --size --sort=word --time=word --time-style=text --width=number --format=word
"""
_DU = """
-abchkmsSx0 -d:number -t:size -B:size --all --apparent-size --bytes --total --human-readable --max-depth=number --summarize
--si --separate-dirs --exclude=text --time
"""
_TREE = """
-adfxinFNQpsugDhrtUvCXJSA -L:number -P:text -I:text --dirsfirst --noreport --prune --gitignore --filelimit=number --charset=word
--du --si --matchdirs --ignore-case --filesfirst
"""
_REALPATH = """
-emLPqsz --canonicalize-existing --canonicalize-missing --relative-to=path --relative-base=path --strip --no-symlinks
"""
_FD = """
-HIgFisapu0 -e:text -t:=f|d|l|x|e|file|directory|symlink|executable|empty -d:number -E:text -j:number -S:text --hidden
--no-ignore --glob --fixed-strings --ignore-case --case-sensitive --absolute-path --full-path --extension=text
--type==f|d|l|x|e|file|directory|symlink|executable|empty --max-depth=number --min-depth=number --exclude=text --color=word
--print0 --max-results=number --size=text --changed-within=text --changed-before=text
"""
_SORT = """
-bdfgiMhnRrVcCmsuz -k:text -t:text --key=text --field-separator=text --numeric-sort --reverse --unique --ignore-case
--human-numeric-sort --version-sort --general-numeric-sort --check --stable --dictionary-order --month-sort --random-sort
--zero-terminated --sort=word --parallel=number
"""
_UNIQ = """
-cdDiuz -f:number -s:number -w:number --count --repeated --unique --ignore-case --skip-fields=number --skip-chars=number
--all-repeated[=word] --check-chars=number
"""
_JOIN = """
-i -1:number -2:number -j:number -t:text -a:number -v:number -e:text -o:text --header --nocheck-order
"""
_DIFF = """
-abBcdeEiNnpqrstTuwyZ -NUM -U:number -C:number -I:text -x:text -W:number -L:text --unified[=number] --context[=number] --brief
--recursive --new-file --report-identical-files --side-by-side --ignore-case --ignore-all-space --ignore-space-change
--ignore-blank-lines --ignore-trailing-space --ignore-tab-expansion --strip-trailing-cr --color[=word] --exclude=text
--suppress-common-lines --width=number --minimal --text --label=text --normal --show-c-function --expand-tabs
"""
_SED = """
-nErsuz --quiet --silent --regexp-extended --unbuffered --sandbox --posix --null-data --separate
"""
_SED_2 = """
-nErsuz -e:sed --expression=sed --quiet --silent --regexp-extended --unbuffered --sandbox --posix --null-data --separate
"""
_JQ = """
-rceSsnRMCaj --raw-output --compact-output --exit-status --sort-keys --slurp --null-input --raw-input --monochrome-output
--color-output --ascii-output --join-output --arg=pair --argjson=pair --tab --indent=number --stream --version
"""
_PS = """
-eAfFlj -p:text -u:word -C:text -o:psfields --forest --no-headers --sort=text --ppid=number --pid=number
"""
_SUM = "-bt --binary --text --tag --zero -z"
_VERSION = (Shape("--version", needs="--version"),)
_RUST = ("rust-toolchain", "rust-toolchain.toml")
_SHORT_VERSION = (Shape("--version -v", needs="--version -v"),)
_ONLY_THEIR_VERSION = word_set("""
bash zsh make gcc g++ cc c++ clang cmake ninja uv ruff mypy black curl ghc swift gem julia lua nim pre-commit redis-server mysql wget vim nvim sqlite3 psql gh ffmpeg pandoc shellcheck
""")

READERS: dict[str, tuple[Shape, ...]] = {
    # Files and folders
    "ls": (Shape(_LS, "entry*"),),
    "dir": (Shape(_LS, "entry*"),),
    "cat": (
        Shape("-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs", "path*"),
    ),
    "tac": (Shape("-br -s:text", "path*"),),
    "nl": (Shape("-p -b:text -n:word -w:number -s:text -v:number -i:number --body-numbering=text", "path*"),),
    "head": (Shape("-qvz -NUM -n:size -c:size --lines=size --bytes=size --quiet --verbose", "path*"),),
    "tail": (Shape("-qvz -NUM -n:size -c:size --lines=size --bytes=size --quiet --verbose", "path*"),),
    "wc": (Shape("-lwcmL --lines --words --bytes --chars --max-line-length", "path*"),),
    "file": (Shape("-bihLN0 -F:text --brief --mime --mime-type --mime-encoding --dereference --no-pad", "path*"),),
    "stat": (Shape("-Lft -c:text --format=text --printf=text --dereference --file-system --terse", "entry*"),),
    "du": (Shape(_DU, "entry*"),),
    "df": (Shape("-ahHiklPTx -t:word -B:size --all --human-readable --inodes --print-type --total --si", "path*"),),
    "tree": (Shape(_TREE, "entry*", manner="apart"),),
    "realpath": (Shape(_REALPATH, "entry entry*"),),
    "readlink": (Shape("-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing", "entry entry*"),),
    "basename": (Shape("-az -s:text --suffix=text --multiple", "text text*"),),
    "dirname": (Shape("-z", "text text*"),),
    "pwd": (Shape("-LP"),),
    # The binutils read arguments from the file in `@file`.
    "strings": (Shape("-af -n:number -t:word -NUM --all --bytes=number", "object*"),),
    "od": (Shape("-abcdfiloxv -A:word -t:word -N:size -j:size -w:number", "path*"),),
    "hexdump": (Shape("-bcCdovx -n:size -s:size", "path*"),),
    "xxd": (Shape("-abceEipuU -l:size -s:size -c:number -g:number", "path?", manner="single"),),
    "base64": (Shape("-w:number --wrap=number", "path?"), Shape("-di --decode", "path?")),
    "cksum": (Shape("", "path*"),),
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"), (Shape(_SUM, "path*"),)
    ),
    "md5": (Shape("-qr", "path*"),),
    "shasum": (Shape("-bt -a:number --algorithm=number", "path*"),),
    "tar": (
        Shape("-tvzjJ -f:archive --list --verbose --gzip --file=archive", needs="-t --list"),
        Shape("", "=tf|tvf|tzf|tvzf|tjf archive"),
    ),
    "unzip": (Shape("-lvZ1", "path", needs="-l -v -Z"),),
    # Searching and cutting text
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP_SHAPES),
    "rg": (
        Shape(_RG, "text path*"),
        Shape(_RG + _GREP_GIVEN + " --files", "path*", needs="-e -f --regexp --file --files"),
        Shape("-V --version --type-list", needs="-V --version --type-list"),
    ),
    "fd": (Shape(_FD, "text? path*"),),
    "sort": (Shape(_SORT, "path*"),),
    "uniq": (Shape(_UNIQ, "path?"),),
    "cut": (Shape(_CUT, "path*"),),
    "tr": (Shape("-cCdst --delete --squeeze-repeats --complement --truncate-set1", "text text?"),),
    "comm": (Shape("-123z --check-order --nocheck-order --total --output-delimiter=text", "path path"),),
    "join": (Shape(_JOIN, "path path"),),
    "paste": (Shape("-sz -d:text --serial --delimiters=text", "path*"),),
    "column": (
        Shape(
            "-tx -s:text -o:text -c:number -N:text -R:text --table --separator=text --output-separator=text", "path*"
        ),
    ),
    "fold": (Shape("-bs -w:number --width=number --spaces", "path*"),),
    "fmt": (Shape("-cstu -w:number -NUM --width=number", "path*"),),
    "expand": (Shape("-i -t:text --tabs=text", "path*"),),
    "unexpand": (Shape("-a -t:text --all --tabs=text", "path*"),),
    "rev": (Shape("", "path*"),),
    "diff": (Shape(_DIFF, "path path"),),
    "diffstat": (Shape("-lqs -p:number -w:number", "path*"),),
    "cmp": (Shape("-bls -n:size -i:text --print-bytes --quiet --silent --verbose --bytes=size", "path path number?"),),
    "sed": (Shape(_SED, "sed path*"), Shape(_SED_2, "path*", needs="-e --expression")),
    **dict.fromkeys(("awk", "gawk", "mawk"), (Shape("-F:text -v:assignment", "awk path*", manner="first"),)),
    "jq": (Shape(_JQ, "jq? path*"),),
    "yq": (Shape("-rPM", "yq path path*"), Shape("", "=e|eval yq path")),
    # Accepts only --version and --help: `find_reads` judges the rest.
    "find": (),
    # The shell and the machine
    "cd": (Shape("", "path"),),
    "echo": (Shape(ANYTHING),),
    "printf": (Shape("", "printf text*", manner="ended"), Shape("", "numbers plain*")),
    "set": (Shape("-eu -o:strictness", needs="-e -u -o"), Shape("", "=+e|+u|+eu")),
    ":": (Shape(ANYTHING),),
    "true": (Shape(ANYTHING),),
    "false": (Shape(ANYTHING),),
    "exit": (Shape("", "number?"),),
    "test": (
        Shape("-fdersxLhw", "entry"),
        Shape("-nz", "text"),
        Shape("", "text ==|==|!= text"),
        Shape("-fdersxLhw", "=! entry"),
    ),
    "umask": (Shape("-S"),),
    "ulimit": (Shape("-a", needs="-a"),),
    "seq": (Shape("-w -s:text -f:word", "number number? number?"),),
    "which": (Shape("-a", "text text*"),),
    "type": (Shape("-atpP", "text text*"),),
    "command": (Shape("-vV", "text", needs="-v -V"),),
    "whereis": (Shape("-bms", "text text*"),),
    "whoami": (Shape(),),
    "id": (Shape("-ugGnr", "word?"),),
    "groups": (Shape("", "word?"),),
    "hostname": (Shape("-sfiI"),),
    "uname": (Shape("-asnrvmpio --all"),),
    "arch": (Shape(),),
    "nproc": (Shape("--all"),),
    "expr": (Shape(ANYTHING),),
    "factor": (Shape("", "number*"),),
    "numfmt": (
        Shape(
            "-d:text --to=word --from=word --suffix=text --padding=number --field=text --header[=number] --format=text",
            "word*",
        ),
    ),
    "tsort": (Shape("", "path?"),),
    "pr": (Shape("-tmd -NUM -w:number -l:number -h:text", "path*"),),
    **dict.fromkeys(("who", "w", "users", "logname", "history", "lsmod", "lsusb", "lspci", "vmstat"), (Shape(),)),
    "last": (Shape("-n:number -NUM"),),
    "getconf": (Shape("-a", "word?"),),
    "ifconfig": (Shape("-a"),),
    "ip": (Shape("-46s", "=a|addr|address|r|route|l|link =show|list? word?"),),
    # Without -n it looks up addresses over the network; it looks up a host name even with -n.
    "lsof": (Shape("-nPt -i:sockets -p:number -s:socketstate", needs="-n"), Shape("-nPti", needs="-n")),
    "tput": (Shape("", "=cols|lines|colors"),),
    "zipinfo": (Shape("-1slvht", "path"),),
    "sum": (Shape("-rs", "path*"),),
    "sleep": (Shape("", "seconds"),),
    "clear": (Shape(),),
    "pidof": (Shape("-s", "name"),),
    "help": (Shape("-dms", "name*"),),
    "ss": (Shape("-tulnpas46"),),
    "netstat": (Shape("-tulnpar46", needs="-n"),),
    "lsblk": (Shape("-af"),),
    "lsb_release": (Shape("-acdirs"),),
    **dict.fromkeys(("sw_vers", "vm_stat"), (Shape(),)),
    "xcode-select": (Shape("-p", needs="-p"),),
    "uptime": (Shape("-ps"),),
    "free": (Shape("-bkmghtwl --human --mega --giga --total"),),
    "lscpu": (Shape(),),
    "tty": (Shape("-s"),),
    "locale": (Shape("-a"),),
    "date": (
        Shape(
            "-uR -d:text -r:entry -I --utc --date=text --iso-8601[=word] --rfc-3339=word --universal --rfc-email",
            "date?",
        ),
        Shape("-u -I:=date|hours|minutes|seconds|ns"),
    ),
    "cal": (Shape("-13jmsy", "number? number?"),),
    # With -x its options are read as BSD's, where e shows each process's environment.
    "ps": (Shape(_PS, "ps?"), Shape("-axwo:psfields --no-headers --sort=text")),
    "pgrep": (Shape("-aflnoxcvi -u:word -P:number", "text"),),
    "printenv": (Shape("", "variable variable*"),),
    # Versions and package lists
    **dict.fromkeys(("python", "python3"), (Shape("-V --version", needs="-V --version"),)),
    **dict.fromkeys(("php", "tsc", "deno", "bun", "perl", "ruby", "docker", "eslint", "prettier"), _SHORT_VERSION),
    **dict.fromkeys(_ONLY_THEIR_VERSION, _VERSION),
    **dict.fromkeys(
        ("cargo", "rustc"),
        (Shape("-V --version", needs="-V --version", unless=_RUST),),
    ),
    **dict.fromkeys(
        ("yarn", "pnpm"),
        (Shape("-v --version", needs="-v --version", unless=(".yarnrc.yml", ".yarnrc", "package.json")),),
    ),
    # With -n, or with --check, they only parse a script.
    "bash": (*_VERSION, Shape("-n", "path", needs="-n")),
    "fish": (*_VERSION, Shape("-n --no-execute", "path", needs="-n --no-execute")),
    "node": (*_SHORT_VERSION, Shape("-c --check", "path", needs="-c --check")),
    **dict.fromkeys(("sh", "dash"), (Shape("-n", "path", needs="-n"),)),
    "javac": (Shape("-version", needs="-v"), Shape("--version", needs="--version")),
    **dict.fromkeys(("ssh", "tmux"), (Shape("-V", needs="-V"),)),
    "npx": (Shape("--version -v", needs="--version -v", unless=(".npmrc",)),),
    "mvn": (Shape("--version -v", needs="--version -v", unless=(".mvn",)),),
    "dotnet": (Shape("--version", needs="--version", unless=("global.json",)),),
    "openssl": (Shape("", "=version"),),
    "helm": (Shape("--short", "=version"),),
    "java": (Shape("-version", needs="-v"), Shape("--version", needs="--version")),
    # Even these download and run a newer toolchain if go.mod requests one.
    "go": (Shape("", "=version", unless=("go.mod", "go.work")), Shape("", "=env word*", unless=("go.mod", "go.work"))),
    **dict.fromkeys(
        ("pip", "pip3"),
        (
            *_VERSION,
            Shape("-lv --format=word --local --user --verbose --not-required --exclude-editable", "=list|freeze"),
            Shape("-fv --files --verbose", "=show word word*"),
            Shape("", "=check"),
            Shape("", "=cache =dir|info"),
        ),
    ),
    "npm": (
        Shape("--version -v", needs="--version -v", unless=(".npmrc",)),
        Shape("-g --global", "=root|prefix", unless=(".npmrc",)),
        Shape(
            "-ag --depth=number --all --json --parseable --long --global --omit=word",
            "=ls|list word*",
            unless=(".npmrc",),
        ),
    ),
    # Without -w and -r it rewrites nothing.
    "gofmt": (Shape("-l -s -e", "path*", needs="-l"),),
    "dpkg": (Shape("-lLsS --list --listfiles --status", "text*", needs="-l -L -s -S --list --listfiles --status"),),
}

BRACKETS = {"[": "]", "[[": "]]"}
"""Names under which `test` takes a last word."""
PATHS = frozenset({"path", "entry", "rev", "range", "archive", "object"})
"""Kinds of values that name files."""
SEARCHING = word_set("grep egrep fgrep rg diff")
"""Programs that may open files of whole folders without listing them: `searches.py` decides which calls do, and what
they open.
"""

_FIND_FLAGS = word_set("""
-print -print0 -ls -prune -true -false -quit -daystart -noleaf -empty -readable -writable -executable -nouser
-nogroup -depth -mount -xdev -not -a -and -o -or ! ( ) ,
""")
_FIND_TESTS = word_set("""
-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime
-amin -ctime -cmin -newermt -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -printf -lname -ilname
-fstype -used
""")
_FIND_FILES = word_set("""
-newer -anewer -cnewer -samefile
""")


def find_reads(arguments: Sequence[str]) -> list[tuple[str, str]] | str:
    """Return the paths that a `find` without actions reads, or why it may do more."""
    found: list[tuple[str, str]] = []
    waiting = list(reversed(arguments))
    while waiting and (waiting[-1] in ("-H", "-P") or not waiting[-1].startswith(("-", "(", "!", ","))):
        word = waiting.pop()
        if not word.startswith("-"):
            found.append(("path", word))
    while waiting:
        word = waiting.pop()
        if word in _FIND_FLAGS:
            continue
        if word not in _FIND_TESTS | _FIND_FILES:
            return f"find {word} is not known to only read"
        if not waiting:
            return f"find {word} has no value"
        found.append(("path" if word in _FIND_FILES else "text", waiting.pop()))
    return found


def shows_no_content(words: Sequence[str]) -> bool:
    """Return True if a command is known to show only names, sizes and times of its files."""
    name, *arguments = words
    if name in BRACKETS:
        name, arguments = "test", arguments[:-1]
    if name == "find":
        return not isinstance(find_reads(arguments), str)
    fitting = fit(READERS[name], arguments) if READERS.get(name) else ""
    kinds = {kind for kind, _ in fitting[1]} if not isinstance(fitting, str) else set()
    return "entry" in kinds and kinds.isdisjoint(PATHS - {"entry"})


def fits_reading(name: str, values: Sequence[str]) -> bool:
    """Return True if a program only reads with these arguments, in any folder."""
    if name == "find":
        return not isinstance(find_reads(values[1:]), str)
    return name in READERS and not isinstance(fit(READERS[name], values[1:]), str)
