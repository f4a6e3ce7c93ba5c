"""Commands that try to leave the sandbox, to use up the machine, or to hide what they run."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from agent.tools.base import ToolContext, ToolError
from agent.workspace.sandbox import CommandLimits, TooLarge
from agent.workspace.shell import ShellCommand
from tests.fakes.workspace import ANA, CANARY, NO_SANDBOX, NOW, SANDBOX, Rig, make_rig

confined = pytest.mark.skipif(SANDBOX is None, reason=NO_SANDBOX)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return make_rig(tmp_path, time_s=5)


@pytest.fixture
async def canary_port(tmp_path: Path) -> AsyncIterator[int]:
    """Serve the secret on loopback and on two Unix sockets."""

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CANARY.encode())
        writer.close()

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(await asyncio.start_server(answer, "127.0.0.1", 0))
        for path in (str(tmp_path / "s"), f"\0tenk-canary-{os.getpid()}"):
            await stack.enter_async_context(await asyncio.start_unix_server(answer, path))
        yield server.sockets[0].getsockname()[1]


async def run_in_sandbox(rig: Rig, command: str) -> str:
    """Run a command as if a person had allowed it, also one that a group denies; return all it said."""
    try:
        ended = await rig.tools["shell"].run(ToolContext(ANA, NOW, "t/0/0"), ShellCommand(command=command))
    except ToolError as refusal:
        return str(refusal)
    return f"{ended['output']}\n{ended['errors']}"


ESCAPES = [
    "cat {outside}/secret.txt",
    "cat ../bea/diary.txt",
    "cat /workspace/../bea/diary.txt {root}/acme/bea/diary.txt",
    "ln -s {outside}/secret.txt s; cat s",
    "ln -s {root} r; cat r/acme/bea/diary.txt",
    "ln {outside}/secret.txt hard; cat hard",
    "echo taken > {outside}/secret.txt",
    "ln -s {outside}/secret.txt w; echo taken > w",
    "mkdir -p {outside} && echo taken > {outside}/secret.txt; cp -r {outside} here; cat here/secret.txt",
    "mv /workspace /elsewhere; rm -rf /workspace",
    "cat /proc/1/environ /proc/*/environ",
    "cat /proc/1/root{outside}/secret.txt; ls /proc/1/cwd/",
    "cat /proc/self/mountinfo | grep -o 'canary.*'; ls -la /proc/*/fd/",
    "for n in $(seq 3 64); do cat /proc/self/fd/$n /dev/fd/$n <&$n; done",
    'python3 -c "import os; [print(os.listdir(n)) for n in range(3, 64)]"',
    "env; set; export -p",
    "cat ~/.ssh/* ~root/.ssh/* ~root/* /home/*/*",
    "cat /etc/shadow /etc/passwd /etc/hostname",
    "ls /sys /run /var /mnt /srv /opt /boot",
    "echo 1 > /proc/sys/kernel/core_pattern && echo WRITTEN",
    "echo b > /proc/sysrq-trigger && echo WRITTEN",
    "echo x > /usr/bin/taken && echo WRITTEN; echo x > /etc/taken && echo WRITTEN; touch /taken && echo WRITTEN",
    "touch /usr/local/etc/taken && echo WRITTEN",
    "touch /dev/taken /dev/shm/taken && echo WRITTEN",
    "mount -o remount,rw / && echo WRITTEN; mount --bind / /tmp && echo WRITTEN; umount /proc && echo WRITTEN",
    "unshare -Urm sh -c 'mount -t tmpfs x /usr && echo WRITTEN'",
    "nsenter -t 1 -m true && echo WRITTEN",
    "chroot / true && echo WRITTEN",
    "mknod disk b 8 0 && echo WRITTEN",
    "cat /dev/sda /dev/vda /dev/mem | head -c 10 | wc -c | grep -v '^0' && echo WRITTEN",
    "sudo -n id && echo WRITTEN; su -c id </dev/null && echo WRITTEN",
    "cp /usr/bin/id id; chmod 4755 id; chown 0:0 id; ./id -u | grep -qx 0 && echo WRITTEN",
    "grep -E '^Cap(Eff|Prm|Bnd):.*[1-9a-f]' /proc/self/status && echo WRITTEN",
    "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo WRITTEN",
    "python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', {port}), 1); print(s.recv(99))\"",
    "exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3",
    "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{directory}/s'); print(s.recv(99))\"",
    "python3 -c \"import socket as o; s = o.socket(o.AF_UNIX); s.connect('\\0tenk-canary-{pid}'); print(s.recv(99))\"",
    "kill -9 {pid}; kill -9 -1; kill -0 {pid} && echo WRITTEN",
    "gdb -p {pid} -batch; cat /proc/{pid}/maps",
    "ipcs -m | grep -c 0x; cat /proc/sysvipc/shm | tail -n +2",
    "hostname taken && echo WRITTEN",
    "python3 -c \"import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); print('WRITTEN')\"",
    "python3 -c \"import ctypes; ctypes.CDLL(None).syscall(425, 8, bytes(200)) < 0 or print('WRITTEN')\"",
    "python3 -c \"import os; os.memfd_create('x'); print('WRITTEN')\"",
    "python3 -c \"import ctypes; ctypes.CDLL(None).shmget(0, 4096, 0o1600) < 0 or print('WRITTEN')\"",
    "python3 -c \"import ctypes; ctypes.CDLL(None).syscall(250, 0, -3, 1) < 0 or print('WRITTEN')\"",
    "python3 -c \"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('WRITTEN')\"",
    "python3 -c \"import ctypes; c = ctypes.CDLL(None); 0 in (c.setns(0, 0), c.setuid(0)) and print('WRITTEN')\"",
]


@confined
@pytest.mark.parametrize("command", ESCAPES)
async def test_no_command_leaves_the_sandbox(
    rig: Rig, command: str, canary_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENK_CANARY", CANARY)
    names = {"outside": rig.outside, "root": rig.config.root, "directory": rig.directory}
    said = await run_in_sandbox(rig, command.format(**names, port=canary_port, pid=os.getpid()))
    assert CANARY not in said
    assert "WRITTEN" not in said
    assert not rig.is_harmed()


BOMBS = [
    ":(){ :|:& };:",
    "while true; do sleep 100 & done",
    'python3 -c "import os\nwhile True: os.fork()"',
    'python3 -c "x = [bytearray(10**7) for _ in range(1000)]"',
    'for i in 1 2 3 4 5 6 7 8; do python3 -c "x = bytearray(10**8); import time; time.sleep(9)" & done; wait',
    "python3 -c \"import mmap; m = mmap.mmap(-1, 10**9); [m.write(b'x' * 10**6) for _ in range(1000)]\"",
    'python3 -c "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()"',
    "head -c 1G /dev/zero > /tmp/full; head -c 1G /dev/zero > big",
    "tail -f /dev/null",
    "trap '' TERM INT HUP; while :; do :; done",
    "setsid sleep 60 & nohup sleep 60 & disown -a; exec sleep 60",
    "yes",
]


@confined
@pytest.mark.parametrize("command", BOMBS)
async def test_no_command_uses_up_the_machine(tmp_path: Path, command: str) -> None:
    rig = make_rig(tmp_path, time_s=0.5)
    said = await run_in_sandbox(rig, command)
    assert len(said) < 40_000
    assert 300_000_000 > sum(path.stat().st_size for path in rig.folder.rglob("*"))
    while any(str(rig.folder) in read_or_nothing(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        await asyncio.sleep(0.05)  # it is killed, and takes a moment to end


@confined
@pytest.mark.parametrize(("writable", "filled"), [(True, "disk"), (False, "memory")])
async def test_no_command_fills_the_disk_or_the_memory(rig: Rig, writable: bool, filled: str) -> None:
    assert SANDBOX is not None
    more_than_there_is = replace(SANDBOX, limits=CommandLimits(free_mb=10**9))
    with pytest.raises(TooLarge, match=filled):
        await more_than_there_is.run(["sleep", "5"], rig.folder, writable=writable)


@confined
async def test_directories_below_those_of_programs_are_hidden(rig: Rig) -> None:
    assert SANDBOX is not None
    hiding = replace(SANDBOX, hidden=(Path("/usr/share"), rig.directory))
    assert b"bash" in (await SANDBOX.run(["ls", "/usr/share/bash-completion", "/usr/bin"], rig.folder)).output
    assert b"" == (await hiding.run(["ls", "/usr/share"], rig.folder)).output


def read_or_nothing(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@confined
async def test_a_command_that_only_reads_cannot_write_even_if_it_tries(rig: Rig) -> None:
    (rig.folder / "notes.txt").write_text("mine")
    (rig.folder / ".git").mkdir()
    for command in ("sort -o notes.txt /dev/null", "uniq /dev/null notes.txt", "sed -n 'w notes.txt' /dev/null"):
        assert rig.shell.judge(command).only_reads
        assert "Read-only file system" in await run_in_sandbox(rig, command)
    assert "mine" == (rig.folder / "notes.txt").read_text()


DENIED = {
    "deleting_everything": [
        "rm -rf /",
        "rm -r -f -- /",
        "r\\m -rf /",
        "'r'm -rf /",
        "/bin/rm -rf /",
        "$'\\x72m' -rf /",
        "rm -rf ~",
        'rm -rf "$HOME"',
    ],
    "networking": [
        "curl x",
        "command curl x",
        "env -i A=b curl x",
        "timeout 5 nice -n 3 curl x",
        "sh -c 'curl x'",
        "exec 3<>/dev/tcp/1.1.1.1/80",
    ],
    "privileges": [
        "sudo id",
        "sh -c 'bash -c \"sudo id\"'",
        "xargs -n1 sudo",
        "find . -exec sudo id {} \\;",
        "eval 'sudo id'",
        "chmod u+s x",
    ],
    "injecting": ["LD_PRELOAD=/x ls", "env LD_PRELOAD=/x ls", "export LD_PRELOAD=/x"],
    "exhausting": [":(){ :|:& };:", "f() { f | f & }; f"],
    "secrets": [
        "cat /etc/shadow",
        "echo $(cat /etc/shadow)",
        "cat <<< `cat /etc/shadow`",
        "cat <<X\n$(cat /etc/shadow)\nX",
        "diff <(cat /etc/shadow) x",
    ],
    "powering_off": [
        "true && reboot",
        "if true; then reboot; fi",
        "f() { reboot; }; f",
        "alias x=reboot",
        "(reboot)",
        "{ reboot; }",
        "! reboot",
        "coproc reboot",
        "trap reboot EXIT",
        "case x in *) reboot;; esac",
        "for i in 1; do reboot; done",
        "${x:-$(reboot)}",
        "a=$(reboot)",
        "time reboot",
        "x | reboot &",
    ],
}


@pytest.mark.parametrize(
    ("group", "command"), [(group, each) for group, commands in DENIED.items() for each in commands]
)
async def test_a_hidden_command_of_a_deny_group_is_found(rig: Rig, group: str, command: str) -> None:
    assert group == rig.shell.judge(command).denied


UNSURE = [
    "if true; then",
    "echo 'open",
    "$x",
    "$(echo rm) x",
    "r* x",
    'eval "$x"',
    "bash",
    "sh -s",
    "bash script.sh",
    'sh -c \'sh -c "sh -c \\"sh -c ls\\""\'',
    "env env env env ls",
    "ls > out",
    "ls >> out",
    "ls >| out",
    "ls &> out",
    "ls 2> err",
    "X=1 ls",
    "ls() { true; }; ls",
    "find . -delete",
    "git push",
    "tee out",
    'sh -c "$x"',
    ". ./x",
    "source x",
    "python3 -c 1",
    "awk 1",
    "ls | xargs touch",
    "cat <(touch x)",
    "ls \0 x",
    "ls; " * 4000,
    "[ -f x ] && touch y",
    "true" + "(" * 4000,
    "{" * 4000,
    "\ud800",
]


@pytest.mark.parametrize("command", UNSURE)
async def test_a_command_that_may_change_something_asks(rig: Rig, command: str) -> None:
    assert not rig.shell.judge(command).only_reads
