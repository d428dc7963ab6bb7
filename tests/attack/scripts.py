"""Attacks of a script on everything but its tools, in a real sandbox; a canary and marks show what got through."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from agentcli.agent.core import SessionCore
from agentcli.agent.ports import ApprovalResponse
from agentcli.agent.session import AgentSession
from agentcli.core.mcp_servers import ServerTool
from agentcli.core.record import InnerCall, Mode
from agentcli.core.tool import ToolLimits
from agentcli.features.hooks.files import Hook
from agentcli.features.scripts.bounds import Bounds
from agentcli.features.scripts.session import ScriptsSession
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.sandbox import detect
from agentcli.providers.scripted.model import say
from tests.agent.open_session import Person, open_session, results, say_to
from tests.features.mcp.played_servers import STATUS, Played, calls

CANARY = "canary-5f2e61c0"
"""A text that no output may hold: it stands in a denied file, outside the workspace, and in a variable."""
WON = "GOT THROUGH"
"""What an attack prints if it worked."""
SMALL = Bounds(seconds=3.0, calls=30, memory=256_000_000, printed=300_000, request=50_000, results=2_000_000)
PAY = ServerTool("mcp__shop__pay", "shop", "pay", "Pay.", {"type": "object"})
PEEK = replace(STATUS, name="mcp__git__peek", tool="peek", reads=True)


@dataclass(frozen=True)
class Attack:
    """The code of an attack. `held` must be in the output: the proof that it was tried and failed."""

    name: str
    code: str
    held: str
    mode: Mode = "yolo"
    bounds: Bounds = SMALL
    hooks: tuple[Hook, ...] = ()
    person: tuple[ApprovalResponse | None, ...] = ()
    deny: tuple[str, ...] = ("read(secret.txt)", "mcp__shop", "bash(curl *)", "bash(rm *)")
    denied: int = 0
    """Calls that are recorded as denied."""


class Outside:
    """A listener whose connections are counted."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.reached = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.reached += 1
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@dataclass
class Scene:
    """A workspace with a denied file, and files beside it; `before` is what they were."""

    base: Path
    outside: Outside
    servers: Played = field(default_factory=lambda: Played(STATUS, PAY, PEEK))
    before: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.base / "project"

    def prepare(self) -> None:
        """Make the files."""
        (self.work / "src").mkdir(parents=True)
        (self.work / "a.txt").write_text("alpha\nbeta\n")
        (self.work / "secret.txt").write_text(CANARY)
        (self.base / "private.txt").write_text(CANARY)
        (self.work / "link.txt").symlink_to("secret.txt")
        (self.work / "out").symlink_to(self.base)
        self.before = self.files()

    def files(self) -> Mapping[str, bytes]:
        """All files with their content."""
        found = (Path(folder) / name for folder, _, names in os.walk(self.base) for name in names)
        return {str(path): path.read_bytes() for path in found if not path.is_symlink()}

    def run(self, attack: Attack) -> AgentSession:
        """Run the attack as the model's first call. Afterwards the model makes an honest call in the same session."""
        code = attack.code.format(port=self.outside.port, base=self.base, pid=os.getpid(), work=self.work, canary="")
        honest = calls("script", code="print(len(read('a.txt').splitlines()))")
        replies = [calls("script", code=code), honest, say("done")]

        def part(core: SessionCore) -> ScriptsSession:
            return ScriptsSession(core, detect(), attack.bounds)

        session = open_session(
            self.work,
            replies,
            mode=attack.mode,
            person=Person(*attack.person),
            rules=parse_rules(deny=attack.deny),
            limits=ToolLimits(scripts="on"),
            servers=self.servers,
            hooks=attack.hooks,
            features=[part],
        )
        say_to(session, "go")
        return session


def faults(attack: Attack, scene: Scene, session: AgentSession) -> list[str]:
    """What the attack reached, or how the session suffered; empty if it did nothing."""
    answered = results(session)
    outputs = [result.output for result in answered]
    inner = [record.body for record in session.journal.records() if isinstance(record.body, InnerCall)]
    texts = [*outputs, *(each.result.output for each in inner)]
    checks: Mapping[str, Any] = {
        "printed the canary": any(CANARY in text for text in texts),
        "says that it worked": any(WON in text for text in texts),
        f"does not say {attack.held!r} but {outputs[:1]}": attack.held not in outputs[0],
        "changed files": scene.files() != scene.before,
        "reached the network": scene.outside.reached,
        "called a denied tool": any(name == PAY.name for name, _ in scene.servers.called),
        "left calls without an answer": len(answered) != 2 or session.history.open_calls,
        f"the next script fails: {outputs[1:]}": len(outputs) < 2 or not outputs[1].startswith("2\n"),
        "calls have the same id": len({each.call.call_id for each in inner}) != len(inner),
        f"{sum(each.result.status == 'denied' for each in inner)} calls were denied": (
            sum(each.result.status == "denied" for each in inner) != attack.denied
        ),
    }
    return [fault for fault, there in checks.items() if there]


def tried(attack: Attack, base: Path) -> list[str]:
    """Run one attack in a place of its own, and return its faults."""
    with Outside() as outside, closing(_Variable()):
        scene = Scene(base, outside)
        scene.prepare()
        return faults(attack, scene, scene.run(attack))


class _Variable:
    """A secret in the environment of this process, while it is open."""

    def __init__(self) -> None:
        os.environ["CANARY_TOKEN"] = CANARY

    def close(self) -> None:
        del os.environ["CANARY_TOKEN"]


def refused(code: str) -> str:
    """Code that tries an expression, and prints the kind of error that stops it."""
    return f"try:\n    got = {code}\n    print('{WON}', got)\nexcept Exception as error:\n    print('held', type(error).__name__)"


ESCAPES = {
    "reading the denied file": "open('{work}/secret.txt').read()",
    "reading outside the workspace": "open('{base}/private.txt').read()",
    "reading the workspace at all": "open('{work}/a.txt').read()",
    "reading /etc/passwd": "open('/etc/passwd').read()",
    "reading the parent's memory": "open('/proc/{pid}/mem', 'rb')",
    "reading the parent's environment": "open('/proc/{pid}/environ').read()",
    "reading its own environment in /proc": "open('/proc/self/environ').read()",
    "listing /proc": "__import__('os').listdir('/proc')",
    "a device": "open('/dev/kmem', 'rb')",
    "writing a file in the workspace": "open('{work}/made.txt', 'w')",
    "writing to /tmp": "open('/tmp/made.txt', 'w')",
    "writing to the root": "open('/made.txt', 'w')",
    "writing into the standard library": "open(__import__('json').__file__, 'a')",
    "making a folder": "__import__('os').mkdir('/usr/lib/made')",
    "a link out of the sandbox": "__import__('os').symlink('{base}/private.txt', '/usr/lib/link')",
    "filling memory with a file": "__import__('os').write(__import__('os').memfd_create('x'), b'x')",
    "fork": "__import__('os').fork()",
    "forkpty": "__import__('os').forkpty()",
    "exec": "__import__('os').execv('/usr/bin/env', ['env'])",
    "posix_spawn": "__import__('os').posix_spawn('/usr/bin/env', ['env'], {{}})",
    "subprocess": "__import__('subprocess').run(['id'])",
    "multiprocessing": "__import__('multiprocessing').Process(target=print).start()",
    "a socket to the network": "__import__('socket').create_connection(('127.0.0.1', {port}), 2)",
    "a socket of the local kind": "__import__('socket').socket(__import__('socket').AF_UNIX)",
    "a pair of sockets": "__import__('socket').socket(17, 3)",
    "urllib": "__import__('urllib.request').request.urlopen('http://127.0.0.1:{port}', timeout=2)",
    "importing the agent": "__import__('agentcli')",
    "importing a package": "__import__('prompt_toolkit')",
    "a tracer": "(lambda r: 1 / 0 if r < 0 else r)(__import__('ctypes').CDLL(None).ptrace(16, {pid}, 0, 0))",
    "another namespace": "(lambda r: 1 / 0 if r < 0 else r)(__import__('ctypes').CDLL(None).unshare(0x10000000))",
    "a mount": "(lambda r: 1 / 0 if r < 0 else r)(__import__('ctypes').CDLL(None).mount(b'/usr', b'/lib', None, 4096, None))",
    "fork by ctypes": "(lambda r: 1 / 0 if r < 0 else r)(__import__('ctypes').CDLL(None).syscall(57))",
    "clone3 by ctypes": "(lambda r: 1 / 0 if r < 0 else r)(__import__('ctypes').CDLL(None).syscall(435, None, 0))",
    "raising its memory": "__import__('resource').setrlimit(9, (-1, -1))",
    "killing the parent": "__import__('os').kill({pid}, 9)",
    "signals to the parent": "__import__('os').kill({pid}, 15)",
}
"""Expressions that must fail, by what they attempt."""
BLOCKING = Hook("PreToolUse", "echo no >&2; exit 2", "Bash")
CALLS = (
    Attack("attributes of a function", "print(read.__call__.__globals__['os'].environ.get('CANARY_TOKEN', 'held'))", "held"),
    Attack("secrets in the environment", "import os\nprint({{**os.environ}}.get('CANARY_TOKEN', 'held'))", "held"),
    Attack("stat of what is outside", "import os\nprint('held', os.path.exists('{base}'))", "held False"),
    Attack("a read that a rule denies", "print(read('secret.txt'))", "ToolError", denied=1),
    Attack("the same through a link", "print(read('link.txt'))", "ToolError", denied=1),
    Attack("the same through a folder that is a link", "print(read('out/project/secret.txt'))", "ToolError", denied=1),
    Attack("the same with dots", "print(read('src/../secret.txt'))", "ToolError", denied=1),
    Attack("a search of the denied file", "print('held', repr(grep('canary', '.', output_mode='content')))", "held ''"),
    Attack("a command on the denied file", "print(bash('cat secret.txt'))", "ToolError", mode="ask", denied=1),
    Attack("a denied command", "print(bash('curl http://127.0.0.1:{port}'))", "ToolError", denied=1),
    Attack("a denied command in a line", "print(bash('true; rm -f a.txt'))", "ToolError", denied=1),
    Attack("a command that nobody allows", "print(bash('touch made.txt'))", "ToolError", mode="ask", denied=1),
    Attack("a command in plan mode", "print(bash('touch made.txt'))", "ToolError", mode="plan", denied=1),
    Attack("a tool of a server in plan mode", "print(mcp.git.status())", "ToolError", mode="plan", denied=1),
    Attack("a tool of a server that a rule denies", "print(mcp.shop.pay())", "ToolError", denied=1),
    Attack("the same by its item", "print(mcp['shop']['pay'](amount=1))", "ToolError", denied=1),
    Attack("the same by the gate", "from builtins import type\nprint(type(read)(read._calls, 'mcp_call', [])({{'tool': 'mcp__shop__pay'}}))", "is not a function of scripts"),
    Attack("a tool that only reads without trust", "print(mcp.git.peek())", "ToolError", mode="ask", denied=1),
    Attack("an edit", "print(type(read)(read._calls, 'write', [])({{'file_path': 'made.txt', 'content': 'x'}}))", "is not a function of scripts"),
    Attack("a script in a script", "print(type(read)(read._calls, 'script', [])({{'code': 'print(1)'}}))", "is not a function of scripts"),
    Attack("a subagent", "print(type(read)(read._calls, 'task', [])({{'description': 'x', 'prompt': 'y'}}))", "is not a function of scripts"),
    Attack("the end of plan mode", "print(type(read)(read._calls, 'exit_plan', [])({{'plan': 'x'}}))", "is not a function of scripts", mode="plan"),
    Attack("a question in the person's name", "print(type(read)(read._calls, 'ask_user', [])({{'questions': []}}))", "is not a function of scripts"),
    Attack("a hook that blocks", "print(bash('echo hello'))", "ToolError", hooks=(BLOCKING,), denied=1),
    Attack("a person who says no", "print(bash('touch made.txt'))", "ToolError", mode="ask", person=(ApprovalResponse("no"),), denied=1),
    Attack("a line that is no JSON", "import os\nos.write(3, b'nonsense\\n')\nimport time\ntime.sleep(2)", "something else than a call"),
    Attack("a line with another shape", "import os\nos.write(3, b'{{\"calls\": 5}}\\n')\nimport time\ntime.sleep(2)", "something else than a call"),
    Attack("no calls", "import os\nos.write(3, b'{{\"calls\": []}}\\n')\nimport time\ntime.sleep(2)", "something else than a call"),
    Attack("a deep line", "import os\nos.write(3, b'[' * 20000 + b'\\n')\nimport time\ntime.sleep(2)", "something else than a call"),
    Attack("an endless line", "import os\nwhile True: os.write(3, b'x' * 10000)", "more than 50,000 bytes at once"),
    Attack("an id of its own", "import os\nos.write(3, b'{{\"calls\": [{{\"name\": \"read\", \"input\": {{\"file_path\": \"a.txt\"}}, \"call_id\": \"x\"}}]}}\\n')\nprint(len(read('a.txt')), 'held')", "held"),
    Attack("forged replies to itself", "import socket\ns = socket.socket(fileno=3)\ns.sendall(b'{{\"results\": [{{\"ok\": true}}]}}\\n')\nimport time\ntime.sleep(2)", "something else than a call"),
    Attack("a closed connection", "import os\nos.close(3)\nprint('held')", "held"),
    Attack("standard output in the way", "import os\nos.close(1)\nos.close(2)", ""),
    Attack("an endless loop", "while True: pass", "ran longer than 3 s"),
    Attack("a loop that ignores signals", "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass", "ran longer than 3 s"),
    Attack("a loop in threads", "import threading\nfor _ in range(8): threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()", ""),
    Attack("a memory bomb", "x = [0]\nwhile True: x = x + x", "MemoryError"),
    Attack("a bomb of large blocks", "x = [bytearray(50_000_000) for _ in range(100)]", "MemoryError"),
    Attack("a bomb of threads", "import threading, time\nts = [threading.Thread(target=time.sleep, args=(9,), daemon=True) for _ in range(3_000)]\nfor t in ts: t.start()", "RuntimeError"),
    Attack("a recursion", "def f(): return f()\nf()", "RecursionError"),
    Attack("a recursion without a limit", "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return list(map(f, [n]))\nf(0)", "ended with exit code"),
    Attack("a crash", "import ctypes\nctypes.string_at(0)", "ended with exit code"),
    Attack("an endless output", "while True: print('x' * 1000)", "printed more than 300,000 bytes"),
    Attack("an output without lines", "import os\nwhile True: os.write(1, b'x' * 1000)", "printed more than 300,000 bytes"),
    Attack("thousands of calls", "for n in range(5000): read('a.txt')", "more than 30 calls"),
    Attack("thousands of calls at once", "gather(lambda n: read('a.txt', offset=1 + n % 2), range(5000))", "more than 30 calls"),
    Attack("calls without waiting", "import os\nline = b'{{\"calls\": [{{\"name\": \"read\", \"input\": {{\"file_path\": \"a.txt\"}}}}]}}\\n'\nfor n in range(100): os.write(3, line)\nimport time\ntime.sleep(2)", "more than 30 calls"),
    Attack("pickled code", "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"touch {work}/made.txt\"\\ntR.')\nprint('held')", "held"),
    Attack("control characters", "print('\\x1b]0;title\\x07\\x1b[2J held')", "held"),
    Attack("an exit that pretends success", "import os\nprint('held', flush=True)\nos._exit(0)", "held"),
    Attack("an exception with a huge text", "raise ValueError('x' * 400_000)", "printed more than"),
    Attack("a code that cannot be compiled", "print((", "SyntaxError"),
    Attack("a code with a null byte", "print(1)\\0", ""),
    Attack("a code that is too long", "#" * 200_001, "At most 200,000 are possible"),
)  # fmt: skip
ATTACKS = (*(Attack(name, refused(code), "held ") for name, code in ESCAPES.items()), *CALLS)
