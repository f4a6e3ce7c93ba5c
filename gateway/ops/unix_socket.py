"""A listening Unix socket for the user alone, and how one is reached. What is said over it does not live here."""

import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gateway.errors import AlreadyRunning, GatewayError

BACKLOG = 128

MAX_SUN_PATH_BYTES = 103
"""What every Unix takes: Linux has room for 107 bytes (unix(7)), macOS for 103."""


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A listening socket of mode 0600 at `path`, not blocking; its file is gone afterwards.

    Raises:
        AlreadyRunning: another process answers on this path.
        GatewayError: the socket cannot be made there.
    """
    try:
        listener = _listener(path)
    except OSError as error:
        raise GatewayError(f"the socket {path} cannot be made: {error.strerror}") from error
    own = path.stat().st_ino
    try:
        yield listener
    finally:
        listener.close()
        _remove(path, own)


def _listener(path: Path) -> socket.socket:
    """A listening socket at `path`, never for a moment open to others: made in a private directory, then moved."""
    _refuse_if_answered(path)
    with tempfile.TemporaryDirectory(prefix=".control-", dir=path.parent) as private:
        draft = Path(private) / "s"
        with contextlib.ExitStack() as undo:
            listener = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            with short_name(draft) as short:
                listener.bind(short)
            draft.chmod(0o600)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            draft.replace(path)
            undo.pop_all()
    return listener


def _refuse_if_answered(path: Path) -> None:
    """A socket that nobody listens on is a dead gateway's and may be replaced; nothing else may."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise GatewayError(f"{path} is no socket; move it away, the gateway wants that name")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, short_name(path) as short:
        probe.settimeout(1.0)
        try:
            probe.connect(short)
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except TimeoutError:
            pass
    raise AlreadyRunning(f"another gateway answers on {path}; stop it, or set TENK_HOME to another directory")


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for the socket that fits into a socket address, good while this is held.

    A home too deep for that is reached through a descriptor of the directory, where the system has /proc.

    Raises:
        GatewayError: the path is too long and there is no /proc.
    """
    if len(os.fsencode(path)) <= MAX_SUN_PATH_BYTES:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        through = Path(f"/proc/self/fd/{directory}")
        if not through.exists():
            raise GatewayError(f"{path} is too long for a socket; set TENK_HOME to a path of at most 80 bytes")
        yield str(through / path.name)
    finally:
        os.close(directory)


def _remove(path: Path, inode: int) -> None:
    """Take the socket file away, unless another gateway has put its own there."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
