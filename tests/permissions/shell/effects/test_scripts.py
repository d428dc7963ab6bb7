"""Files that the script of an interpreter removes or writes, and the commands that it starts, read from its text."""

from __future__ import annotations

from agentcli.permissions.shell.effects.scripts import places_lost, shell_texts
from tests.tables import each_row

HOME = "/home/me"
PYTHON = {
    "open('/etc/x', 'w')": ["/etc/x"],
    "open('/etc/x', mode='a')": ["/etc/x"],
    "open('/etc/x')": [],
    "open('/etc/x', 'r')": [],
    "open(file='/etc/x', mode='w')": ["/etc/x"],
    "io.open('/etc/x', 'w')": ["/etc/x"],
    "Path('/etc/x').open('w')": ["/etc/x"],
    "Path('/etc/x').open()": [],
    "Path('/etc/x').write_text('/tmp/y')": ["/etc/x"],
    "Path('/etc/x').read_text()": [],
    "os.remove('/etc/x')": ["/etc/x"],
    "os.remove(path='/etc/x')": ["/etc/x"],
    "os.remove('build')": [],
    "os.unlink('~/x')": ["~/x"],
    "shutil.rmtree('../x')": ["../x"],
    "shutil.rmtree(path='/srv')": ["/srv"],
    "shutil.copy('/etc/a', '/srv/b')": ["/srv/b"],
    "shutil.move('/etc/a', '/srv/b')": ["/etc/a", "/srv/b"],
    "shutil.move(src='/etc/a', dst='/srv/b')": ["/srv/b"],
    "os.rename('/etc/a', '/srv/b')": ["/etc/a", "/srv/b"],
    "Path('/etc/a').rename('/srv/b')": ["/etc/a", "/srv/b"],
    "os.replace('/etc/a', '/srv/b')": ["/etc/a", "/srv/b"],
    "'x'.replace('/a', '/b')": [],
    "Path('/etc/a').replace('/srv/b')": ["/etc/a", "/srv/b"],
    "p = '/etc/x'; os.remove(p)": ["/etc/x"],
    "p = '/etc'; q = p; os.remove(q)": ["/etc"],
    "p = Path('/etc'); (p / 'x').unlink()": ["/etc"],
    "os.remove(os.path.join('/etc', 'x'))": ["/etc"],
    "os.remove('/etc/' + name)": ["/etc/"],
    "os.remove(f'/etc/{name}')": ["/etc/"],
    "os.remove(os.path.expanduser('~/x'))": ["~/x"],
    "Path.home().rmdir()": ["/home/me"],
    "(Path.home() / 'x').unlink()": ["/home/me"],
    "os.remove(os.environ['HOME'])": ["/home/me"],
    "for p in ['/etc/a', '/etc/b']: os.remove(p)": ["/etc/a", "/etc/b"],
    "os.kill(1, 9)": [":ends process 1 or all processes"],
    "os.kill(-1, 9)": [":ends process 1 or all processes"],
    "os.kill(12, 9)": [],
    "os.kill(pid, 9)": [],
    "print('/etc/x')": [],
    "os.chmod('/etc/x', 0)": ["/etc/x"],
    "os.chown('/etc/x', 0, 0)": ["/etc/x"],
    "os.symlink('/etc/a', '/srv/b')": ["/srv/b"],
    "os.makedirs('/srv/b')": [],
    "Path('/srv/b').mkdir()": [],
    "Path('/srv/b').touch()": [],
    "remove('/etc/x')": ["/etc/x"],
    "x.y.remove('/etc/x')": [],
    "os.remove(": [],
}
"""Programs of Python with the files outside that they change."""
OTHERS: dict[tuple[str, ...], list[str]] = {
    ("node", "-e", "fs.unlinkSync('/etc/x')"): ["/etc/x"],
    ("node", "-e", 'fs.rmSync("/srv", {recursive: true})'): ["/srv"],
    ("node", "-e", "fs.writeFileSync('/etc/x', '/etc/y')"): ["/etc/x"],
    ("node", "-e", "fs.writeFileSync('out', '/etc/y')"): [],
    ("node", "-p", "fs.rmSync('../x')"): ["../x"],
    ("node", "--eval", "fs.rmSync('~/x')"): ["~/x"],
    ("node", "--print", "fs.rmSync('/x')"): ["/x"],
    ("node", "-efs.rmSync('/x')"): ["/x"],
    ("node", "x.js", "fs.rmSync('/x')"): [],
    ("node", "-e", "fs.rmSync(os.homedir())"): ["/home/me"],
    ("node", "-e", "fs.rmSync(process.env.HOME + '/x')"): ["/home/me", "/x"],
    ("node", "-e", "fs.readFileSync('/etc/x')"): [],
    ("node", "-e", "process.kill(1)"): [":may end process 1 or all processes"],
    ("node", "-e", "process.kill(-1, 'SIGKILL')"): [":may end process 1 or all processes"],
    ("node", "-e", "process.kill(12)"): [],
    ("ruby", "-e", "File.delete('/etc/x')"): ["/etc/x"],
    ("ruby", "-rfileutils", "-e", "FileUtils.rm_rf('/srv')"): ["/srv"],
    ("ruby", "-e", "FileUtils.rm_rf(Dir.home)"): ["/home/me"],
    ("perl", "-e", "unlink '/etc/x'"): ["/etc/x"],
    ("perl", "-e", "unlink \"/etc/x\", 'y'"): ["/etc/x"],
    ("perl", "-ne", "unlink '/etc/x'"): ["/etc/x"],
    ("perl", "-i", "-pe", "s/a/b/"): [],
    ("php", "-r", "unlink('/etc/x');"): ["/etc/x"],
    ("php", "-r", "file_put_contents('/etc/x', '/b');"): ["/etc/x"],
    ("lua", "-e", "os.remove('/etc/x')"): ["/etc/x"],
    ("awk", "unlink('/etc/x')"): [],
    ("python3.12", "-c", "os.remove('/x')"): ["/x"],
    ("python3", "-c"): [],
    ("python3", "-Bc", "os.remove('/x')"): ["/x"],
    ("python3", "x.py"): [],
    ("deno", "eval", "Deno.remove('/x')"): ["/x"],
}
"""Calls of other interpreters with the files outside that they change."""
STARTED: dict[tuple[str, ...], list[str]] = {
    ("python3", "-c", "subprocess.run(args=['rm', 'x'])"): ["rm x"],
    ("python3", "-c", "subprocess.getoutput(cmd='rm x')"): ["rm x"],
    ("python3", "-c", "subprocess.run(check=True)"): [],
    ("python3", "-c", "os.system('rm x')"): ["rm x"],
    ("python3", "-c", "subprocess.run(['rm', 'a b'])"): ["rm 'a b'"],
    ("python3", "-c", "subprocess.run(['rm', name])"): ["rm $_unknown"],
    ("python3", "-c", "subprocess.run(('rm', 'x'), check=True)"): ["rm x"],
    ("python3", "-c", "c = 'rm x'; os.system(c)"): ["rm x"],
    ("python3", "-c", "c = d = ['rm', 'x']; subprocess.call(c)"): ["rm x"],
    ("python3", "-c", "a = b; b = 'rm x'; os.system(a)"): [],
    ("python3", "-c", "os.system(f'rm {x} y')"): ["rm $_unknown y"],
    ("python3", "-c", "os.system()"): [],
    ("python3", "-c", "os.popen('rm x')"): ["rm x"],
    ("python3", "-c", "print('rm x')"): [],
    ("python3", "-c", "os.system("): [],
    ("node", "-e", "execSync('rm x')"): ["rm x"],
    ("node", "-e", "spawn('rm', ['-rf', 'x'])"): ["rm -rf x", "-rf x"],
    ("node", "-e", "console.log('rm x')"): [],
    ("ruby", "-e", "system('rm', 'x')"): ["rm x"],
    ("ruby", "-e", "`rm x`"): ["rm x"],
    ("perl", "-e", 'system("rm x")'): ["rm x"],
    ("awk", 'BEGIN{system("rm x")}'): ["rm x"],
    ("awk", '{print | "sh -c x"}'): ["sh -c x"],
    ("awk", "{print $1}"): [],
    ("gawk", 'BEGIN{system("rm x")}', "f"): ["rm x"],
}
"""Calls of interpreters with the commands that their programs start."""


@each_row("program", PYTHON)
def test_a_program_of_python_changes_the_files_that_its_calls_name(program: str) -> None:
    assert list(places_lost("python3", ["-c", program], "", HOME, "/home/me/shop")) == PYTHON[program]


@each_row("words", OTHERS)
def test_a_program_in_another_language_changes_the_files_beside_its_verbs(words: tuple[str, ...]) -> None:
    assert list(places_lost(words[0], words[1:], "", HOME, "/home/me/shop")) == OTHERS[words]


@each_row("words", STARTED)
def test_the_commands_that_a_program_starts_are_read(words: tuple[str, ...]) -> None:
    assert list(shell_texts(words[0], words[1:], "")) == STARTED[words]


def test_a_program_may_come_from_standard_input() -> None:
    assert list(places_lost("python3", ["-"], "os.remove('/x')", HOME, "/")) == ["/x"]
    assert list(places_lost("node", [], "fs.rmSync('/x')", HOME, "/")) == ["/x"]
    assert list(shell_texts("python3", [], "os.system('rm x')")) == ["rm x"]
    assert list(places_lost("bash", [], "rm /x", HOME, "/")) == [], "the shell's own language is followed elsewhere"
