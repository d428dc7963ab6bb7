"""Administration commands: they need root's rights and act on the machine, or end processes that the session did not
start.
"""

from __future__ import annotations

import os
import re
import signal
import stat
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.system.programs import located

REMOVING = word_set(
    "rm unlink rmdir shred srm wipe trash trash-put rimraf del-cli del-file del gzip gunzip xz unxz bzip2 bunzip2 zstd"
)
"""Programs that remove or replace the files of their operands."""
RIGHTS = word_set("chmod chown chgrp chattr setfacl chcon")
"""Programs that change who may use files."""
_RAISING = word_set("sudo doas pkexec su runuser run0")
"""Programs whose purpose is to run others as root."""
_RAISED_LOOKS = word_set("-l -v -k -K -V -h -n -S --list --validate --version --help")
_SBIN = ("/sbin", "/usr/sbin")
_LOOKING = word_set("""
status show list list-units list-unit-files list-timers list-sockets is-active is-enabled is-failed cat help get-default get-property --status
show-environment list-dependencies list-sessions session-status user-status get info search policy addr address a link l route r neigh rule
""")
_SERVICES = word_set(
    "systemctl service launchctl loginctl hostnamectl timedatectl localectl machinectl nmcli networkctl resolvectl rc-service"
)
"""Programs that control the system's services."""
_CHANGING_NETWORK = word_set("add del delete set flush change replace append up down")
_PACKAGES = word_set("apt apt-get aptitude dpkg yum dnf rpm pacman apk zypper emerge snap flatpak port brew nix-env")
_ADDING = word_set("""
install update upgrade search show list policy info download add fetch check makecache query source build-dep full-upgrade dist-upgrade -i -l -L
-s -S -Q -Sy -Syu -Ss -Si -q -qa -ql -qi -p --print-architecture --get-selections --status --listfiles --search --configure reinstall depends
version --version --help -v edit-sources changelog rdepends madison stats dump provides repolist leaves outdated deps home doctor config services
""")
_ADMINISTRATIVE = word_set("""
shutdown reboot halt poweroff init telinit kexec mount umount swapon swapoff losetup modprobe insmod rmmod depmod sysctl iptables ip6tables
iptables-restore nft ufw firewall-cmd useradd userdel usermod adduser deluser addgroup delgroup groupadd groupdel groupmod passwd chpasswd gpasswd
chage chsh vipw visudo vigr chroot pivot_root fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs mkswap blkdiscard hdparm nvme cryptsetup
lvremove vgremove pvremove lvcreate vgcreate pvcreate lvreduce lvresize mdadm zpool zfs btrfs efibootmgr grub-install update-grub grub-mkconfig
update-initramfs dracut mkinitcpio killall5 hwclock setenforce aa-teardown apparmor_parser setcap ifconfig ifdown ifup route arp tc brctl
iwconfig rfkill ethtool dmsetup debugfs tune2fs resize2fs e2fsck fsck xfs_repair badblocks sgdisk bcdedit diskutil nvram csrutil spctl pmset
scutil networksetup dscl kextload kextunload flashrom fwupdmgr setserial quotaoff quotaon accton auditctl swaplabel zramctl update-rc.d
""")
"""Administration programs, for machines without them; an installed one is recognised by its folder or its owner."""


def administers(name: str, arguments: Sequence[str], workspace: Workspace) -> str:
    """Return why a command acts on the machine as root, or an empty string."""
    operands = [word for word in arguments if not word.startswith("-")]
    if name in _PACKAGES:
        return _removes_packages(name, arguments)
    if name in _SERVICES:
        looks = not arguments or not _LOOKING.isdisjoint(arguments) or not operands
        return "" if looks else f"{name} commands the system's services"
    if name == "ip":
        return "ip changes the network" if not _CHANGING_NETWORK.isdisjoint(operands) else ""
    if name == "crontab":
        return "" if arguments[:1] == ("-l",) else "crontab changes what the system starts"
    if name == "date":
        sets = any(word.isdecimal() for word in operands) or any(map(_SETTING.match, arguments))
        return "date sets the clock" if sets else ""
    if name in ("docker", "podman", "nerdctl"):
        shared = "prune" in operands[:2] or operands[:2] in (["volume", "rm"], ["system", "reset"])
        return f"{name} removes what others may use" if shared else ""
    if name in _RAISING:
        harmless = not arguments or _only_looks(name, arguments) or _harmless_raised(arguments)
        return "" if harmless else f"{name} runs with root's powers"
    if not _is_administrative(name, workspace) or _only_looks(name, arguments):
        return ""
    return f"{name} needs root's powers and acts on the machine"


_SETTING = re.compile(r"-[a-zA-Z]*s|--set")


def _removes_packages(name: str, arguments: Sequence[str]) -> str:
    """Return why a command removes installed packages, or an empty string."""
    first = next((word for word in arguments if word in _ADDING or not word.startswith("-")), "--version")
    adds = first in _ADDING or all(word.startswith("--") for word in arguments)
    return "" if adds else f"{name} {first} removes from the system"


def _only_looks(name: str, arguments: Sequence[str]) -> bool:
    """Return True if a program of administration only shows information."""
    if only_reads(name, arguments) or (name in _LISTING_ALONE and not arguments):
        return True
    if name == "sysctl":
        return not any(
            word.startswith(("-w", "-p", "--write", "--load", "--system")) or "=" in word for word in arguments
        )
    return arguments[:1] in _ASKED_OF_ANY or (
        arguments[:1] in (("-l",), ("-L",), ("--list",), ("--show",)) and name in LISTING
    )


_ASKED_OF_ANY = (("--version",), ("-V",), ("--help",))
_LISTING_ALONE = word_set("mount swapon ifconfig route arp zpool zfs sysctl")
LISTING = word_set(
    "fdisk sfdisk gdisk sgdisk parted iptables ip6tables mount swapon chage blkid losetup auditctl update-grub efibootmgr"
)
"""Programs that only list with `-l`, `-L` or `--list`."""


def _harmless_raised(arguments: Sequence[str]) -> bool:
    """Return True if the command run as root only reads or installs; changes of files are judged elsewhere."""
    words = [word for word in arguments if "=" not in word]
    while words and words[0].startswith("-"):
        words.pop(0)
    if not words:
        return all(word in _RAISED_LOOKS for word in arguments)
    name = os.path.basename(words[0])
    if name in _PACKAGES or name in REMOVING | RIGHTS | {"cp", "mv", "mkdir", "touch", "ln", "tee", "install"}:
        return True
    return only_reads(name, words[1:])


def only_reads(name: str, arguments: Sequence[str]) -> bool:
    """Return True if a command is known to only read."""
    return fits_reading(name, (name, *arguments))


def _is_administrative(name: str, workspace: Workspace) -> bool:
    """Return True for a program that needs root.

    It is in an administration folder, is setuid root, or is in the table.
    """
    if name in _ADMINISTRATIVE or name.startswith(("mkfs", "fsck.")):
        return True
    return bool(name) and "/" not in name and _by_file(name, workspace.path)


@lru_cache(maxsize=1024)
def _by_file(name: str, path: str) -> bool:
    try:
        file = located(name, path, Path("/"))
        if not file:
            return False
        status = os.stat(file)
    except (OSError, ValueError):
        return False
    folder = os.path.realpath(os.path.dirname(file))
    raised = bool(status.st_mode & stat.S_ISUID) and status.st_uid == 0
    return (folder in _SBIN and name not in _EVERYDAY) or (raised and name not in _EVERYDAY)


_EVERYDAY = word_set(
    "ping ping6 traceroute fusermount fusermount3 nginx apache2ctl ldconfig tcpdump newgrp crontab at bwrap sshd php-fpm ip ss lsof"
)
"""Programs in those folders that developers run every day."""


def kills(name: str, arguments: Sequence[str]) -> str:
    """Return why a command may end processes that the session did not start, or an empty string."""
    options = [word for word in arguments if word.startswith("-")]
    operands = [word for word in arguments if not word.startswith("-")]
    if name == "kill":
        first = arguments[0] if arguments else ""
        signal = 2 if first in ("-s", "-n") else 1 if re.fullmatch(r"-(?:\d+|[A-Z]+\d?)", first) else 0
        everything = not {"1", "-1"}.isdisjoint(arguments[signal:])
        return "kill of process 1 or of all processes" if everything else ""
    if name in ("pkill", "killall", "skill", "slay"):
        by_owner = any(re.match(r"-[a-zA-Z]*[uUGgst]\Z|--(uid|euid|user|group|session)", word) for word in options)
        patterns = [word for word in operands if re.search(r"\w\w", word)]
        if name == "pkill" and (by_owner and len(operands) < 2):
            return "pkill ends all processes of a user"
        if by_owner and name != "pkill":
            return f"{name} ends all processes of a user"
        return "" if patterns or not operands else f"{name} {operands[0]} ends whatever runs"
    return ""


BY_NUMBER = "kill *"
"""Pattern of the rule for processes that `kill` names by number."""
_SIGNAL = re.compile(rf"-(?:\d{{1,2}}|(?:SIG)?(?:{'|'.join(one.name[3:] for one in signal.Signals)}))")


def numbers_ended(words: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the single processes that `kill` ends; none if it could end others."""
    name, *arguments = words
    named = arguments[1:] if arguments and _SIGNAL.fullmatch(arguments[0]) else arguments
    plain = name == "kill" and all(re.fullmatch(r"[1-9]\d{0,8}", word) and word != "1" for word in named)
    return tuple(map(int, named)) if plain else ()


_LISTED = re.compile(
    r"lsof(?=[^|]*:\d\d)(?: -(?:[a-zA-Z]*t[a-zA-Z]*|[nPi]+)(?::\d+)?| -i ?(?:tcp|udp|TCP|UDP)?:\d+| -s ?TCP:LISTEN| :\d+)+"
    r"|pgrep(?: -[fx])? (?=\S*\w{3})[\w./-]{4,}"
)
"""A command that prints the numbers of processes: those that serve a port, or have a name."""
_KILLED = re.compile(
    rf"(?:{_LISTED.pattern})(?: 2>/dev/null)? \| xargs(?: -r)? kill(?: {_SIGNAL.pattern})?(?=\s*(?:\Z|[;&|\n)]|2>))"
)
_OF_LISTED = re.compile(
    rf"(?P<start>(?:\A|[;&|\n(])\s*)kill(?P<signal> -\w+)? \"?\$\((?P<list>{_LISTED.pattern})\)\"?(?=\s*(?:\Z|[;&|\n)]|2>))"
)


def listed_first(text: str) -> str:
    """Return a line with `lsof … | xargs kill` in place of `kill $(lsof …)`, which means the same."""
    if "kill" not in text or "$(" not in text:
        return text
    return _OF_LISTED.sub(lambda found: f"{found['start']}{found['list']} | xargs kill{found['signal'] or ''}", text)


def ends_jobs(words: Sequence[str]) -> bool:
    """Return True for a `kill` of jobs such as `%1`: only the line's own shell has them."""
    named = [word for word in words[1:] if not _SIGNAL.fullmatch(word)]
    return words[:1] in (("kill",), ["kill"]) and bool(named) and all(map(_JOB.fullmatch, named))


_JOB = re.compile(r"%(?:\d+|[%+-])?")


def ends_only_listed(text: str) -> bool:
    """Return True if a line ends only processes by number, its own processes, and those that a list finds."""
    rest = _KILLED.sub("", listed_first(text))
    own = {name for name in _OWN.findall(rest) if len(re.findall(rf"\b{name}\b[=+\[]|(?<![$\w{{]){name}\b", rest)) == 1}
    for name in ("!", *own):
        rest = re.sub(rf"{_KILL}(?: {_SIGNAL.pattern})?(?: \"?\$\{{?{name}(?!\w)\}}?\"?)+{_KILL_ENDS}", "", rest)
    return re.search(rf"{_KILL}(?!(?: {_SIGNAL.pattern})?(?: \d+)+{_KILL_ENDS})", rest) is None


_KILL = r"(?<![\w./-])kill(?![\w.-])"
_KILL_ENDS = r"(?=\s*(?:\Z|[;&|\n)]|2>))"
_OWN = re.compile(r"(?:\A|[\s;&])(\w+)=\$!(?=\s*(?:\Z|[;&|\n]))")
"""A variable with the number of a process that the line itself has started."""


def ends_listed(words: Sequence[str], before: str) -> bool:
    """Return True if `xargs kill` ends the processes whose numbers the command `before` prints."""
    rest = [word for word in words[1:] if word not in ("-r", "--no-run-if-empty")]
    plain = words[0] == "xargs" and rest[:1] == ["kill"] and len(rest) < 3 and all(map(_SIGNAL.fullmatch, rest[1:]))
    return plain and _LISTED.fullmatch(before) is not None


def name_ended(words: Sequence[str]) -> str:
    """Return the one name by which `pkill` or `killall` finds processes; empty if they find them in another way."""
    name, *arguments = words
    named = [word for word in arguments if not _SIGNAL.fullmatch(word) and word not in ("-f", "-x", "-n", "-fx", "-xf")]
    plain = (
        name in ("pkill", "killall")
        and len(named) == 1
        and re.fullmatch(r"(?=.*\w{3})[\w./ :](?:\.\*|[\w./ :-]){3,}", named[0], re.ASCII)
    )
    return named[0] if plain else ""


def found_by_name(words: Sequence[str], workspace: Workspace) -> Mapping[str, bool] | None:
    """Return the processes that `pkill` or `killall` may find by one name (see `Workspace.finds`); None if unknown."""
    name = name_ended(words)
    by_file = words[0] == "killall" and "/" in name
    return workspace.finds(name) if name and not by_file else None
