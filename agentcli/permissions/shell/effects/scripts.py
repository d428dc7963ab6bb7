"""Scripts for interpreters on a command line: the files that they remove or overwrite, and the commands that they
start.

Python is read as a syntax tree, other languages by the text of their calls. Computed names are unknown; literal names
are known.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agentcli.permissions.shell.programs.known_programs import word_set

_CODE = {
    "python": "c",
    "node": "ep",
    "nodejs": "ep",
    "bun": "ep",
    "deno": "e",
    "perl": "eE",
    "ruby": "e",
    "php": "r",
    "lua": "e",
}
"""Letters of the options that pass a program to an interpreter."""
_FIRST = word_set(
    "rmtree remove unlink rmdir removedirs truncate chmod chown lchown write_text write_bytes touch_all open rename replace move"
)
"""Functions of Python that change the file in their first argument or receiver."""
_BOTH = word_set("rename replace move renames")
_SECOND = word_set("copy copy2 copyfile copytree symlink link")
_SHELLS = word_set(
    "system popen getoutput getstatusoutput run call check_call check_output Popen execSync exec create_subprocess_shell"
)
_STARTERS = re.compile(r"exec[lv]|spawn|posix_spawn|create_subprocess_exec")
_ALL = _FIRST | _BOTH | _SECOND
_WRITING = re.compile(r"[wax+]")
_VERBS = re.compile(
    r"""(?:\brm(?:dir|tree)?(?:Sync)?|\bunlink(?:Sync)?|\bremove(?:Sync|_tree|_dir_all)?|\brmtree|\brm_rf?|\brimraf|\btruncate(?:Sync)?"""
    r"""|\brename(?:Sync)?|\bwriteFile(?:Sync)?|\bappendFile(?:Sync)?|\bfile_put_contents|\bdelete|\bremove_entry_secure|\bcopyFile(?:Sync)?)"""
    r"""\b(?P<rest>[^;\n]{0,200})"""
)
_CONTENT = re.compile(r"writeFile|appendFile|file_put_contents")
"""Calls of which only the first argument is a file."""
_HOME = re.compile(
    r"""process\.env\.HOME|process\.env\[['"]HOME|homedir\(\)|Dir\.home|ENV\[?['"{(]+HOME|\$ENV\{['"]?HOME|getenv\(['"]HOME|os\.getenv\(['"]HOME|\$HOME"""
)
_LITERAL = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`""")
_STARTING = re.compile(r"system|exec|spawn|popen|qx|%x|`|\bsh\b", re.IGNORECASE)


def places_lost(name: str, arguments: Sequence[str], fed: str, home: str, folder: str) -> Iterator[str]:
    """Yield the paths that a script removes or writes, as written there.

    For an effect without a path, yield `:` and a reason.
    """
    kind = name.rstrip("0123456789.")
    for script in _programs(kind, arguments, fed):
        if kind in ("python", "ipython"):
            yield from _of_python(script, home, folder)
        elif kind in _CODE:
            yield from _of_calls(script, home)


def shell_texts(name: str, arguments: Sequence[str], fed: str) -> Iterator[str]:
    """Yield the shell commands that a script contains."""
    yield from dict.fromkeys(_shell_texts(name, arguments, fed))


def _shell_texts(name: str, arguments: Sequence[str], fed: str) -> Iterator[str]:
    kind = name.rstrip("0123456789.")
    if kind in ("awk", "gawk", "mawk"):
        programs: Iterator[str] = iter([word for word in arguments if "system" in word or "|" in word])
    else:
        programs = _programs(kind, arguments, fed)
    for script in programs:
        if kind in ("python", "ipython"):
            yield from _commands_of_python(script)
        elif _STARTING.search(script):
            yield from _commands_of_text(script)


def _programs(kind: str, arguments: Sequence[str], fed: str) -> Iterator[str]:
    letters = _CODE.get(kind, "")
    if not letters:
        return
    for word, after in zip(arguments, [*arguments[1:], ""], strict=False):
        if re.fullmatch(rf"-[A-Za-z0-9]*[{letters}]|--eval|--print|eval", word):
            yield after
        elif re.match(rf"-[{letters}].", word) and not word.startswith("--"):
            yield word[2:]
    if fed:
        yield fed


def _of_calls(script: str, home: str) -> Iterator[str]:
    if (
        re.search(r"\bkill\b\W{0,3}(?:\(|\s)[^;\n]{0,30}?(?<!\w)-?1\b(?!\d)(?:\s*[,)]|\s*$)", script)
        and "kill" in script
    ):
        yield ":may end process 1 or all processes"
    for match in _VERBS.finditer(script):
        rest = match["rest"]
        if _CONTENT.match(match[0]):
            rest = rest.partition(",")[0]
        if _HOME.search(rest):
            yield home
        for literal in _LITERAL.finditer(rest):
            text = next(filter(None, literal.groups()), "")
            if text.startswith(("/", "~", "..")) and "\n" not in text:
                yield text


def _commands_of_text(script: str) -> Iterator[str]:
    words = [
        next((group for group in literal.groups() if group is not None), "") for literal in _LITERAL.finditer(script)
    ]
    yield from (word for word in words if " " in word and re.match(r"[\w./~$-]+\s", word))
    for index, word in enumerate(words):
        if re.fullmatch(r"[\w.-]+", word) and index + 1 < len(words):
            yield shlex.join(words[index : index + 8])


# Python


def _tree(script: str) -> ast.Module | None:
    try:
        return ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_python(script: str, home: str, folder: str) -> Iterator[str]:
    tree = _tree(script)
    if tree is None:
        yield from _of_calls(script, home)
        return
    sources = _sources(tree)
    aliases = _aliases(tree)
    if _changes_indirectly(tree):
        yield from (text for text in _texts(tree) if text.startswith(("/", "~", "..")))
    for inner in _inner_scripts(tree):
        yield from _of_python(inner, home, folder)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = aliases.get(_called(call), _called(call))
        if name == "kill" and call.args and _number(call.args[0]) in (1, -1):
            yield ":ends process 1 or all processes"
        for value in _changed(name, call, {**_MODULES, **aliases}):
            yield from (
                place for place in _places(value, sources, home, frozenset()) if place.startswith(("/", "~", ".."))
            )


_MODULES = {name: name for name in ("os", "shutil", "sh", "pathlib", "io", "codecs", "gzip")}


def _aliases(tree: ast.AST) -> Mapping[str, str]:
    """Return the true names of a script's renamed imports."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {name.asname: name.name.rpartition(".")[2] for node in imports for name in node.names if name.asname}


def _changes_indirectly(tree: ast.AST) -> bool:
    """Return True if a script refers to a function that changes files without calling it there.

    A change to another folder counts too.
    """
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, value=ast.Name(id="os" | "shutil") | ast.Call()) if name in _ALL:
                if id(node) not in called:
                    return True
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]) if name in _ALL:
                return True
            case ast.Call(func=ast.Attribute(attr="chdir" | "fchdir") | ast.Name(id="chdir")):
                return any(_called(call) in _ALL for call in ast.walk(tree) if isinstance(call, ast.Call))
            case _:
                pass
    return False


def _texts(tree: ast.AST) -> Iterator[str]:
    yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _inner_scripts(tree: ast.AST) -> Iterator[str]:
    """Yield the scripts that a script evaluates."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="exec" | "eval" | "compile"), args=[ast.Constant(value=str(text)), *_]):
                yield text
            case _:
                pass


def _changed(name: str, call: ast.Call, modules: Mapping[str, str]) -> Iterator[ast.expr]:
    """Yield the expressions of the files that a call removes or writes. `modules` are the true names of modules."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    arguments = [
        *call.args,
        *(keyword.value for keyword in call.keywords if keyword.arg in ("path", "file", "dst", "name")),
    ]
    if name == "open":
        method = receiver is not None and _module(receiver, modules) not in ("io", "os", "codecs", "gzip")
        modes = [
            *call.args[0 if method else 1 :],
            *(keyword.value for keyword in call.keywords if keyword.arg == "mode"),
        ]
        if any(
            isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _WRITING.search(mode.value)
            for mode in modes[:1]
        ):
            yield from [receiver] if method and receiver is not None else arguments[:1]
        return
    if name == "replace" and len(call.args) != 1 and _module(receiver, modules) != "os":
        return  # `replace` of a text
    if name in _FIRST or name in _BOTH:
        module = _module(receiver, modules) in ("os", "shutil", "sh", "pathlib")
        if receiver is not None and not module:
            yield receiver
        if receiver is None or module or name in _BOTH:
            yield from arguments[: 2 if name in _BOTH else 1]
    elif name in _SECOND:
        yield from arguments[1:2]


def _module(receiver: ast.expr | None, modules: Mapping[str, str]) -> str:
    """Return the module that a name refers to, or the empty string."""
    match receiver:
        case ast.Name(id=name):
            return modules.get(name, "")
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case _:
            return ""


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _sources(tree: ast.AST) -> Mapping[str, list[ast.expr]]:
    """Return the expressions that may give each name its value."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        match node:
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                pairs = [(target, value)]
            case ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case ast.With(items=items):
                pairs = [(item.optional_vars, item.context_expr) for item in items if item.optional_vars is not None]
            case _:
                continue
        for target, value in pairs:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(value)
    return found


def _places(value: ast.AST, sources: Mapping[str, list[ast.expr]], home: str, seen: frozenset[str]) -> Iterator[str]:
    """Yield the places in an expression: its texts, the home folder, and the places of its names."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            if name not in seen:
                for source in sources.get(name, ()):
                    yield from _places(source, sources, home, seen | {name})
        case ast.Attribute(attr="parent" | "parents" | "pardir"):
            yield ".."
        case ast.Call(func=ast.Attribute(attr="home")) | ast.Subscript(slice=ast.Constant(value="HOME")):
            yield home
        case ast.Call(
            func=ast.Attribute(attr="expanduser" | "expandvars" | "getenv" | "get"),
            args=[ast.Constant(value=str(text)), *_],
        ):
            yield home if text == "HOME" else text.replace("$HOME", home)
        case ast.BinOp(left=left, op=ast.Div()):
            yield from _places(left, sources, home, seen)
            yield from (place for place in _places(value.right, sources, home, seen) if place.startswith(("/", "..")))
        case _:
            for part in _placing(value):
                yield from _places(part, sources, home, seen)


def _placing(value: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of an expression that determine its place.

    For a joined text, that is its beginning. A text that is read or computed has none.
    """
    match value:
        case ast.Call(
            func=ast.Attribute(attr="read_text" | "read" | "load" | "loads" | "sub" | "split" | "startswith")
        ):
            return ()
        case ast.Call(func=ast.Attribute(attr="replace"), args=[_, _, *_]):
            return ()
        case ast.Call(func=ast.Attribute(attr="join"), args=[first, *_]) | ast.JoinedStr(values=[first, *_]):
            return (first,)
        case ast.BinOp(left=part, op=ast.Add()) | ast.FormattedValue(value=part):
            return (part,)
        case _:
            return ast.iter_child_nodes(value)


def _commands_of_python(script: str) -> Iterator[str]:
    tree = _tree(script)
    if tree is None:
        yield from _commands_of_text(script) if _STARTING.search(script) else ()
        return
    sources, aliases = _sources(tree), _aliases(tree)
    for inner in _inner_scripts(tree):
        yield from _commands_of_python(inner)
    for node in ast.walk(tree):
        for line in node.args if isinstance(node, ast.Call) else ():
            if isinstance(line, ast.List | ast.Tuple) and len(line.elts) > 1 and isinstance(line.elts[0], ast.Constant):
                yield from _command(line, sources)
        match node:
            case ast.Call() if aliases.get(_called(node), _called(node)) in _SHELLS:
                named = (keyword.value for keyword in node.keywords if keyword.arg in ("args", "cmd"))
                yield from (text for given in [*node.args[:1], *named][:1] for text in _command(given, sources))
            case ast.Call(args=[*given]) if _STARTERS.match(aliases.get(_called(node), _called(node))):
                # `execlp("rm", "rm", "-rf", "x")`: a command's words as arguments, which may begin at any of them.
                texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
                yield from (shlex.join(texts[start:]) for start in range(max(0, min(3, len(texts) - 1))))
            case _:
                pass


def _command(value: ast.expr, sources: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=words) | ast.Tuple(elts=words):
            texts = [
                word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else "$_unknown"
                for word in words
            ]
            yield " ".join(text if text == "$_unknown" else shlex.quote(text) for text in texts)
        case ast.Name(id=name):
            for source in sources.get(name, ())[:3]:
                if not isinstance(source, ast.Name):
                    yield from _command(source, sources)
        case ast.JoinedStr(values=parts):
            texts = [
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "$_unknown"
                for part in parts
            ]
            yield "".join(texts)
        case _:
            pass


def _number(value: ast.expr) -> int | None:
    match value:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return None
