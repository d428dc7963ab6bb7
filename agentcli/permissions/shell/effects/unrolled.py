"""Division of a line with loops, conditions, variables and `$(…)` into plain lines that together run all its commands.

A text that only the shell knows stays `UNKNOWN` in them, one that is surely a number is `NUMBER`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentcli.core.sanitise import replace_surrogates
from agentcli.permissions.shell.programs.forge import reads_forge_with
from agentcli.permissions.shell.programs.git_table import GIT_READERS
from agentcli.permissions.shell.programs.option_grammar import fit
from agentcli.permissions.shell.programs.readers import PATHS, READERS
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, parse_word, parser
from agentcli.permissions.shell.syntax.strict import NotPlain, odd_letter, read_plain
from agentcli.permissions.shell.syntax.written_out import CHANGING

if TYPE_CHECKING:
    from collections.abc import Collection

    from tree_sitter import Node

NUMBER = "\ufffd"
"""Text of digits, or a hash, in a plain line."""
_MAYBE = "\ufff9"
"""Such a text that may be empty."""
_MOST = 60
"""Maximum plain lines of a line."""
_ROUNDS = 12
"""Maximum values of a loop that are written out."""
_CONSTANT = re.compile(r"[\w./:@%+=][\w./:@%+,=-]*")
"""A value that is one word for the shell, and no option."""
_DIGITS = re.compile(r"\d+")
_OUTER = re.compile(r"(?:GIT|XDG|GH|GITHUB|AWS|KUBE|SSH|CLOUDSDK|DOCKER)_?\w*|LC_\w+|LANG\w*|TERM\w*|USER|LOGNAME|TZ|(?i:\w*(?:PAGER|EDITOR|VISUAL|ASKPASS|PROXY|LESS\w*|COLOR))|OPT\w*|REPLY|_")  # fmt: skip
"""Variables that programs read, or that the shell sets itself."""
_NO_SECRET = re.compile(r"PATH|HOME|USER|SHELL|PWD|TERM|HOSTNAME|CI|VIRTUAL_ENV")
"""Variables of the environment that contain no secret."""
_EXPANSION = re.compile(r"\$\{#?(?P<name>\w+)(?P<braced>)(?:(?::?-|%%?|##?|//?|:)[^${}`@]*)?\}")
"""Expansions that change the text of a variable, and nothing else."""
_PLAIN_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<name>\w+))")
_LISTED = re.compile(
    r"seq(?: -w)?(?: (?:\d+|\$\{?\w+\}?))+|date \+['\"]?%s['\"]?|git rev-parse(?: --short(?:=\d+)?)? [\w./@^~-]+|git branch --show-current|git merge-base [\w./@^~-]+ [\w./@^~-]+"
    r"|(?:timeout \d+ )?gh (?!api\b)[^|;&$`]*(?:-q|--jq)[ =]?['\"]?[^'\"|;&$`]*\.(?:\w*[dD]atabaseId|number|id|\w*[sS]ha|sha|oid|run_id|job_id)['\"]?(?: [-\w ./]*)?"
)
"""Commands that print numbers, hashes or the name of a branch."""
_NEVER_EMPTY = ("seq ", "date ")
_FIRST = re.compile(r" *(?:2>/dev/null|2>&1)? *\| *(?:head|tail) -(?:n ?)?\d+\Z| 2>/dev/null\Z")
_ENDS = re.compile(
    r"(?:break|continue)(?: \d)?|exit(?: \d+)?|set [-+][eux]+o?(?: pipefail)?|set -o pipefail|wait|:|true"
)
"""Commands of the shell that end a loop or the line, or set how it stops."""
_READS = re.compile(r"(?:IFS=\S* )?read(?: -r)?(?P<names>(?: [a-z_]\w*)+)")
_STREAMS = re.compile(r"(?:[12]?>|&>|2>>)[ \t]*/dev/null|2>&1|>&2|1>&2|<[ \t]*/dev/null")
_OPERAND = rf'(?:"[^"$`\\]*"|\'[^\']*\'|[\w./:-]+|{NUMBER})'
_TEST = re.compile(
    rf"\[ +(?:! +)?(?:{_OPERAND} +(?:=|==|!=|-eq|-ne|-lt|-le|-gt|-ge) +{_OPERAND}|-[zn] +{_OPERAND}|-[fdersx] +{_OPERAND}) +\]"
)
_DOUBLE_TEST = re.compile(rf"\[\[ +(?:! +)?(?:{_OPERAND} +(?:=|==|!=) +\*?{_OPERAND}\*?|-[znfde] +{_OPERAND}) +\]\]")
"""Tests in which no text is computed: `[[ x -eq y ]]` would run commands in a value."""


class _Unusual(Exception):
    """The line has something that can't be divided."""


def plain_lines(text: str, exported: Collection[str]) -> tuple[str, ...]:
    """Return the plain lines, with a sample for each unknown text that decides nothing; none if one may decide.

    `exported` are the variables that reach programs.
    """
    if odd_letter(text) or text != replace_surrogates(text) or "\\\n" in text:
        return ()
    root = parser().parse(text.encode("utf-8")).root_node
    if root.has_error or not {UNKNOWN, NUMBER, _MAYBE}.isdisjoint(text):
        return ()
    divider = _Divider(exported)
    try:
        divider.statements(root, {})
    except (_Unusual, RecursionError):
        return ()
    lines = dict.fromkeys(divider.lines)
    for line in lines:
        commands = read_plain(line)
        if isinstance(commands, NotPlain) or not all(map(takes_as_text, commands)):
            return ()
        if UNKNOWN in line and "gh" in line and any(name in exported for name in _OF_ANY_HOST):
            return ()
    return tuple(line.replace(UNKNOWN, _SAMPLE).replace(NUMBER, _SAMPLE) for line in lines)


_OF_ANY_HOST = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
"""Variables with a login that gh sends to any host but its usual one."""


def takes_as_text(command: Command) -> bool:
    """Return True if a command has unknown text only where its program expects a text, and reads no option."""
    name, *arguments = command.words
    marks = (UNKNOWN, NUMBER)
    if not any(mark in word for word in command.words for mark in marks):
        return True
    if command.globs or command.loop or any(mark in name for mark in marks):
        return False
    if name == "echo":
        return True
    counted = [word.replace(NUMBER, _SAMPLE) for word in arguments]
    if name == "gh":
        return reads_forge_with(counted, UNKNOWN)
    shapes = READERS.get(name, ())
    if name == "git":
        shapes, counted = GIT_READERS.get(counted[0], ()), counted[1:]
    # A text that begins with a hyphen would be an option.
    given = [f"--{word}" if word.startswith(UNKNOWN) and name != "printf" else word for word in counted]
    fitting = fit(shapes, given) if shapes else ""
    if isinstance(fitting, str):
        return False
    texts = {kind for kind, value in fitting[1] if UNKNOWN in value}
    numbers = {kind for kind, value in fitting[1] if _SAMPLE in value}
    return _TEXTS.issuperset(texts) and _FILES.isdisjoint(numbers)


_SAMPLE = "73194"
"""A number in the place of one that only the shell knows."""
_TEXTS = frozenset({"text", "plain"})
_FILES = PATHS - {"rev"}
"""Kinds of values that name files; a number may be the name of one."""


class _Divider:
    """Walker of a syntax tree that collects plain lines. `known` are the values of variables so far."""

    def __init__(self, exported: Collection[str]) -> None:
        self.lines: list[str] = []
        self._exported = exported
        self._folder = ""

    def statements(self, node: Node, known: dict[str, str]) -> None:
        """Follow the statements below a node."""
        if any(child.type == "&" for child in node.children):
            raise _Unusual
        for child in node.named_children:
            self.statement(child, known)

    def statement(self, node: Node, known: dict[str, str]) -> None:
        """Follow one statement."""
        if any(child.type == "&" for child in node.children):
            raise _Unusual
        match node.type:
            case "comment":
                pass
            case "do_group" | "compound_statement" | "else_clause" | "elif_clause" | "negated_command":
                self.statements(node, known)
            case "list" | "if_statement":
                self._maybe(node, known)
            case "while_statement":
                before = dict(known)
                self._maybe(node, known)
                # What a round sets is not known in the next one.
                if known != before:
                    self._maybe(node, known)
            case "subshell":
                folder = self._folder
                self.statements(node, dict(known))
                self._folder = folder
            case "variable_assignment":
                self._assign(node, known)
            case "for_statement":
                self._loop(node, known)
            case "test_command":
                self._test(self._raw_words(node, known))
            case "redirected_statement":
                self._redirected(node, known)
            case "pipeline" | "command":
                self._add(self._piped(node, known))
            case _:
                raise _Unusual

    def _maybe(self, node: Node, known: dict[str, str]) -> None:
        """Follow a statement of which parts may not run, or run again."""
        inner = dict(known)
        if node.type == "list" and any(child.type == "||" for child in node.children):
            left, *right = node.named_children
            self.statement(left, inner)
            for child in right:
                self._maybe_one(child, inner)
        else:
            self.statements(node, inner)
        _merge(known, inner)

    def _maybe_one(self, node: Node, known: dict[str, str]) -> None:
        inner = dict(known)
        self.statement(node, inner)
        _merge(known, inner)

    def _test(self, text: str) -> None:
        if not (_TEST.fullmatch(text.replace(UNKNOWN, "x")) or _DOUBLE_TEST.fullmatch(text.replace(UNKNOWN, "x"))):
            raise _Unusual
        if re.search(r" -[fdersx] ", text):
            self._add(text)

    def _add(self, line: str) -> None:
        if not line:
            return
        if _MAYBE in line:
            missing = re.sub(rf"(?<= ){_MAYBE}(?= |\Z)", "", line).replace(_MAYBE, "")
            self.lines.append(f"{self._folder}{missing}")
        line = line.replace(_MAYBE, NUMBER)
        self.lines.append(f"{self._folder}{line}")
        if len(self.lines) > _MOST:
            raise _Unusual
        if re.match(r"cd\s", line):
            if re.search(r"[;&|\n]", line) or UNKNOWN in line or NUMBER in line:
                raise _Unusual
            self._folder = f"{self._folder}{line}; "

    def _assign(self, node: Node, known: dict[str, str]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name" or any(child.type == "+=" for child in node.children):
            raise _Unusual
        known[self._own(_text(name))] = "" if value is None else self._value(value, known)

    def _own(self, name: str) -> str:
        """Return the name of a variable of the line itself. Raises _Unusual if a program or the shell reads it."""
        if name in self._exported or CHANGING.fullmatch(name) or _OUTER.fullmatch(name):
            raise _Unusual
        return name

    def _value(self, node: Node, known: Mapping[str, str]) -> str:
        """Return the value of an assigned word: the shell does not divide it."""
        piece = parse_word(node)
        if piece.known and not piece.loose and _CONSTANT.fullmatch(piece.text):
            return piece.text
        written = self._word(node, known, quoted=True)
        plain = written[1:-1] if node.type == "string" else written
        return plain if plain in (NUMBER, _MAYBE) or _CONSTANT.fullmatch(plain) else UNKNOWN

    def _substituted(self, node: Node, known: Mapping[str, str]) -> str:
        """Follow the commands in `$(…)`; return what is known of their output."""
        if not node.named_children or node.child_by_field_name("redirect") is not None:
            raise _Unusual
        folder = self._folder
        self.statements(node, dict(known))
        if self._folder != folder:
            raise _Unusual
        text = _text(node)
        inner = text[2:-1].strip() if text.startswith("$(") else ""
        while inner != (inner := _FIRST.sub("", inner)):
            pass
        if not _LISTED.fullmatch(inner):
            return UNKNOWN
        return NUMBER if inner.startswith(_NEVER_EMPTY) else _MAYBE

    def _loop(self, node: Node, known: dict[str, str]) -> None:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None or not {"for", "in"}.issubset(child.type for child in node.children):
            raise _Unusual
        own = self._own(_text(name))
        values: list[str] = []
        for value in node.children_by_field_name("value"):
            values.append(self._listed(value, known))
        sure = len(values) <= _ROUNDS and not {UNKNOWN, NUMBER, _MAYBE}.intersection(values)
        for word in dict.fromkeys(values) if sure else [NUMBER if all(map(_counts, values)) else UNKNOWN] * 2:
            inner = {**known, own: word}
            self.statement(body, inner)
            _merge(known, inner)

    def _listed(self, node: Node, known: Mapping[str, str]) -> str:
        """Return what is known of the words of a loop; the shell divides them."""
        if re.fullmatch(r"\{\d+\.\.\d+\}", _text(node)):
            return NUMBER
        return self._value(node, known)

    def _redirected(self, node: Node, known: dict[str, str]) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            raise _Unusual
        self._streams(node)
        if body.type in ("command", "pipeline"):
            self._add(self._piped(node, known))
        else:
            self.statement(body, known)

    def _streams(self, node: Node) -> str:
        redirects = [child for child in node.named_children if child.type.endswith("redirect")]
        if not all(_STREAMS.fullmatch(_text(child)) for child in redirects):
            raise _Unusual
        return "".join(f" {_text(child)}" for child in redirects)

    def _piped(self, node: Node, known: dict[str, str]) -> str:
        """Return the text of a command or a pipeline; follow a loop at its end."""
        match node.type:
            case "command":
                return self._command(node, known)
            case "negated_command":
                return self._piped(node.named_children[0], known)
            case "redirected_statement":
                body = node.child_by_field_name("body")
                if body is None or body.type not in ("command", "pipeline", "negated_command"):
                    raise _Unusual
                return f"{self._piped(body, known)}{self._streams(node)}"
            case "pipeline":
                joints = {child.type for child in node.children if not child.is_named}
                *first, last = node.named_children
                if joints != {"|"}:
                    raise _Unusual
                texts = [self._piped(child, known) for child in first]
                if last.type in ("while_statement", "for_statement", "subshell", "compound_statement"):
                    self.statement(last, dict(known))
                else:
                    texts.append(self._piped(last, known))
                if any(re.match(r"cd\s", text) for text in texts) or not all(texts):
                    raise _Unusual
                return " | ".join(texts)
            case _:
                raise _Unusual

    def _command(self, node: Node, known: dict[str, str]) -> str:
        raw = _text(node)
        if _ENDS.fullmatch(raw):
            return ""
        if found := _READS.fullmatch(raw):
            known.update((self._own(name), UNKNOWN) for name in found["names"].split())
            return ""
        if any(child.type not in _WORDS for child in node.children):
            raise _Unusual
        if raw.startswith("test ") and "$" in raw:
            self._test(f"[ {self._raw_words(node, known).removeprefix('test ')} ]")
            return ""
        prints = node.children[0].text == b"echo"
        words = [self._word(child, known, quoted=prints) for child in node.children]
        # A missing word changes nothing if no option does more than read.
        views = words[0] == "gh" and words[1:2] != ["api"]
        return " ".join(words).replace(_MAYBE, NUMBER) if views else " ".join(words)

    def _raw_words(self, node: Node, known: Mapping[str, str]) -> str:
        """Return the text of a test with its variables written out."""
        data = node.text or b""
        found, end = "", 0
        for child in _expansions(node):
            start, stop = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            quoted = child.parent is not None and child.parent.type == "string"
            found += data[end:start].decode("utf-8", "replace") + self._inside(child, known, quoted=quoted)
            end = stop
        return found + data[end:].decode("utf-8", "replace")

    def _word(self, node: Node, known: Mapping[str, str], *, quoted: bool = False) -> str:
        """Return a word as it stands in a plain line. Raises _Unusual if the shell could divide it."""
        match node.type:
            case "word" | "number" | "raw_string" | "ansi_c_string" | "string_content" | '"' | "$":
                return _text(node)
            case "command_name" | "concatenation":
                return "".join(self._word(child, known, quoted=quoted) for child in node.children)
            case "string":
                data, end, found = node.text or b"", 0, ""
                for child in node.named_children:
                    start = child.start_byte - node.start_byte
                    found += data[end:start].decode("utf-8", "replace") + self._inside(child, known, quoted=True)
                    end = child.end_byte - node.start_byte
                return found + data[end:].decode("utf-8", "replace")
            case _:
                return self._inside(node, known, quoted=quoted)

    def _inside(self, node: Node, known: Mapping[str, str], *, quoted: bool) -> str:
        match node.type:
            case "string_content":
                return _text(node)
            case "command_substitution":
                found = self._substituted(node, known)
                if found == UNKNOWN and not quoted:
                    raise _Unusual
                return found
            case "simple_expansion" | "expansion" | "arithmetic_expansion":
                return self._expanded(node, known, quoted=quoted)
            case _:
                raise _Unusual

    def _expanded(self, node: Node, known: Mapping[str, str], *, quoted: bool) -> str:
        """Return what is known of an expansion. Raises _Unusual if it could be several words, or do more."""
        text = _text(node)
        if text in ("$?", "$#", "$$", "${#}"):
            return NUMBER
        if node.type == "arithmetic_expansion":
            names = re.findall(r"[A-Za-z_]\w*", text)
            if re.fullmatch(r"\$\(\([\w$+\-*/% ]+\)\)", text) and all(_counts(known.get(name, "")) for name in names):
                return NUMBER
            raise _Unusual
        plain = _PLAIN_VARIABLE.fullmatch(text)
        found = plain or _EXPANSION.fullmatch(text)
        name = found["name"] or found["braced"] if found else ""
        if name not in known and not _NO_SECRET.fullmatch(name):
            raise _Unusual
        value = known.get(name, UNKNOWN) if plain else UNKNOWN
        if not quoted and value == UNKNOWN:
            raise _Unusual
        return value


_WORDS = frozenset({"command_name", "word", "number", "raw_string", "ansi_c_string", "string", "concatenation"}) | {
    "simple_expansion",
    "expansion",
    "command_substitution",
    "arithmetic_expansion",
}


def _merge(known: dict[str, str], after: Mapping[str, str]) -> None:
    """Add to the values of variables those after statements that may not have run."""
    for name, value in after.items():
        before = known.get(name)
        if before != value:
            known[name] = NUMBER if before is not None and _counts(before) and _counts(value) else UNKNOWN


def _counts(value: str) -> bool:
    return value == NUMBER or _DIGITS.fullmatch(value) is not None


def _expansions(node: Node) -> Sequence[Node]:
    """Return the outermost expansions below a node, in order."""
    found: list[Node] = []
    for child in node.children:
        kinds = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
        found += [child] if child.type in kinds else _expansions(child)
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
