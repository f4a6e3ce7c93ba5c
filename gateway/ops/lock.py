"""The lock that keeps two gateways off one home."""

import fcntl
import os
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from gateway.errors import AlreadyRunning, GatewayError
from gateway.safety.private_files import check_home

LOCK_NAME = "lock"
"""Name of the file in the home that a gateway locks."""

PAUSE_S = 0.05


def why_silent(home: Path) -> str:
    """Return what to tell an operator about a process that holds this home but did not answer; "" if none does."""
    try:
        with HomeLock(home):
            return ""
    except AlreadyRunning as running:
        return running.while_silent


class HomeLock:
    """An exclusive lock on a home directory; the kernel releases it however the process ends.

    Use as a context manager. The file `lock` in the home holds the owner's process id and is never deleted.
    """

    def __init__(self, home: Path, wait_s: float = 0.0) -> None:
        """Keep the home, made with mode 0700 if missing, and how long to wait for another owner."""
        self._home = home
        self._wait_s = wait_s
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            AlreadyRunning: another process holds it; the message names the process and the home.
            LaxFile: other users can write to the home.
            GatewayError: the home cannot be created or written.
        """
        check_home(self._home)
        descriptor = self._open()
        if not self._take(descriptor):
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise AlreadyRunning(
                f"process {holder or 'unknown'} already runs a gateway on {self._home.resolve()}; "
                "stop it, or set TENK_HOME to another directory"
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, descriptor: int) -> bool:
        until_s = monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if monotonic() >= until_s:
                    return False
            else:
                return True
            sleep(PAUSE_S)

    def _open(self) -> int:
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self._home / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise GatewayError(
                f"the home {self._home} cannot be used ({error.strerror}); "
                "set TENK_HOME to a directory that can be written"
            ) from error
