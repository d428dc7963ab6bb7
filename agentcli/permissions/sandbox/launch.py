"""Program that gives up rights with Landlock and seccomp and becomes another program.

It runs as a script, so it imports none of our modules.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import stat
import struct
import sys
from collections.abc import Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS, _SECCOMP, _CAPBSET_DROP = 38, 22, 24
_LAST_CAPABILITY = 63

# Rights of LANDLOCK_ACCESS_FS_*, in the order of their bits.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14)
_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of rights over files in each version of Landlock; 16 from version 5 on."""

_X86_64 = {
    "open_by_handle_at": 304, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438, "io_uring_setup": 425,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "add_key": 248, "request_key": 249, "mount": 165, "umount2": 166,
    "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272, "fsopen": 430, "fsmount": 432, "move_mount": 429, "open_tree": 428,
    "mount_setattr": 442, "reboot": 169, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
    "utime": 132, "utimes": 235, "futimesat": 261, "syslog": 103, "kcmp": 312, "move_pages": 279, "migrate_pages": 256, "process_madvise": 440,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "msgget": 68, "msgsnd": 69,
    "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
    "io_uring_enter": 426, "io_uring_register": 427, "fsconfig": 431, "fspick": 433,
}  # fmt: skip
_AARCH64 = {
    "open_by_handle_at": 265, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438, "io_uring_setup": 425,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218, "mount": 40, "umount2": 39,
    "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97, "fsopen": 430, "fsmount": 432, "move_mount": 429, "open_tree": 428,
    "mount_setattr": 442, "reboot": 142, "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "settimeofday": 170, "clock_settime": 112,
    "adjtimex": 171, "sethostname": 161, "setdomainname": 162,
    "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54,
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "syslog": 116, "kcmp": 272,
    "move_pages": 239, "migrate_pages": 238, "process_madvise": 440, "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193,
    "semctl": 191, "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187, "mq_open": 180, "mq_unlink": 181,
    "io_uring_enter": 426, "io_uring_register": 427, "fsconfig": 431, "fspick": 433,
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, _X86_64, 41, 280), "aarch64": (0xC00000B7, _AARCH64, 198, 88)}
"""For each machine: its audit number, the calls to refuse, and the numbers of `socket` and `utimensat`."""

_NAMESPACED = frozenset({
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr", "utime", "utimes", "futimesat", "sethostname", "setdomainname", "shmget", "shmat", "shmctl", "semget",
    "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
})  # fmt: skip
"""Calls that reach nothing outside if the command has its own mounts and namespaces."""

# prlimit64, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr; setpriority, ioprio_set
_OWN = {
    "x86_64": {302: 0, 203: 0, 144: 0, 142: 0, 314: 0, 141: 1, 251: 1},
    "aarch64": {261: 0, 122: 0, 119: 0, 118: 0, 274: 0, 140: 1, 30: 1},
}
"""Calls that a process may make only for itself: their numbers, and which argument is the process."""

_GRANTING = {
    "x86_64": ({90: 1, 91: 1, 268: 2, 452: 2, 133: 1, 259: 2, 85: 1}, {2: 1, 257: 2}, (188, 189, 190, 463), 437),
    "aarch64": ({52: 1, 53: 2, 452: 2, 33: 2}, {56: 2}, (5, 6, 7, 463), 437),
}
"""Calls that give others the powers of a file's owner, for each machine.

First come chmod and mknod with the index of their mode argument, then open with the argument before the mode. The
others are setxattr, which sets access lists, and openat2, whose mode a filter cannot see.
"""
_STARTING = {
    "x86_64": ({"fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "pidfd_open": 434}, 56, 435),
    "aarch64": ({"execve": 221, "execveat": 281, "pidfd_open": 434}, 220, 435),
}
"""Calls that start or reach other processes, for each machine; then `clone` and `clone3`."""
_THREAD = 0x10000
"""The flag with which `clone` adds a thread."""
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000
_NO_SUPPORT, _NO_CALL = 0x0005005F, 0x00050026
"""Error codes that programs know from file systems without attributes and from older kernels."""

_FOREIGN = (17, 40)
"""Families of sockets that no namespace limits, or that read others' packets: virtual and raw ones."""
_NEVER = (1, *_FOREIGN)
"""Families of sockets that are refused even with the network: local, raw and virtual ones.

Local sockets reach agents and container engines.
"""

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Become `arguments[1:]` with the rights that `arguments[0]` grants. Exit with 126 if anything fails."""
    rights = json.loads(arguments[0])
    for name in rights["unset"]:
        os.environ.pop(name, None)
    scratch = f"/tmp/agentcli-{os.getuid()}"
    os.makedirs(scratch, mode=0o700, exist_ok=True)
    if os.lstat(scratch).st_uid != os.getuid() or os.path.islink(scratch):
        raise OSError(f"{scratch} belongs to another user")
    os.environ["TMPDIR"] = scratch
    os.environ["XDG_CACHE_HOME"] = f"{scratch}/.cache"
    os.chdir(rights["cwd"])
    os.get_exec_path()  # loads a module that is unreadable later if Python is in the home folder
    _drop_capabilities()
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict_files([*rights["writable"], scratch], rights["readable"], rights["listable"])
    _restrict_calls(_program(*_MACHINES[platform.machine()], _NEVER if rights["network"] else ()))
    os.execvp(arguments[1], arguments[1:])


def namespaced_program(*, sockets: bool) -> bytes:
    """Return the seccomp program for a command with its own mounts and namespaces: it refuses calls that escape them.

    Without `sockets`, the command can open none of any kind. Empty on a machine with unknown call numbers.
    """
    if platform.machine() not in _MACHINES:
        return b""
    audit, refused, socket, _ = _MACHINES[platform.machine()]
    left = {name: number for name, number in refused.items() if name not in _NAMESPACED}
    return b"".join(_program(audit, left, socket, 0, _FOREIGN if sockets else (), _nothing_granted()))


def alone_program() -> bytes:
    """Return the seccomp program for a process that starts no other one: it may only add threads.

    Empty on a machine with unknown call numbers.
    """
    if platform.machine() not in _MACHINES:
        return b""
    audit, refused, socket, _ = _MACHINES[platform.machine()]
    starting, clone, clone3 = _STARTING[platform.machine()]
    program = [_jump(0x15, clone3, 0, 1), _op(0x06, _NO_CALL)]
    program += [
        _jump(0x15, clone, 0, 4),
        _op(0x20, 16),
        _jump(0x45, _THREAD, 1, 0),
        _op(0x06, 0x00050001),
        _op(0x20, 0),
    ]
    return b"".join(_program(audit, {**refused, **starting}, socket, 0, (), program))


def _drop_capabilities() -> None:
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=II", 0x20080522, 0)
    _check(_libc.capset(header, struct.pack("=6I", 0, 0, 0, 0, 0, 0)), "capset")


def _restrict_files(writable: list[str], readable: list[str], listable: list[str]) -> None:
    version = _libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    _check(version, "Landlock")
    every = (1 << _BITS.get(version, 16)) - 1
    # Version 6 also keeps signals and abstract sockets inside.
    attributes = struct.pack("=QQQ", every, 0, 3)[: 24 if version >= 6 else 8]
    ruleset = _libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    _check(ruleset, "Landlock")
    # Programs list folders on their way down; names may be seen, contents only if granted.
    for path in listable:
        _grant(ruleset, path, _READ_DIR)
    for path in readable:
        _grant(ruleset, path, _READING)
    for path in writable:
        _grant(ruleset, path, every)
    # Only these devices: terminals can be listened to, and root can read disks without any capability.
    for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"):
        _grant(ruleset, device, _READ_FILE | _WRITE_FILE)
    _check(_libc.syscall(_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(handle).st_mode):  # of what was opened: the path may have another file now
        rights &= _ON_FILES
    rule = struct.pack("=Qi", rights & ~(1 << 15 if _device_free(path) else 0), handle)
    _check(_libc.syscall(_ADD, ruleset, 1, rule, 0), f"Landlock for {path}")
    os.close(handle)


def _device_free(path: str) -> bool:
    """Return True for a path outside /dev: ioctl on devices is withheld below it."""
    return not path.startswith("/dev/")


def _restrict_calls(program: list[bytes]) -> None:
    code = b"".join(program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filters = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(buffer))
    _check(_libc.prctl(_SECCOMP, 2, filters, 0, 0), "seccomp")


def _program(
    audit: int,
    refused: dict[str, int],
    socket: int,
    utimensat: int,
    families: tuple[int, ...],
    more: Sequence[bytes] = (),
) -> list[bytes]:
    """Return the seccomp program.

    With `utimensat` it also protects the times of files and the limits of other processes. Sockets of these `families`
    are refused, or all without families. `more` are further tests, which keep the number of the call loaded.
    """
    program = [_op(0x20, 4), _jump(0x15, audit, 1, 0), _op(0x06, 0x80000000), _op(0x20, 0)]
    if platform.machine() == "x86_64":
        program += [_jump(0x35, 0x40000000, 0, 1), _op(0x06, 0x00050001)]  # the x32 numbering would bypass the list
    for number in refused.values():
        program += [_jump(0x15, number, 0, 1), _op(0x06, 0x00050001)]
    if utimensat:
        program += _own_limits() + _times(utimensat)
    return [*program, *more, *_no_sockets(socket, families), _op(0x06, 0x7FFF0000)]


def _nothing_granted() -> list[bytes]:
    """Refuse what outlives the command and gives its powers to others: setuid and setgid files, and access lists."""
    modes, opening, attributes, openat2 = _GRANTING[platform.machine()]
    program = []
    for number, argument in modes.items():
        program += [
            _jump(0x15, number, 0, 4),
            _op(0x20, 16 + 8 * argument),
            _jump(0x45, _SET_ID, 0, 1),
            _op(0x06, 0x00050001),
            _op(0x20, 0),
        ]
    for number, argument in opening.items():
        program += [
            _jump(0x15, number, 0, 6),
            _op(0x20, 16 + 8 * argument),
            _jump(0x45, _CREATES, 0, 3),  # without it there is no mode, and the argument is arbitrary
            _op(0x20, 16 + 8 * (argument + 1)),
            _jump(0x45, _SET_ID, 0, 1),
            _op(0x06, 0x00050001),
            _op(0x20, 0),
        ]
    for number in attributes:
        program += [_jump(0x15, number, 0, 1), _op(0x06, _NO_SUPPORT)]
    return [*program, _jump(0x15, openat2, 0, 1), _op(0x06, _NO_CALL)]


def _own_limits() -> list[bytes]:
    program = []
    for number, argument in _OWN[platform.machine()].items():
        program += [
            _jump(0x15, number, 0, 4),
            _op(0x20, 16 + 8 * argument),
            _jump(0x15, 0, 1, 0),
            _op(0x06, 0x00050001),
            _op(0x20, 0),
        ]
    return program


def _times(utimensat: int) -> list[bytes]:
    """Allow utimensat(fd, NULL, NULL), which sets an open file's times to now.

    Refuse it with a path or other times.
    """
    return [
        _jump(0x15, utimensat, 0, 13),
        *(part for word in (24, 28, 32, 36) for part in (_op(0x20, word), _jump(0x15, 0, 1, 0), _op(0x06, 0x00050001))),
        _op(0x06, 0x7FFF0000),
    ]


def _no_sockets(number: int, families: tuple[int, ...]) -> list[bytes]:
    """Refuse sockets of these families, or all without families."""
    if not families:
        return [_jump(0x15, number, 0, 1), _op(0x06, 0x0005000D)]
    tests = [_jump(0x15, family, len(families) - index, 0) for index, family in enumerate(families)]
    return [
        _jump(0x15, number, 0, len(families) + 3),
        _op(0x20, 16),
        *tests,
        _op(0x06, 0x7FFF0000),
        _op(0x06, 0x0005000D),
    ]


def _op(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


def _jump(code: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, KeyError, ValueError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        sys.exit(126)
