"""Files of the gateway, private to its user: files and directories that others could change are refused.

Files that others can only read are closed to them. Each refusal is one line that ends with the command to run.
"""

import os
import shlex
import stat
from pathlib import Path

import structlog

from gateway.errors import GatewayError

DATABASE = "tenk.db"
KEY = "pairing.key"
SECRETS_KEY = "secrets.key"
BESIDE_DATABASE = ("-wal", "-shm", "-journal")

NAMES = ("lock", DATABASE, *(DATABASE + end for end in BESIDE_DATABASE), KEY, SECRETS_KEY, "control.sock")
"""Names in a home directory; none of them may be a link."""

WRITABLE_BY_OTHERS = 0o022
OPEN_TO_OTHERS = 0o077

log = structlog.get_logger()


class LaxFile(GatewayError):
    """Error: another user may have written there, or could; the message says what to run."""


def check_home(home: Path, uid: int | None = None) -> None:
    """Refuse a home that others can write to or own, or in which one of our names is a link; a missing one is fine.

    `uid` is the required owner; None: the current user.

    Raises:
        LaxFile: the problem, and the command to run.
    """
    try:
        found = home.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise LaxFile(f"the home {home} cannot be looked at ({error.strerror}); run as whose it is") from error
    if not stat.S_ISDIR(found.st_mode):
        return
    _refuse_foreign(home, found, uid)
    if found.st_mode & WRITABLE_BY_OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise LaxFile(f"others can write to the home {home} (mode {mode:04o}); run: chmod 700 {_quote(home)}")
    for name in NAMES:
        if (home / name).is_symlink():
            raise _refuse_link(home / name)


def read_private(path: Path) -> bytes:
    """Return the content of a file that only its owner can read.

    Raises:
        GatewayError: it cannot be read, or others can read it too.
    """
    try:
        if path.stat().st_mode & OPEN_TO_OTHERS:
            raise LaxFile(f"others can read the key {path}; run: chmod 600 {_quote(path)}")
        return path.read_bytes()
    except OSError as error:
        raise GatewayError(f"the key {path} cannot be used: {error.strerror}") from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file with mode 0600, atomically and durably.

    Raises:
        GatewayError: it cannot be written; the old content stays.
    """
    try:
        replace_file(path, content)
    except OSError as error:
        raise GatewayError(f"the key {path} cannot be written: {error.strerror}") from error


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file atomically and durably; raise OSError if that fails, and leave the old content."""
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def check_database(path: Path, uid: int | None = None) -> None:
    """Refuse a database file that others can write, that is a link, or that was lost; close it to other readers.

    An empty file beside a key was lost: with a new one, the first stranger let in would become owner. No file is opened
    here, because closing it would release this process's locks on it.

    Raises:
        LaxFile: the problem, and the command to run.
    """
    for file in (path, *(path.with_name(path.name + end) for end in BESIDE_DATABASE)):
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(found.st_mode):
            raise _refuse_link(file)
        _refuse_foreign(file, found, uid)
        mode = stat.S_IMODE(found.st_mode)
        if file == path:
            _refuse_tampered(path, found)
        if stat.S_ISREG(found.st_mode) and mode & OPEN_TO_OTHERS:
            file.chmod(0o600)
            log.warning("file_closed_to_others", file=str(file), mode=f"{mode:04o}")


def _refuse_tampered(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        return  # SQLite reports it
    mode = stat.S_IMODE(found.st_mode)
    if mode & WRITABLE_BY_OTHERS:
        raise LaxFile(f"others can write to the database {path} (mode {mode:04o}); run: chmod 600 {_quote(path)}")
    key = path.with_name(KEY)
    if found.st_size == 0 and key.exists():
        raise LaxFile(
            f"the database {path} is empty, but this home was in use: {KEY} is there; put a backup in its place "
            f"(`tenk db restore`), or begin anew: rm {_quote(path)} {_quote(key)}"
        )


def _refuse_foreign(path: Path, found: os.stat_result, uid: int | None) -> None:
    """Refuse files of other users, except for root, as in containers."""
    ours = os.geteuid() if uid is None else uid
    if ours not in (found.st_uid, 0):
        whose = f"{path} belongs to another user (uid {found.st_uid})"
        raise LaxFile(f"{whose}; run as that user, or: sudo chown {ours} {_quote(path)}")


def _refuse_link(path: Path) -> LaxFile:
    return LaxFile(f"{path} is a link; look where it leads, then run: rm {_quote(path)}")


def _quote(path: Path) -> str:
    return shlex.quote(str(path))
