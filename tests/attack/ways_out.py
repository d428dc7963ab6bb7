"""Ways out of a box. Each is a script; `$OUT` is a folder outside, `$HOME/.ssh/id_rsa` a secret, `$PID` a process outside,
`$PTY` a terminal on which the secret was typed, `$KEY` shared memory that holds it.

An attempt succeeds if it changes anything outside, prints the secret or the word ESCAPED, reaches `$PORT` or a socket, or
changes what is protected in the workspace.
"""

SECRET = "the-secret-of-the-house"

ATTEMPTS: dict[str, str] = {
    "overwrite a file": 'echo x > "$OUT/victim"',
    "append to a file": 'echo x >> "$OUT/victim"',
    "create a file": 'touch "$OUT/new"',
    "remove a file": 'rm -f "$OUT/victim"',
    "rename a file": 'mv "$OUT/victim" "$OUT/moved"',
    "move a file over it": 'echo x > evil; mv -f evil "$OUT/victim"',
    "exchange two files": """python3 -c 'import ctypes,os; ctypes.CDLL(None).renameat2(-100, b"src/a", -100, os.environ["OUT"].encode()+b"/victim", 2)'""",
    "write through a symbolic link": 'ln -s "$OUT/victim" soft; echo x > soft',
    "write through a hard link": 'ln "$OUT/victim" hard; echo x > hard; chmod 777 hard',
    "write through a link to the folder": 'ln -s "$OUT" folder; echo x > folder/new',
    "change its mode": 'chmod 777 "$OUT/victim"',
    "change its mode by descriptor": """python3 -c 'import os; os.fchmod(os.open(os.environ["OUT"]+"/victim", os.O_RDONLY), 0o777)'""",
    "change its owner": 'chown 12345 "$OUT/victim"',
    "change its times": 'touch -d 1999-01-01 "$OUT/victim"',
    "set an attribute": """python3 -c 'import os; os.setxattr(os.environ["OUT"]+"/victim", "user.x", b"x")'; getfattr -d "$OUT/victim" 2>/dev/null | grep -q user.x && echo ESCAPED""",
    "cut a file short": 'truncate -s 0 "$OUT/victim"',
    "cut it short by opening": """python3 -c 'import os; os.open(os.environ["OUT"]+"/victim", os.O_RDONLY|os.O_TRUNC)'""",
    "copy over it": 'dd if=/dev/zero of="$OUT/victim" bs=1 count=4',
    "make a folder": 'mkdir "$OUT/folder"',
    "remove a folder": 'rmdir "$OUT/empty"',
    "climb out by dots": 'echo x > ../../../../../../../../../..$OUT/victim',
    "remount the system": 'mount -o remount,rw /; mount -o remount,bind,rw /; echo x > "$OUT/victim"',
    "mount over it": 'mount --bind . "$OUT"; mount -t tmpfs none "$OUT" && echo ESCAPED',
    "take the cover off the secret": 'umount -l "$HOME/.ssh"; umount "$HOME"; cat "$HOME/.ssh/id_rsa"',
    "a user namespace of its own": """unshare -Urm sh -c 'mount -o remount,rw /; mount -o remount,bind,rw /; echo x > "$OUT/victim"; umount -l "$HOME/.ssh"; cat "$HOME/.ssh/id_rsa"'""",
    "the namespaces of process 1": 'nsenter -t 1 -a touch "$OUT/new"; nsenter -t 1 -m touch "$OUT/new"',
    "the namespaces of a process outside": 'nsenter -t "$PID" -m touch "$OUT/new"; nsenter -t "$PPID" -m touch "$OUT/new"',
    "the root of process 1": 'echo x > "/proc/1/root$OUT/victim"; chroot /proc/1/root touch "$OUT/new"; cat "/proc/1/root$HOME/.ssh/id_rsa"',
    "the root of every process": 'for p in /proc/[0-9]*; do echo x > "$p/root$OUT/victim"; cat "$p/root$HOME/.ssh/id_rsa"; done',
    "the folder of every process": 'for p in /proc/[0-9]*; do echo x > "$p/cwd/../../../../../../..$OUT/victim"; done',
    "the kernel's core pattern": "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo ESCAPED",
    "the kernel's settings": "for f in kernel/modprobe vm/swappiness fs/suid_dumpable; do test -w /proc/sys/$f && cat /proc/sys/$f > /proc/sys/$f && echo ESCAPED; done",
    "the keys of the kernel": "test -w /proc/sysrq-trigger && printf '' > /proc/sysrq-trigger && echo ESCAPED",
    "the groups of processes": "for f in $(find /sys/fs/cgroup -name release_agent -o -name cgroup.procs | head -50); do (: >> $f) 2>/dev/null && echo $$ > $f && echo ESCAPED; done",
    "the settings of devices": "for f in /sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled /sys/power/state; do (: >> $f) 2>/dev/null && echo ESCAPED; done",
    "the disk itself": "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/dm-0; do head -c 1 $d 2>/dev/null | grep -qc . && echo ESCAPED; done",
    "a device of its own": "mknod disk b 254 0 && head -c 1 disk && echo ESCAPED; mknod mem c 1 1 && head -c 1 mem && echo ESCAPED",
    "the memory of the machine": "head -c 1 /dev/mem && echo ESCAPED; head -c 1 /dev/kmem && echo ESCAPED",
    "a file by its handle": """python3 -c '
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(struct.pack("=IiQ", 8, 1, 2) + bytes(120))
fd = libc.open_by_handle_at(os.open("/", os.O_RDONLY), handle, os.O_RDONLY)
print("ESCAPED" if fd >= 0 else ctypes.get_errno())
'""",
    "a signal to a process outside": 'kill -TERM "$PID"; kill -KILL "$PID"',
    "the debugger on a process outside": """python3 -c 'import ctypes,os; print("ESCAPED" if ctypes.CDLL(None).ptrace(16, int(os.environ["PID"]), 0, 0) == 0 else "")'""",
    "the memory of a process outside": '(head -c 0 "/proc/$PID/mem" && : >> "/proc/$PID/mem") 2>/dev/null && echo ESCAPED',
    "the environment of a process outside": 'tr "\\0" "\\n" < "/proc/$PID/environ"',
    "a connection over the network": 'exec 3<>/dev/tcp/127.0.0.1/$PORT; echo x >&3',
    "a datagram": 'echo x > /dev/udp/127.0.0.1/$PORT',
    "a connection over IPv6": """python3 -c 'import os,socket; socket.create_connection(("::1", int(os.environ["PORT"])), 2)'""",
    "a raw socket": """python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print("ESC" + "APED") if open("/proc/net/dev").read().count(":") > 1 else None'""",
    "a socket in the file system": """python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ["RUN"]+"/socket")'""",
    "a socket without a file": """python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect("\\0agentcli-"+os.environ["PORT"])'""",
    "read the secret": 'cat "$HOME/.ssh/id_rsa"; cat ~/.ssh/*',
    "read the secret through a link": 'ln -s "$HOME" house; cat house/.ssh/id_rsa; cp -r "$HOME/.ssh" stolen; cat stolen/*',
    "link the secret into the workspace": 'ln "$HOME/.ssh/id_rsa" key && cat key',
    "search for the secret": 'grep -rs the-secret "$HOME"',
    "write a hook": 'echo x > .git/hooks/pre-commit; echo x > .git/hooks/new; ln -s ../../src/a .git/hooks/post-commit',
    "change the repository's config": 'git config core.fsmonitor ./evil; echo "[core]" >> .git/config',
    "replace the repository": 'mv .git old && mkdir .git; rm -rf .git',
    "exchange the repository": """python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"src", -100, b".git", 2)'""",
    "change what agents read": 'echo x >> AGENTS.md; mv AGENTS.md old; rm -f AGENTS.md; echo x >> sub/CLAUDE.md',
    "change the editor's settings": 'echo x > .vscode/tasks.json; echo x > .vscode/new; rm -rf .vscode',
    "uncover what is protected": 'umount .git; umount -l .git; mount -o remount,bind,rw .git; echo x > .git/config',
    "a setuid program": """su -c 'touch "$OUT/new"' < /dev/null; sudo -n touch "$OUT/new"; pkexec --version > /dev/null 2>&1; grep -q '^NoNewPrivs:.1' /proc/self/status || echo ESCAPED""",
    "capabilities": "grep -E '^Cap(Eff|Prm|Amb|Inh):' /proc/self/status | grep -vq '0000000000000000$' && echo ESCAPED",
    "a job for later": '(echo "* * * * * touch $OUT/new" | crontab -) 2>/dev/null && echo ESCAPED; echo x > /etc/cron.d/agentcli-probe && echo ESCAPED; echo "touch $OUT/new" | at now',
    "the loader of all programs": 'echo x >> /etc/ld.so.preload && echo ESCAPED; echo x > /etc/profile.d/agentcli-probe.sh && echo ESCAPED; echo x >> "$HOME/.bashrc" && echo ESCAPED',
    "a file that was left open": 'for f in /proc/self/fd/*; do case "$(readlink $f)" in "$OUT"*) echo ESCAPED;; esac; done',
    "agents that hold keys": 'test -n "$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS" && echo ESCAPED',
    "shared memory": 'test -e /dev/shm/agentcli-probe && echo x > /dev/shm/agentcli-probe',
    "a survivor": '(sleep 0.5; echo x > "$OUT/victim"; kill "$PID") & disown',
    "the engine's socket": """python3 -c 'import socket
for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"):
    try: socket.socket(socket.AF_UNIX).connect(p); print("ESC" + "APED")
    except OSError: pass'""",
    "limits of a process outside": 'prlimit --pid "$PID" --cpu=0:0; prlimit --pid "$PID" --nofile=0:0 && echo ESCAPED',
    "the priority of a process outside": 'renice -n 19 -p "$PID" && echo ESCAPED',
    "the processors of a process outside": 'taskset -pc 0 "$PID" && echo ESCAPED; chrt -i -p 0 "$PID" && echo ESCAPED; ionice -c 3 -p "$PID" && echo ESCAPED',
    "a signal by descriptor": """python3 -c 'import os,signal; signal.pidfd_send_signal(os.pidfd_open(int(os.environ["PID"])), 9)'""",
    "a descriptor of a process outside": """python3 -c 'import ctypes,os; p=os.pidfd_open(int(os.environ["PID"])); r=ctypes.CDLL(None).syscall(438, p, 0, 0); print("ESC"+"APED" if r >= 0 else "")'""",
    "the memory of a process outside by call": """python3 -c 'import ctypes,os; b=ctypes.create_string_buffer(8); v=(ctypes.c_size_t*2)(ctypes.addressof(b),8); r=ctypes.CDLL(None).process_vm_readv(int(os.environ["PID"]), v, 1, v, 1, 0); print("ESC"+"APED" if r >= 0 else "")'""",
    "shared memory of System V": """python3 -c 'import ctypes,os
c=ctypes.CDLL(None); i=c.shmget(int(os.environ["KEY"]), 4096, 0)
c.shmat.restype=ctypes.c_void_p
print(ctypes.string_at(c.shmat(i,None,0)) if i>=0 else ""); i>=0 and c.shmctl(i,0,None)'""",
    "a queue of messages": """python3 -c 'import ctypes,os; c=ctypes.CDLL("librt.so.1"); q=c.mq_open(b"/agentcli-probe",0); print("ESC"+"APED" if q>=0 else ""); c.mq_unlink(b"/agentcli-probe")'""",
    "a terminal outside": """python3 -c 'import os,select
f=os.open(os.environ["PTY"], os.O_RDONLY|os.O_NOCTTY|os.O_NONBLOCK); select.select([f],[],[],1); print(os.read(f,200))'""",
    "typing into a terminal outside": """python3 -c 'import fcntl,os
os.setsid()
f=os.open(os.environ["PTY"], os.O_RDONLY); fcntl.ioctl(f, 0x540E, 1)
for c in b"id\\n": fcntl.ioctl(f, 0x5412, bytes([c]))
print("ESC"+"APED")'; python3 -c 'import os; os.write(os.open(os.environ["PTY"], os.O_WRONLY|os.O_NOCTTY), b"x"); print("ESC"+"APED")'""",
    "a program without a file": """python3 -c 'import os
f=os.memfd_create("x"); os.write(f, b"#!/bin/sh\\necho x > $OUT/victim; cat $HOME/.ssh/id_rsa\\n"); os.execve(f, ["x"], os.environ)'""",
    "a library before all others": 'printf "void __attribute__((constructor)) x(void){}" > l.c; cc -shared -o l.so l.c 2>/dev/null; LD_PRELOAD=./l.so cat "$HOME/.ssh/id_rsa"; LD_PRELOAD=./l.so su -c "touch $OUT/new" </dev/null',
    "a setuid copy": 'cp /bin/sh suid; chmod 4755 suid; test -u suid -a -O suid && ./suid -pc "touch $OUT/new"',
    "a lookup of a name": """python3 -c 'import socket
try: socket.getaddrinfo("example.org", 80); print("ESC"+"APED")
except OSError: pass
s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", '$PORT'))'""",
    "netlink": """python3 -c 'import socket; s=socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9); s.bind((0,1))' 2>/dev/null; unshare -n true && ip link add dummy0 type dummy && echo ESCAPED""",
    "a virtual machine's socket": """python3 -c 'import socket; s=socket.socket(40, socket.SOCK_STREAM); s.settimeout(2); s.connect((2, 1024)); print("ESC"+"APED")'""",
    "a mount of its own": """python3 -c 'import ctypes; c=ctypes.CDLL(None); print("ESC"+"APED" if c.syscall(428,-100,b"/",1)>=0 and c.syscall(429,0,b"",-100,b"src",0)>=0 else "")'; fusermount -u /tmp 2>/dev/null; mkdir m && mount -t overlay overlay -o lowerdir=/,upperdir=src,workdir=m m && echo ESCAPED""",
    "the thread's own doors": 'for d in root cwd exe; do cat "/proc/thread-self/$d/.ssh/id_rsa" "/proc/self/task/$$/root$HOME/.ssh/id_rsa"; done; cat /proc/self/map_files/* | head -c 1 >/dev/null; echo x > "/proc/self/root$OUT/victim"; echo x > "/proc/self/cwd/../outside/victim"',
    "the score of the memory killer": 'echo -1000 > /proc/self/oom_score_adj && echo ESCAPED; echo 1000 > "/proc/$PID/oom_score_adj" && echo ESCAPED; echo x > "/proc/$PID/comm" && echo ESCAPED',
    "descriptors of a process outside": """for f in /proc/$PID/fd/[0-9]* /proc/1/fd/[3-9]; do timeout 1 sh -c 'echo x > "$0"; cat "$0"' "$f"; done; ls "/proc/$PID/root$OUT" && echo ESCAPED""",
    "a hook by rename of its folder": 'mkdir h; echo x > h/pre-commit; mv -T h .git/hooks; mv .git/hooks src/h; ln -sfn ../src .git/hooks; cp -r .git copy; mv -T copy .git',
    "a worktree that points elsewhere": 'rm -f .git/commondir; echo "gitdir: x" > .git/gitdir; git worktree add wt 2>/dev/null; git init --separate-git-dir=src/g . 2>/dev/null; git update-index --refresh 2>/dev/null',
    "punching holes": """python3 -c 'import ctypes,os; f=os.open(os.environ["OUT"]+"/victim", os.O_RDONLY); c=ctypes.CDLL(None); c.fallocate(f,3,0,4); c.ftruncate(f,0); c.ioctl(f,0x40049409,0)'; fallocate -p -l 4 "$OUT/victim"; cp --reflink=always src/a "$OUT/victim" """,
    "flags of a file": 'chattr +i "$OUT/victim"; setfacl -m u:1:rwx "$OUT/victim"; setfattr -n user.a -v b "$OUT/victim"; chattr +i .git',
    "times by descriptor": """python3 -c 'import os; os.utime(os.open(os.environ["OUT"]+"/victim", os.O_RDONLY), (1, 1))'""",
    "a core of the shell": 'ulimit -c unlimited; cd "$OUT" && sh -c "kill -SEGV \\$\\$"; ls "$OUT" | grep -q core && echo ESCAPED',
    "the clock and the name": 'date -s "2001-01-01" && echo ESCAPED; hostname evil 2>/dev/null && test "$(cat /proc/sys/kernel/hostname)" = evil && readlink /proc/self/ns/uts /proc/$PID/ns/uts | uniq -d | grep -q . && echo ESCAPED',
    "a key in the kernel's keyring": """python3 -c 'import ctypes,os,platform
c=ctypes.CDLL(None); ask,control={"x86_64":(249,250)}.get(platform.machine(),(218,219)); b=ctypes.create_string_buffer(200)
for key in (int(os.environ["SECRET_KEY"]), c.syscall(ask,b"user",b"agentcli-probe",None,0)):
    n=c.syscall(control,11,key,b,200); print(b.raw[:max(n,0)])'; keyctl print "$SECRET_KEY"; keyctl show 2>/dev/null | grep -q agentcli && echo ESCAPED""",
    "a key of its own": """python3 -c 'import ctypes,platform; n={"x86_64":248}.get(platform.machine(),217); print("ESC"+"APED" if ctypes.CDLL(None).syscall(n,b"user",b"agentcli-own",b"x",1,-3) >= 0 else "")'""",
    "a ring for system calls": """python3 -c 'import ctypes; print("ESC"+"APED" if ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0 else "")'""",
    "programs for the kernel": """python3 -c 'import ctypes,platform,struct; n={"x86_64":321}.get(platform.machine(),280); a=struct.pack("=IIII",2,4,4,1)+bytes(112); print("ESC"+"APED" if ctypes.CDLL(None).syscall(n,0,a,128) >= 0 else "")'""",
    "counters of the processor": """python3 -c 'import ctypes,platform,struct; n={"x86_64":298}.get(platform.machine(),241); a=struct.pack("=IIQ",1,120,0)+bytes(104); print("ESC"+"APED" if ctypes.CDLL(None).syscall(n,a,0,-1,-1,0) >= 0 else "")'""",
    "faults of memory": """python3 -c 'import ctypes,platform; n={"x86_64":323}.get(platform.machine(),282); print("ESC"+"APED" if ctypes.CDLL(None).syscall(n,1) >= 0 else "")'""",
    "the debugger on the first process": """python3 -c 'import ctypes,os; c=ctypes.CDLL(None); print("ESC"+"APED" if c.ptrace(0x4206,1,0,0)==0 or c.ptrace(0x4206,os.getppid(),0,0)==0 else "")'""",
    "a socket in the workspace": """python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("src/socket")'; python3 -c 'import os,socket; os.link("src/socket","src/other"); socket.socket(socket.AF_UNIX).connect("src/other")'""",
    "packets of others": """python3 -c 'import socket; socket.socket(17, socket.SOCK_RAW); print("ESC"+"APED")'; python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM); print("ESC"+"APED")'""",
}  # fmt: skip
