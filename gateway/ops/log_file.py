"""The log file in the home: JSON lines, bounded, with the file before it."""

import os
from pathlib import Path

LOG_NAME = "gateway.log"
MAX_BYTES = 10_000_000
"""Size from which a new file is begun; one older file is kept."""


def older_of(path: Path) -> Path:
    """Return the place of the file before this one."""
    return path.with_name(f"{path.name}.1")


class LogFile:
    """A file that log lines are appended to. It never raises: a line that cannot be written is left out."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        """Take the file's place; its folder may be made later."""
        self._path = path
        self._max_bytes = max_bytes
        self._descriptor: int | None = None
        self._size = 0

    def write(self, line: str) -> None:
        """Append a line; begin a new file first if this one is full."""
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        try:
            if self._descriptor is None or self._size + len(data) > self._max_bytes:
                self._open(len(data))
            assert self._descriptor is not None, "it is open now"
            self._size += os.write(self._descriptor, data)
        except OSError:
            pass  # the disk is full, or the home is not there yet; standard error has the line

    def _open(self, needed: int) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._path.exists() and self._path.stat().st_size + needed > self._max_bytes:
            self._path.replace(older_of(self._path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size
