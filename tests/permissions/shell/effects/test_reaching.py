"""Mode yolo asks before a command reaches past the workspace. The folders of these tests need not exist: all is told by the words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.permissions.shell.effects.reaching import reach
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import NO_RULES, explain_command
from tests.tables import each_row

HOME = Path("/home/me")
SHOP = HOME / "projects/shop"
WORKSPACE = Workspace(
    SHOP,
    (SHOP,),
    HOME,
    (HOME / ".config/agentcli",),
    path="/nonexistent",
    env={"TMPDIR": "/tmp"},
    shell_env=lambda: {"HOME": str(HOME), "TMPDIR": "/tmp", "PWD": str(SHOP)},
)


def decided(command: str, mode: Mode = "yolo", rules: Rules = NO_RULES, workspace: Workspace = WORKSPACE) -> Decision:
    return explain_command(command, workspace, mode, rules)


def test_yolo_asks_before_what_reaches_past_the_workspace() -> None:
    reaching = commands("reaching.txt")
    assert len(reaching) > 250
    assert [command for command in reaching if decided(command).decision == "allow"] == []


def test_yolo_asks_about_no_daily_work() -> None:
    staying = commands("staying.txt")
    assert len(staying) > 250
    assert [(command, decided(command).why) for command in staying if decided(command).decision != "allow"] == []


def test_a_rule_for_all_commands_is_no_more_than_yolo_and_one_that_names_the_command_allows_it() -> None:
    assert decided("rm -f ~/x", "ask", parse_rules(allow=["bash"])).decision == "ask"
    assert decided("rm -f ~/x", "ask", parse_rules(allow=["bash(*)"])).decision == "ask"
    assert decided("rm -f ~/x", "yolo", parse_rules(allow=["bash(rm -f ~/x)"])).decision == "allow"
    assert (
        decided("systemctl restart web", "yolo", parse_rules(allow=["bash(systemctl restart *)"])).decision == "allow"
    )


def test_the_question_says_why_and_may_be_settled_for_good() -> None:
    asked = decided("systemctl restart web")
    assert asked.rule == "past the workspace"
    assert "services" in asked.why
    assert asked.always == "bash(systemctl restart web)"


def test_one_setting_lifts_it_for_a_container() -> None:
    lifted = replace(WORKSPACE, destroys=True)
    assert decided("rm -f /etc/passwd && shutdown -h now", workspace=lifted).decision == "allow"


def test_root_is_asked_as_well() -> None:
    root = replace(
        WORKSPACE,
        cwd=Path("/root/shop"),
        roots=(Path("/root/shop"),),
        home=Path("/root"),
        shell_env=lambda: {"HOME": "/root"},
    )
    for command in ("rm -rf ~/other", "rm /etc/hosts", "rm -rf /home/me", "cd .. && rm x", "usermod -p x root"):
        assert decided(command, workspace=root).decision == "ask", command
    for command in ("rm -rf node_modules", "apt-get install -y jq", "rm -rf /tmp/x", "cd src && rm x"):
        assert decided(command, workspace=root).decision == "allow", command


def test_a_variable_of_the_environment_has_its_value() -> None:
    def with_env(**more: str) -> Workspace:
        return replace(WORKSPACE, shell_env=lambda: more)

    assert decided('rm -rf "$OUT"/*').decision == "ask", "an empty variable leaves /*"
    assert decided('rm -rf "$OUT"/*', workspace=with_env(OUT="build")).decision == "allow"
    assert decided('rm -rf "$OUT"/*', workspace=with_env(OUT="/srv/www")).decision == "ask"
    assert decided('rm -rf "${OUT:-build}"').decision == "allow"
    assert decided('rm -rf "${OUT:-/srv}"', workspace=with_env(OUT="build")).decision == "allow"


@each_row(
    "command", ['rm -rf "$OUT"', ". ./env.sh; rm -rf $OUT", "export $(cat x); rm -rf $OUT", 'rm -rf "${OUT:-build}"']
)
def test_a_variable_that_the_program_does_not_have_may_be_set_for_the_command(command: str) -> None:
    unknown = replace(WORKSPACE, shell_env=lambda: None)
    assert decided(command, workspace=unknown).why == "rm of what only the shell knows"


def test_a_variable_is_known_to_be_empty_if_the_command_does_not_get_it() -> None:
    assert decided('rm -rf "$OUT"').decision == "allow"
    assert decided("unset OUT; rm -rf $OUT", workspace=replace(WORKSPACE, shell_env=lambda: None)).decision == "allow"
    for command in ('rm -rf "$HOSTNAME"', ". ./env.sh; rm -rf $OUT", "export $(cat x); rm -rf $OUT"):
        assert decided(command).decision == "ask", command


def test_a_program_in_a_folder_of_administration_needs_no_entry_in_a_table(tmp_path: Path) -> None:
    raised = tmp_path / "raises"
    raised.write_text("#!/bin/sh\n")
    raised.chmod(0o4755)
    workspace = replace(WORKSPACE, path=str(tmp_path))
    owned_by_root = raised.stat().st_uid == 0
    assert decided("raises x", workspace=workspace).decision == ("ask" if owned_by_root else "allow")
    raised.chmod(0o755)
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "plain").chmod(0o755)
    assert decided("plain x", workspace=workspace).decision == "allow"


@each_row(
    "command",
    [
        "(" * 3_000 + "ls" + ")" * 3_000,
        "$(" * 1_500 + "ls" + ")" * 1_500,
        'echo "$(' * 60 + ')"' * 60,
        "eval " * 60 + "rm -rf ~",
        "xargs " * 300 + "rm",
        "f() { f; f; rm -rf ~; }; f",
        "rm " + "{a,b}" * 400,
        f"python3 -c 'import os; os.remove({'+'.join(['a'] * 1_500)})'",
    ],
)
def test_what_goes_too_deep_to_be_followed_asks(command: str) -> None:
    assert decided(command).decision != "allow"


def test_the_reason_names_what_is_known_of_a_line_in_loops_with_too_many_rounds_to_try_all() -> None:
    rounds = " ".join(map(str, range(20)))

    def why(target: str) -> str:
        return decided(f'for a in {rounds}; do for b in {rounds}; do rm -rf {target} "$a" "$b"; done; done').why

    assert why("/etc").startswith("rm of /etc ")
    assert why("build") == "rm of what only the shell knows"


def test_a_link_that_leads_out_may_be_removed_or_renamed_and_nothing_is_written_through_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for command in ("rm outward", "unlink outward", "gio trash outward", "mv outward x", "touch outward"):
        assert decided(command, workspace=workspace).decision == "allow", command
    written = "truncate -s 0; tee; chmod 600; chown me; rsync -a src/; install README.md; sed -i s/a/b/; cp README.md; mv README.md"
    for begun in written.split("; "):
        name = begun.split()[0]
        asked = decided(f"{begun} outward", workspace=workspace)
        assert (asked.decision, asked.why) == ("ask", f"{name} of outward reaches past the workspace")
    for command in (
        "mv -t outward README.md",
        "cp -t outward README.md",
        "ln -sf README.md outward",
        "gio trash outward/hosts",
    ):
        assert decided(command, workspace=workspace).decision == "ask", command


# Which commands act on the machine or past the workspace, and in which words: program by program, option by option.


REACHING = {
    "apt remove removes from the system": [
        "apt remove jq",
    ],
    "apt-get autoremove removes from the system": [
        "apt-get --yes autoremove",
    ],
    "dpkg x removes from the system": [
        "dpkg -r x",
        "dpkg --purge x",
    ],
    "pacman jq removes from the system": [
        "pacman -R jq",
    ],
    "brew uninstall removes from the system": [
        "brew uninstall jq",
    ],
    "rpm x removes from the system": [
        "rpm -e x",
    ],
    "systemctl commands the system's services": [
        "systemctl restart web",
    ],
    "service commands the system's services": [
        "service web start",
    ],
    "timedatectl commands the system's services": [
        "timedatectl set-time 12:00",
    ],
    "loginctl commands the system's services": [
        "loginctl terminate-user me",
    ],
    "ip changes the network": [
        "ip link set eth0 down",
        "ip route add default via 1.2.3.4",
        "ip a flush dev eth0",
    ],
    "crontab changes what the system starts": [
        "crontab -e",
        "crontab x",
        "crontab",
    ],
    "date sets the clock": [
        "date -s 12:00",
        "date -us 12:00",
        "date --set=12:00",
        "date 010112002026",
    ],
    "docker removes what others may use": [
        "docker system prune",
        "docker volume rm x",
        "docker image prune -a",
        "docker system reset",
    ],
    "podman removes what others may use": [
        "podman volume prune",
    ],
    "nerdctl removes what others may use": [
        "nerdctl volume rm x",
    ],
    "sudo runs with root's powers": [
        "sudo make install",
        "sudo -u www ls",
        "sudo reboot",
    ],
    "su runs with root's powers": [
        "su - me",
    ],
    "runuser runs with root's powers": [
        "runuser -l me",
    ],
    "mount needs root's powers and acts on the machine": [
        "mount /dev/sda1 /mnt",
    ],
    "swapon needs root's powers and acts on the machine": [
        "swapon /dev/sda2",
    ],
    "sysctl needs root's powers and acts on the machine": [
        "sysctl kernel.panic=1",
        "sysctl -w kernel.panic",
        "sysctl -p",
        "sysctl --system",
        "sysctl --load=x",
    ],
    "fdisk needs root's powers and acts on the machine": [
        "fdisk",
        "fdisk /dev/sda",
    ],
    "iptables needs root's powers and acts on the machine": [
        "iptables -F",
    ],
    "ifconfig needs root's powers and acts on the machine": [
        "ifconfig eth0 down",
    ],
    "route needs root's powers and acts on the machine": [
        "route add default gw 1.2.3.4",
    ],
    "arp needs root's powers and acts on the machine": [
        "arp -d x",
    ],
    "zpool needs root's powers and acts on the machine": [
        "zpool list",
    ],
    "zfs needs root's powers and acts on the machine": [
        "zfs list",
    ],
    "modprobe needs root's powers and acts on the machine": [
        "modprobe x",
    ],
    "useradd needs root's powers and acts on the machine": [
        "useradd x",
    ],
    "chage needs root's powers and acts on the machine": [
        "chage -d 0 me",
    ],
    "passwd needs root's powers and acts on the machine": [
        "passwd",
        "passwd -S",
    ],
    "reboot needs root's powers and acts on the machine": [
        "reboot",
    ],
    "init needs root's powers and acts on the machine": [
        "init 6",
    ],
    "mkfs.ext4 needs root's powers and acts on the machine": [
        "mkfs.ext4 x",
    ],
    "mkfs needs root's powers and acts on the machine": [
        "mkfs x",
    ],
    "fsck.ext4 needs root's powers and acts on the machine": [
        "fsck.ext4 x",
    ],
    "fsck needs root's powers and acts on the machine": [
        "fsck x",
    ],
    "tc needs root's powers and acts on the machine": [
        "tc -s",
    ],
    "efibootmgr needs root's powers and acts on the machine": [
        "efibootmgr",
    ],
    "kill of process 1 or of all processes": [
        "kill 1",
        "kill -9 1",
        "kill -9 -1",
        "kill -s TERM 1",
        "kill -HUP 1",
        "kill -USR1 1",
    ],
    "pkill . ends whatever runs": [
        "pkill -f .",
    ],
    "pkill x ends whatever runs": [
        "pkill x",
    ],
    "pkill ends all processes of a user": [
        "pkill -u me",
        "pkill -U me",
        "pkill -G 100",
        "pkill --uid me",
        "pkill -fu me",
        "pkill -t tty1",
    ],
    "killall ends all processes of a user": [
        "killall -u me",
        "killall -u me node",
        "killall --user me",
        "killall -g x",
    ],
    "killall . ends whatever runs": [
        "killall .",
    ],
    "skill ends all processes of a user": [
        "skill -u me",
    ],
    "rm of /etc/x reaches past the workspace": [
        "rm /etc/x",
        "rm -- /etc/x",
        "bash -c 'rm /etc/x'",
        "python3 -c 'import os; os.system(\"rm /etc/x\")'",
    ],
    "rmdir of ~/x reaches past the workspace": [
        "rmdir ~/x",
    ],
    "shred of /etc/x reaches past the workspace": [
        "shred -u /etc/x",
    ],
    "gzip of /etc/x reaches past the workspace": [
        "gzip /etc/x",
    ],
    "zstd of ~/x reaches past the workspace": [
        "zstd ~/x",
    ],
    "trash of ~/x reaches past the workspace": [
        "trash ~/x",
    ],
    "rimraf of ../x reaches past the workspace": [
        "rimraf ../x",
    ],
    "gio of ~/x reaches past the workspace": [
        "gio trash ~/x",
        "gio move ~/x y",
    ],
    "mv of /etc/y reaches past the workspace": [
        "mv x /etc/y",
    ],
    "mv of /etc/x reaches past the workspace": [
        "mv /etc/x y",
    ],
    "mv of /etc reaches past the workspace": [
        "mv x y /etc",
        "mv -t /etc x",
        "mv --target-directory=/etc x",
        "mv --target-directory /etc x",
        "mv --suffix .b x /etc",
    ],
    "cp of /etc/y reaches past the workspace": [
        "cp x /etc/y",
    ],
    "cp of /etc reaches past the workspace": [
        "cp -t /etc x",
    ],
    "cp of ~ reaches past the workspace": [
        "cp -r x y ~",
    ],
    "install of /usr/bin/x reaches past the workspace": [
        "install x /usr/bin/x",
    ],
    "install of /usr/bin/y reaches past the workspace": [
        "install -m 755 x /usr/bin/y",
    ],
    "ln of /etc/x reaches past the workspace": [
        "ln -s y /etc/x",
    ],
    "link of /etc/x reaches past the workspace": [
        "link x /etc/x",
    ],
    "chmod of /etc/x reaches past the workspace": [
        "chmod 600 /etc/x",
    ],
    "chmod of ~ reaches past the workspace": [
        "chmod -R 777 ~",
    ],
    "chown of /srv/x reaches past the workspace": [
        "chown me /srv/x",
    ],
    "setfacl of /etc/x reaches past the workspace": [
        "setfacl -m u:me:r /etc/x",
    ],
    "tee of /etc/x reaches past the workspace": [
        "tee /etc/x",
    ],
    "tee of ~/x reaches past the workspace": [
        "tee -a ~/x",
    ],
    "truncate of /etc/x reaches past the workspace": [
        "truncate -s 0 /etc/x",
    ],
    "sponge of /etc/x reaches past the workspace": [
        "sponge /etc/x",
    ],
    "dd of /etc/y reaches past the workspace": [
        "dd if=x of=/etc/y",
    ],
    "dd of /dev/sda reaches past the workspace": [
        "dd of=/dev/sda",
    ],
    "sed of /etc/x reaches past the workspace": [
        "sed -i s/a/b/ /etc/x",
        "sed -i -e s/a/b/ /etc/x",
        "sed -ie s/a/b/ /etc/x",
        "sed --in-place s/a/b/ /etc/x",
        "sed -n -i p /etc/x",
        "sed -i -f s.sed /etc/x",
        "sed --expression s/a/b/ -i /etc/x",
        "sed --expression=s/a/b/ -i /etc/x",
    ],
    "gsed of /etc/x reaches past the workspace": [
        "gsed -i s/a/b/ /etc/x",
    ],
    "perl of /etc/x reaches past the workspace": [
        "perl -pi -e s/a/b/ /etc/x",
        "perl -pie s/a/b/ /etc/x",
    ],
    "ruby of /etc/x reaches past the workspace": [
        "ruby -i -e x /etc/x",
    ],
    "rsync of /srv reaches past the workspace": [
        "rsync -a x /srv",
        "rsync -e ssh x /srv",
    ],
    "find of /etc/… reaches past the workspace": [
        "find /etc -delete",
    ],
    "find of ~/… reaches past the workspace": [
        "find . ~ -delete",
    ],
    "find of /etc/x reaches past the workspace": [
        "find . -fprint /etc/x",
    ],
    "find of ~/x reaches past the workspace": [
        "find . -fls ~/x",
    ],
    "sort of /etc/x reaches past the workspace": [
        "sort -o /etc/x y",
        "sort -uo /etc/x y",
        "sort --output=/etc/x y",
        "sort --output /etc/x y",
        "sort -o/etc/x y",
    ],
    "curl of /etc/x reaches past the workspace": [
        "curl -o /etc/x http://a",
        "curl -sSLo /etc/x http://a",
        "curl -D /etc/x http://a",
        "curl --dump-header=/etc/x http://a",
    ],
    "curl of /etc reaches past the workspace": [
        "curl --output-dir /etc -O http://a",
    ],
    "wget of /etc/x reaches past the workspace": [
        "wget -O /etc/x http://a",
    ],
    "wget of /etc reaches past the workspace": [
        "wget -P /etc http://a",
        "wget --directory-prefix=/etc http://a",
    ],
    "unzip of /etc reaches past the workspace": [
        "unzip x.zip -d /etc",
    ],
    "tar of /etc reaches past the workspace": [
        "tar xf x.tar -C /etc",
        "tar --extract -f x -C /etc",
        "tar -C /etc -xf x",
        "tar --directory=/etc -xf x",
    ],
    "tar of /usr/local reaches past the workspace": [
        "tar -xzf x.tgz -C /usr/local",
    ],
    "tar of ~ reaches past the workspace": [
        "tar --get -C ~ -f x",
    ],
    "bsdtar of /etc reaches past the workspace": [
        "bsdtar -xf x -C /etc",
    ],
    "patch of /etc reaches past the workspace": [
        "patch -d /etc",
    ],
    "patch of /etc/x reaches past the workspace": [
        "patch -o /etc/x",
    ],
    "writing of /etc/x reaches past the workspace": [
        "echo x > /etc/x",
        "> /etc/x",
        "echo x 2> /etc/x",
    ],
    "writing of ~/x reaches past the workspace": [
        "echo x >> ~/x",
    ],
    "writing of /dev/sda reaches past the workspace": [
        "echo x > /dev/sda",
    ],
    "writing of /etc/* reaches past the workspace": [
        "echo x > /etc/*",
    ],
    "git clean of /srv reaches past the workspace": [
        "git -C /srv clean -fd",
    ],
    "git reset of ~/x reaches past the workspace": [
        "git -C ~/x reset --hard",
    ],
    "git checkout of /srv reaches past the workspace": [
        "git --work-tree=/srv checkout .",
        "git --work-tree /srv checkout .",
        "GIT_WORK_TREE=/srv git checkout .",
    ],
    "git reset of /srv/.git reaches past the workspace": [
        "git --git-dir=/srv/.git reset --hard",
        "GIT_DIR=/srv/.git git reset --hard",
    ],
    "git rm of /srv/x reaches past the workspace": [
        "git rm /srv/x",
    ],
    "git mv of ../x reaches past the workspace": [
        "git mv ../x y",
    ],
    "git clean of ~/x reaches past the workspace": [
        "git clean -fd ~/x",
    ],
    "git gc of .. reaches past the workspace": [
        "git -C .. gc",
    ],
    "x is given ~, all of it": [
        "./x ~",
    ],
    "x is given /, all of it": [
        "./x /",
        "./x /:y",
    ],
    "x is given .., all of it": [
        "./x ..",
    ],
    "x is given ~/, all of it": [
        "./x ~/",
    ],
    "x is given /*, all of it": [
        "./x /*",
    ],
    "make is given /, all of it": [
        "make -C /",
    ],
    "npm is given /, all of it": [
        "npm --prefix / x",
    ],
    "docker is given /, all of it": [
        "docker run -v /:/host x",
        "docker run --volume=/:/x y",
        "docker run --mount type=bind,source=/,target=/x y",
        "docker run --mount=type=bind,src=/,target=/x y",
    ],
    "docker is given ~, all of it": [
        "docker run -v ~:/x y",
    ],
    "python3: its script loses or writes of /etc/x reaches past the workspace": [
        "python3 -c 'import os; os.remove(\"/etc/x\")'",
    ],
    "node: its script loses or writes of /etc/x reaches past the workspace": [
        'node -e \'require("fs").unlinkSync("/etc/x")\'',
    ],
    "rm of ~/.config/agentcli/x reaches past the workspace": [
        "rm ~/.config/agentcli/x",
    ],
    "rm of ~ reaches past the workspace": [
        "rm ~",
    ],
    "rm of .. reaches past the workspace": [
        "rm ..",
    ],
    "rm of /tmp reaches past the workspace": [
        "rm -r /tmp",
    ],
    "rm of / reaches past the workspace": [
        "rm /$X",
    ],
    "rm of ../ reaches past the workspace": [
        "rm ../$X",
    ],
    "rm of /etc/y reaches past the workspace": [
        'rm "x /etc/y"',
    ],
    "rm of /e?c reaches past the workspace": [
        "rm /e?c",
    ],
    "rm of x reaches past the workspace": [
        "cd / && rm x",
    ],
    "rm of ../../x reaches past the workspace": [
        "cd sub && rm ../../x",
    ],
}
STAYING = [
    "apt",
    "apt install jq",
    "apt -y install jq",
    "apt list --installed",
    "dpkg -i x.deb",
    "dpkg -l",
    "pacman -S jq",
    "brew install jq",
    "brew doctor",
    "rpm -qa",
    "npm install x",
    "systemctl",
    "systemctl status web",
    "systemctl --user status",
    "systemctl --failed",
    "service --status-all",
    "timedatectl",
    "launchctl list",
    "nmcli",
    "loginctl list-sessions",
    "ip",
    "ip addr",
    "ip addr show",
    "crontab -l",
    "date",
    "date +%s",
    "date -d yesterday",
    "date -R",
    "docker run x",
    "docker ps",
    "docker rm x",
    "sudo -l",
    "sudo -v",
    "sudo ls",
    "sudo cat /etc/hosts",
    "sudo apt install jq",
    "sudo touch x",
    "sudo rm x",
    "sudo A=b ls",
    "sudo -n true",
    "doas ls",
    "pkexec ls",
    "mount",
    "mount -l",
    "swapon",
    "swapon --show",
    "sysctl",
    "sysctl -a",
    "sysctl kernel.panic",
    "sysctl -n kernel.panic",
    "fdisk -l",
    "fdisk -l /dev/sda",
    "iptables -L",
    "iptables --list",
    "ip6tables -L -n",
    "ifconfig",
    "route",
    "arp",
    "zpool",
    "modprobe --version",
    "modprobe -V",
    "useradd --help",
    "chage -l me",
    "reboot --help",
    "parted -l",
    "parted --list",
    "ping x",
    "kill 123",
    "kill -9 123",
    "kill -1",
    "kill -s 1 123",
    "kill -n 1 123",
    "kill -HUP 123",
    "kill -l",
    "kill %1",
    "kill",
    "pkill node",
    "pkill -f 'npm start'",
    "pkill -u me node",
    "pkill -9",
    "killall node",
    "killall -9 node",
    "killall",
    "slay me",
    "rm x",
    "rm -rf x",
    "rm -- -x",
    "rm -",
    "shred -n 3 x",
    "shred -n /etc/x x",
    "gzip x",
    "unlink x",
    "gio open ~/x",
    "gio remove x",
    "mv x y",
    "mv x /dev/null",
    "mv -t sub x",
    "mv -S .b x y",
    "cp x y",
    "cp /etc/x y",
    "cp x",
    "cp -t sub /etc/x",
    "cp -S /etc x y",
    "cp --suffix /etc x y",
    "install -m 755 x y",
    "install -o root -g root x y",
    "ln -s /etc/x y",
    "ln x",
    "chmod 600 x",
    "chown me x",
    "chgrp x y",
    "chattr +i x",
    "tee x",
    "truncate -s 0 x",
    "truncate -r /etc/x y",
    "truncate --size /etc/x y",
    "dd if=/etc/x of=y",
    "dd of=/dev/null",
    "sed -i s/a/b/ x",
    "sed s/a/b/ /etc/x",
    "sed -i -e s/a/b/ x",
    "perl -i -e s/a/b/ x",
    "perl -e s/a/b/ /etc/x",
    "rsync -a x host:/srv",
    "rsync -a x me@host:y",
    "rsync -a /srv/x y",
    "rsync x",
    "rsync -a --exclude /etc x y",
    "find . -delete",
    "find -L sub -delete",
    "find -delete",
    "find / -name x",
    "find . -fprint x",
    "find . ! -name x -delete",
    "find \\( -name x \\) -delete",
    "sort -o x y",
    "sort /etc/x",
    "curl -o x http://a",
    "curl -O http://a",
    "wget -q -O - http://a",
    "unzip x.zip",
    "unzip -d sub x.zip",
    "tar cf x.tar -C /etc .",
    "tar xf x.tar -C sub",
    "patch -p1",
    "split x",
    "echo x > x",
    "echo x > /dev/null",
    "echo x > /dev/stderr",
    "echo x > /dev/fd/3",
    "echo x > $F",
    'echo x > "sub/$F"',
    "echo x > sub/*",
    "git status",
    "git -C /srv status",
    "git clean -fd",
    "git -c core.x=1 clean -fd",
    "git -C sub clean -fd",
    "git reset --hard",
    "git checkout -- x",
    "git stash",
    "git -C /srv stash",
    "git",
    "git gc",
    "./x ~/x",
    "./x -",
    "./x /etc",
    "cat /",
    "ls ~",
    "tar cf x ~",
    "grep -r x /",
    "code ~",
    "docker run -v ./x:/y z",
    "docker exec x rm -rf /",
    "docker run x rm -rf /etc",
    "python3 -c 'import os; os.remove(\"x\")'",
    "bash -c 'rm x'",
    "rm /tmp/x",
    "rm /tmp/*",
    "rm /var/tmp/x",
    "rm /dev/shm/x",
    "tee /tmp",
    "cp x /tmp",
    "mv x /tmp",
    "rm $X",
    "rm sub/$X",
    'rm "a b"',
    "rm a?b",
    "rm [ab]",
    "rm ../shop/x",
    "rm ../shop",
    "cd sub && rm ../x",
    "cd /tmp && rm x",
]


@each_row("why", REACHING)
def test_a_command_that_reaches_out_is_told_by_what_it_does(why: str) -> None:
    assert {command: reach(command, WORKSPACE) for command in REACHING[why]} == dict.fromkeys(REACHING[why], why)


@each_row("command", STAYING)
def test_a_command_stays_in_the_workspace_though_it_looks_like_one_that_does_not(command: str) -> None:
    assert reach(command, WORKSPACE) == ""
