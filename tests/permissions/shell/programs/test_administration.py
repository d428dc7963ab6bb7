"""Commands that act on the machine as root, or end processes of others."""

from __future__ import annotations

import shlex
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.programs.administration import administers, kills
from tests.tables import each_row

NOWHERE = Workspace(Path("/nowhere"), path="/nonexistent")
ROOT = "needs root's powers and acts on the machine"
RAISED = "runs with root's powers"
SERVICES = "commands the system's services"


@each_row(
    ("command", "why"),
    [
        ("apt", ""),
        ("apt update", ""),
        ("apt install x", ""),
        ("apt -y install x", ""),
        ("apt remove x", "apt remove removes from the system"),
        ("apt -y remove x", "apt remove removes from the system"),
        ("apt --version", ""),
        ("apt --dry-run --yes", ""),
        ("apt -x", ""),
        ("pacman -S x", ""),
        ("pacman -R x", "pacman x removes from the system"),
        ("dpkg -l", ""),
        ("systemctl", ""),
        ("systemctl --failed", ""),
        ("systemctl status x", ""),
        ("systemctl --user status x", ""),
        ("systemctl restart x", f"systemctl {SERVICES}"),
        ("service x restart", f"service {SERVICES}"),
        ("service x status", ""),
        ("ip", ""),
        ("ip addr show", ""),
        ("ip addr add x", "ip changes the network"),
        ("ip link set x up", "ip changes the network"),
        ("crontab -l", ""),
        ("crontab -u x -l", "crontab changes what the system starts"),
        ("crontab x", "crontab changes what the system starts"),
        ("crontab", "crontab changes what the system starts"),
        ("date", ""),
        ("date +%s", ""),
        ("date -d tomorrow", ""),
        ("date -s x", "date sets the clock"),
        ("date -us x", "date sets the clock"),
        ("date --set=x", "date sets the clock"),
        ("date 01010000", "date sets the clock"),
        ("docker ps", ""),
        ("docker system prune", "docker removes what others may use"),
        ("docker prune", "docker removes what others may use"),
        ("docker -D volume rm x", "docker removes what others may use"),
        ("docker volume ls", ""),
        ("podman system reset", "podman removes what others may use"),
        ("docker run x prune", ""),
        ("sudo", ""),
        ("sudo -l", ""),
        ("sudo -k -n", ""),
        ("sudo -x", f"sudo {RAISED}"),
        ("sudo apt install x", ""),
        ("sudo -E apt install x", ""),
        ("sudo A=1 apt install x", ""),
        ("sudo rm x", ""),
        ("sudo /bin/cp a b", ""),
        ("sudo cat x", ""),
        ("sudo find / -name x", ""),
        ("sudo find / -delete", f"sudo {RAISED}"),
        ("sudo make", f"sudo {RAISED}"),
        ("sudo sed -i x y", f"sudo {RAISED}"),
        ("su", ""),
        ("su -", f"su {RAISED}"),
        ("shutdown now", f"shutdown {ROOT}"),
        ("shutdown", f"shutdown {ROOT}"),
        ("shutdown --help", ""),
        ("shutdown --version x", ""),
        ("shutdown x --version", f"shutdown {ROOT}"),
        ("shutdown -l", f"shutdown {ROOT}"),
        ("mount", ""),
        ("mount -l", ""),
        ("mount a b", f"mount {ROOT}"),
        ("fdisk", f"fdisk {ROOT}"),
        ("fdisk -l", ""),
        ("fdisk --list /dev/sda", ""),
        ("fdisk /dev/sda -l", f"fdisk {ROOT}"),
        ("sysctl", ""),
        ("sysctl a.b", ""),
        ("sysctl -a", ""),
        ("sysctl -w a.b=1", f"sysctl {ROOT}"),
        ("sysctl a.b=1", f"sysctl {ROOT}"),
        ("sysctl -p", f"sysctl {ROOT}"),
        ("mkfs.ext4 x", f"mkfs.ext4 {ROOT}"),
        ("fsck.vfat x", f"fsck.vfat {ROOT}"),
        ("make", ""),
        ("/sbin/x", ""),
    ],
)
def test_a_command_acts_on_the_machine_by_its_words(command: str, why: str) -> None:
    name, *arguments = shlex.split(command)
    assert administers(name, tuple(arguments), NOWHERE) == why


def test_a_program_that_only_root_has_is_known_by_its_file(tmp_path: Path) -> None:
    for name in ("setuid-tool", "plain-tool"):
        (tmp_path / name).touch(0o755)
    workspace = Workspace(Path("/nowhere"), path=str(tmp_path))
    assert administers("plain-tool", (), workspace) == ""
    assert administers("missing-tool", (), workspace) == ""
    owner = (tmp_path / "setuid-tool").stat().st_uid
    (tmp_path / "setuid-tool").chmod(0o4755)
    assert administers("setuid-tool", (), workspace) == (f"setuid-tool {ROOT}" if owner == 0 else "")
    (tmp_path / "ping").touch()
    (tmp_path / "ping").chmod(0o4755)
    assert administers("ping", (), workspace) == "", "developers run it every day"


ALL = "kill of process 1 or of all processes"


@each_row(
    ("command", "why"),
    [
        ("kill", ""),
        ("kill 12", ""),
        ("kill 1", ALL),
        ("kill -1", ""),
        ("kill -9 12", ""),
        ("kill -9 1", ALL),
        ("kill -9 -1", ALL),
        ("kill -TERM -1", ALL),
        ("kill -USR1 1", ALL),
        ("kill -HUP 12 1", ALL),
        ("kill -s KILL 1", ALL),
        ("kill -n 1 12", ""),
        ("kill -n 9 -1", ALL),
        ("kill -- -1", ALL),
        ("kill -l 1", ALL),
        ("pkill make", ""),
        ("pkill -f make", ""),
        ("pkill", ""),
        ("pkill .", "pkill . ends whatever runs"),
        ("pkill -u me", "pkill ends all processes of a user"),
        ("pkill -u me make", ""),
        ("pkill --euid=me", "pkill ends all processes of a user"),
        ("pkill -9u me", ""),
        ("pkill -fu me", "pkill ends all processes of a user"),
        ("killall make", ""),
        ("killall -u me", "killall ends all processes of a user"),
        ("killall -u me make", "killall ends all processes of a user"),
        ("killall a", "killall a ends whatever runs"),
        ("killall a make", ""),
        ("rm 1", ""),
    ],
)
def test_a_command_may_end_processes_of_others(command: str, why: str) -> None:
    name, *arguments = command.split()
    assert kills(name, tuple(arguments)) == why
