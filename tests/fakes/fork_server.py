"""Fast process starts: each process is forked off one that has imported everything, and then runs as
`python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would, with an environment (of `PYTHON...` only the path) and
files of its own.

This file is both ends: `python -P fork_server.py SOCKET` serves, and `ForkServer` asks it.
"""

import asyncio
import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).parents[2]
IMPORTED = (
    "tests.torture.child",
    "tests.torture.ledger",
    "gateway.coach.product",
    "agent.models.openai",
    "channels.telegram.adapter",
    "channels.discord.adapter",
    "channels.slack.adapter",
    *(f"gateway.cli.{path.stem}" for path in sorted((ROOT / "gateway" / "cli").glob("[a-z]*.py"))),
)
"""Modules that a gateway on any of the platforms has imported by the time it listens, and the command line."""

START_S = 60.0
PID_BYTES = 10


class Forked:
    """A forked process, and the line on which the server reports its exit status."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None  # as of `subprocess`: negative for a signal
        self._line = line

    def poll(self) -> int | None:
        """Return the exit status; None while the process runs."""
        if self.returncode is None:
            with contextlib.suppress(BlockingIOError):
                self._line.setblocking(False)
                self._take(self._line.recv(32))
        return self.returncode

    async def wait(self) -> int:
        """Wait until it has ended; its exit status."""
        if self.returncode is None:
            self._line.setblocking(False)
            self._take(await asyncio.get_running_loop().sock_recv(self._line, 32))
        return self._status()

    def wait_until(self, timeout_s: float) -> int:
        """Wait until the process has ended, without an event loop.

        Raises:
            TimeoutError: it still runs.
        """
        if self.returncode is None:
            self._line.settimeout(timeout_s)
            self._take(self._line.recv(32))
        return self._status()

    def kill(self) -> None:
        """End it by kill -9."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, signum: int) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)

    def _take(self, told: bytes) -> None:
        self.returncode = int(told or b"-9")  # nothing told: the server is gone, and took it along
        self._line.close()

    def _status(self) -> int:
        assert self.returncode is not None
        return self.returncode


class ForkServer:
    """A server that has imported what `code` holds; it and its forks end with this process."""

    _known: ClassVar[dict[Path, "ForkServer"]] = {}

    def __init__(self, code: Path) -> None:
        self._directory = tempfile.mkdtemp(prefix="fork-")
        self._address = f"{self._directory}/s"
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, self._address],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(code), str(ROOT)))},
            stdin=subprocess.PIPE,
            cwd=ROOT,
        )
        ends_s = time.monotonic() + START_S
        while not Path(self._address).exists():
            if self._process.poll() is not None or time.monotonic() > ends_s:
                self.close()
                raise RuntimeError(f"no fork server of {code}")
            time.sleep(0.01)

    @classmethod
    def of(cls, code: Path = ROOT) -> "ForkServer":
        """Return the server over `code`. It is kept; of other code than ours only the last one is."""
        if code not in cls._known:
            for other in [known for known in cls._known if ROOT not in (known, code)]:
                cls._known.pop(other).close()
            cls._known[code] = cls(code)
        return cls._known[code]

    @classmethod
    def close_all(cls) -> None:
        """End every one."""
        while cls._known:
            cls._known.popitem()[1].close()

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        out: Path,
        err: Path,
        *,
        said: Path = Path(os.devnull),
        umask: int = -1,
    ) -> Forked:
        """Run `SCRIPT ARGUMENTS...` or `-m MODULE ARGUMENTS...` with this environment, its output behind two files'.

        It reads `said`; any of the three may be a terminal's.
        """
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(START_S)
        line.connect(self._address)
        files = {"in": str(said), "out": str(out), "err": str(err)}
        asked = {"argv": list(argv), "env": dict(env), "cwd": str(cwd), "umask": umask, **files}
        line.sendall(json.dumps(asked).encode() + b"\n")
        return Forked(int(line.recv(PID_BYTES, socket.MSG_WAITALL)), line)

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        timeout_s: float,
        *,
        said: str = "",
        umask: int = -1,
    ) -> "subprocess.CompletedProcess[str]":
        """Start a process, give it `said` to read, and wait for its end; return its exit status and output.

        Raises:
            TimeoutError: it did not end in time, and was killed.
        """
        with tempfile.TemporaryDirectory() as outputs:
            out, err, heard = Path(outputs, "out"), Path(outputs, "err"), Path(outputs, "in")
            heard.write_text(said)
            process = self.start(argv, env, cwd, out, err, said=heard, umask=umask)
            try:
                status = process.wait_until(timeout_s)
            except TimeoutError:
                process.kill()
                raise
            return subprocess.CompletedProcess(list(argv), status, out.read_text(), err.read_text())

    def close(self) -> None:
        """End it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(10)
        shutil.rmtree(self._directory, ignore_errors=True)


atexit.register(ForkServer.close_all)

# ---------------------------------------------------------------- the server's end


def serve(address: str) -> dict[str, Any]:
    """Fork until stdin ends; in each child this returns what was asked for."""
    lines: dict[int, socket.socket] = {}
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(16)
    Path(f"{address}.new").rename(address)
    ready = selectors.DefaultSelector()
    for source in (sys.stdin.fileno(), woken, listener.fileno()):
        ready.register(source, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fd == woken:
                os.read(woken, 4096)
                _tell_of_ended(lines)
            elif key.fd != listener.fileno():
                for pid in lines:
                    os.kill(pid, signal.SIGKILL)
                sys.exit(0)
            else:
                line, _ = listener.accept()
                with line.makefile("rb") as asking:
                    asked: dict[str, Any] = json.loads(asking.readline())
                pid = os.fork()
                if not pid:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    ready.close()
                    for ours in (line, listener, *lines.values()):
                        ours.close()
                    os.close(woken)
                    os.close(wakes)
                    return asked
                lines[pid] = line
                line.sendall(b"%*d" % (PID_BYTES, pid))


def _tell_of_ended(lines: dict[int, socket.socket]) -> None:
    for pid in list(lines):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(OSError), lines.pop(pid) as line:
                line.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def become(asked: dict[str, Any]) -> None:
    """Run what was asked for, as the interpreter would have from its start."""
    for stream, (kind, flags) in enumerate(
        (("in", os.O_RDONLY), *((kind, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for kind in ("out", "err")))
    ):
        opened = os.open(asked[kind], flags, 0o666)
        os.dup2(opened, stream)
        os.close(opened)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    if asked["umask"] >= 0:
        os.umask(asked["umask"])
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", *sys.path)]
    script, *arguments = asked["argv"]
    if script == "-m":
        module, *arguments = arguments
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [script, *arguments]
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    become(serve(sys.argv[1]))
