"""A disk under SQLite that a test can observe and make fail: ctypes over the library the interpreter itself uses.

`install` changes the process's default VFS for good, so it belongs into a child process. Structures:
sqlite.org/c3ref/vfs.html and sqlite.org/c3ref/io_methods.html, as of SQLite 3.40.
"""

import ctypes
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

POINTER = ctypes.c_void_p
# a file's name stays SQLite's own pointer: the VFS keeps it, a copy made by ctypes would be freed under it
OPEN = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, POINTER, ctypes.c_int, ctypes.POINTER(ctypes.c_int))
DELETE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, ctypes.c_int)
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER, ctypes.c_int, ctypes.c_int64)
TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int64)
SYNC = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int)
LOCK = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int, ctypes.c_int, ctypes.c_int)

WRITE_LOCK, TAKE_EXCLUSIVE = 0, 2 | 8
"""The slot of the one writer's lock, and SQLITE_SHM_LOCK with SQLITE_SHM_EXCLUSIVE (wal.c, sqlite.h)."""


class Vfs(ctypes.Structure):
    """The part of sqlite3_vfs that is used here."""

    _fields_ = (
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        ("pNext", POINTER),
        ("zName", ctypes.c_char_p),
        ("pAppData", POINTER),
        ("xOpen", POINTER),
        ("xDelete", POINTER),
    )


class Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("iVersion", ctypes.c_int),
        *(
            (name, POINTER)
            for name in (
                *("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize", "xLock", "xUnlock"),
                *("xCheckReservedLock", "xFileControl", "xSectorSize", "xDeviceCharacteristics", "xShmMap", "xShmLock"),
                *("xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch"),
            )
        ),
    )


class Disk:
    """A disk that lets everything through; a test overrides operations. Names are file names without directories."""

    def refuses(self, operation: str, name: str) -> int:
        """Return the SQLite result code for "read", "write", "truncate", "sync" or "lock"; 0 lets it through.

        A lock is the writer's. Only there may the answer be SQLITE_BUSY: a checkpoint takes a busy write for a reader
        in its way, and goes on (`walCheckpoint` in wal.c).
        """
        return sqlite3.SQLITE_OK

    def wrote(self, name: str, offset: int, data: bytes) -> None:
        """Note data that the operating system has and the disk has not."""

    def truncated(self, name: str, size: int) -> None:
        """Cut to `size` bytes, not yet on the disk."""

    def synced(self, name: str) -> None:
        """Note that everything written to the file so far is on the disk."""

    def deleted(self, name: str) -> None:
        pass


def why_not() -> str | None:
    """Return why this interpreter's SQLite cannot be observed, or None."""
    return None if _library_path() else "the interpreter's SQLite is no shared library of a Linux process"


def install(disk: Disk) -> None:
    """Put every SQLite file of this process on this disk from now on."""
    path = _library_path()
    assert path is not None, "ask why_not first"
    library = ctypes.CDLL(path)
    library.sqlite3_vfs_find.restype = POINTER
    _Shim(disk, Vfs.from_address(library.sqlite3_vfs_find(None)))


def _library_path() -> str | None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    mapped = (line.split()[-1] for line in maps.read_text().splitlines())
    return next((path for path in mapped if Path(path).name.startswith("libsqlite3")), None)


def _file_name(pointer: int) -> str:
    return Path(ctypes.string_at(pointer).decode()).name


class _Shim:
    """Wrappers around a VFS and every file it opens; SQLite keeps pointers into it, so it lives forever."""

    forever: ClassVar[list[object]] = []

    def __init__(self, disk: Disk, vfs: Vfs) -> None:
        self._disk = disk
        self._names: dict[int, str] = {}
        self._wrapped: dict[int, Methods] = {}
        self._open = OPEN(vfs.xOpen)
        self._delete = DELETE(vfs.xDelete)
        vfs.xOpen = self._keep(OPEN(self._opened))
        vfs.xDelete = self._keep(DELETE(self._deleted))
        self._keep(self)

    def _keep(self, thing: object) -> int | None:
        self.forever.append(thing)
        return None if thing is self else ctypes.cast(thing, POINTER).value  # type: ignore[arg-type]  a callback

    def _opened(self, vfs: int, name: int | None, file: int, flags: int, out: "ctypes._Pointer[ctypes.c_int]") -> int:
        result = self._open(vfs, name, file, flags, out)
        if result == sqlite3.SQLITE_OK and name:
            self._names[file] = _file_name(name)
            methods = ctypes.cast(file, ctypes.POINTER(POINTER))
            original = methods[0]
            if original not in self._wrapped:
                self._wrapped[original] = self._wrap(Methods.from_address(original))
            methods[0] = ctypes.addressof(self._wrapped[original])
        return int(result)

    def _deleted(self, vfs: int, name: int, sync_directory: int) -> int:
        result = self._delete(vfs, name, sync_directory)
        if result == sqlite3.SQLITE_OK:
            self._disk.deleted(_file_name(name))
        return int(result)

    def _wrap(self, original: Methods) -> Methods:
        wrapped = Methods.from_buffer_copy(original)
        wrapped.xRead = self._keep(self._reading(WRITE(original.xRead)))
        wrapped.xWrite = self._keep(self._writing(WRITE(original.xWrite)))
        wrapped.xTruncate = self._keep(self._truncating(TRUNCATE(original.xTruncate)))
        wrapped.xSync = self._keep(self._syncing(SYNC(original.xSync)))
        wrapped.xShmLock = self._keep(self._locking(LOCK(original.xShmLock))) if original.xShmLock else None
        return wrapped

    def _reading(self, real: Callable[..., int]) -> object:
        def read(file: int, data: int, size: int, offset: int) -> int:
            return self._disk.refuses("read", self._names[file]) or real(file, data, size, offset)

        return WRITE(read)

    def _writing(self, real: Callable[..., int]) -> object:
        def write(file: int, data: int, size: int, offset: int) -> int:
            result = self._disk.refuses("write", self._names[file]) or real(file, data, size, offset)
            if result == sqlite3.SQLITE_OK:
                self._disk.wrote(self._names[file], offset, ctypes.string_at(data, size))
            return result

        return WRITE(write)

    def _truncating(self, real: Callable[..., int]) -> object:
        def truncate(file: int, size: int) -> int:
            result = self._disk.refuses("truncate", self._names[file]) or real(file, size)
            if result == sqlite3.SQLITE_OK:
                self._disk.truncated(self._names[file], size)
            return result

        return TRUNCATE(truncate)

    def _syncing(self, real: Callable[..., int]) -> object:
        def sync(file: int, flags: int) -> int:
            result = self._disk.refuses("sync", self._names[file]) or real(file, flags)
            if result == sqlite3.SQLITE_OK:
                self._disk.synced(self._names[file])
            return result

        return SYNC(sync)

    def _locking(self, real: Callable[..., int]) -> object:
        def lock(file: int, offset: int, count: int, flags: int) -> int:
            asked = (offset, flags) == (WRITE_LOCK, TAKE_EXCLUSIVE)
            return (asked and self._disk.refuses("lock", self._names[file])) or real(file, offset, count, flags)

        return LOCK(lock)
