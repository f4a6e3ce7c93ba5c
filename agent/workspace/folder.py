"""Files of one person's folder, opened component by component below its descriptor; no link is ever followed.

All of it blocks; the tools call it in threads.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent.ports import Principal
from agent.tools.base import ToolError
from agent.workspace.sandbox import INSIDE

MAX_FILE_BYTES = 2_000_000
MAX_PATH_CHARS = 1000
MAX_DEPTH = 40
MOST_VISITED = 50_000
"""Maximum number of files and directories that one search looks at."""

MOST_LISTED = 1000
"""Maximum number of folders of a tenant that are listed for operators."""

TEMPORARY = ".tenk-"
"""Prefix of a file that is being written."""

_UNREADABLE = re.compile(r"[\x00-\x1f\x7f\\]|\A~|\A[A-Za-z]:|\A//")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """A file's content as it was read."""

    data: bytes
    mode: int

    @property
    def version(self) -> str:
        return version_of(self.data)


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a search found."""

    parts: Parts
    changed_at: float  # seconds since 1970
    size_bytes: int

    @property
    def path(self) -> str:
        return "/".join(self.parts)


@dataclass(slots=True)
class Walk:
    """A walk over all files of a folder, bounded in number and depth."""

    is_cut: bool = False
    visited: int = field(default=0)


def version_of(data: bytes) -> str:
    """Return a short hash of a file's content."""
    return hashlib.sha256(data).hexdigest()[:16]


def split_path(path: str) -> Parts:
    """Return the components of a path inside the folder.

    Raises:
        ToolError: it is empty, too long, absolute, or leads out of the folder.
    """
    inner = path.removeprefix(f"{INSIDE}/") if path.startswith(f"{INSIDE}/") else path
    if len(path) > MAX_PATH_CHARS or _UNREADABLE.search(inner) or inner.startswith("/"):
        raise ToolError(f"Give a path inside the folder, such as src/main.py; {path[:100]!r} is none.")
    parts = tuple(part for part in inner.split("/") if part not in {"", "."})
    if ".." in parts:
        raise ToolError("A path cannot contain '..': nothing outside of the folder can be read or written.")
    if len(parts) > MAX_DEPTH or any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts):
        raise ToolError("The path is too long.")
    return parts


def folder_name(name: str) -> str:
    """Return a directory name for a tenant or a person."""
    if _SAFE_NAME.fullmatch(name):
        return name
    return f"h-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of all people under one root."""

    root: Path
    per_person: bool

    def parts_of(self, principal: Principal) -> Parts:
        """Return the names of the directories below the root that lead to this person's folder."""
        tenant = folder_name(principal.tenant)
        return (tenant, folder_name(principal.user_id)) if self.per_person else (tenant,)

    def path_of(self, principal: Principal) -> Path:
        """Return the path of this person's folder, for programs; `open` has made it."""
        return self.root.resolve().joinpath(*self.parts_of(principal))

    @contextmanager
    def open(self, principal: Principal) -> Iterator["Folder"]:
        """Open this person's folder; make it if it is missing.

        Raises:
            ToolError: it is a link, or cannot be made.
        """
        with self._open(self.parts_of(principal), make=True) as folder:
            yield folder

    def list_paths(self, tenant: str) -> list[Path]:
        """Return the paths of a tenant's folders that exist, `MOST_LISTED` at most."""
        parts = (folder_name(tenant),)
        if not self.per_person:
            return [self.root.resolve().joinpath(*parts)]
        try:
            with self._open(parts) as folder:
                names = sorted(folder.names())[:MOST_LISTED]
        except ToolError:
            return []
        return [self.root.resolve().joinpath(*parts, name) for name in names]

    @contextmanager
    def open_listed(self, path: Path) -> Iterator["Folder"]:
        """Open a folder of `list_paths`.

        Raises:
            ToolError: it is a link, or is gone.
        """
        with self._open(path.relative_to(self.root.resolve()).parts) as folder:
            yield folder

    def delete(self, principal: Principal) -> None:
        """Delete this person's folder, whatever modes and depth its directories have.

        Raises:
            OSError: it cannot be deleted.
        """
        *above, name = self.parts_of(principal)
        with suppress(_NoFolder, FileNotFoundError), self._open(tuple(above)) as folder:
            with _own_directory(folder.descriptor, name) as top:
                while names := Folder(top).names():
                    for each in names:
                        _empty_into(top, each)
            os.rmdir(name, dir_fd=folder.descriptor)

    @contextmanager
    def _open(self, parts: Parts, *, make: bool = False) -> Iterator["Folder"]:
        with ExitStack() as stack:
            try:
                current = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                stack.callback(os.close, current)
                for name in parts:
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(name, 0o700, dir_fd=current)
                    current = os.open(name, _DIRECTORY, dir_fd=current)
                    stack.callback(os.close, current)
            except OSError as problem:
                raise _NoFolder(
                    f"This person's folder cannot be opened ({problem.strerror}). Only the operator can mend this."
                ) from None
            yield Folder(current)


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. Paths are components below it."""

    descriptor: int

    def names(self) -> list[str]:
        """Return the names of all files and directories at its top."""
        return os.listdir(self.descriptor)  # noqa: PTH208  no path leads to a descriptor

    def read(self, parts: Parts) -> Content:
        """Return a file's content.

        Raises:
            ToolError: there is no such file, it is not an ordinary one, or it is too large.
        """
        path = "/".join(parts)
        with self._parent(parts) as (parent, name), _in_words(path):
            known = os.stat(name, dir_fd=parent, follow_symlinks=False)
            _require_ordinary(known, path)  # before it is opened: opening a device may do something
            with os.fdopen(os.open(name, _FILE, dir_fd=parent), "rb") as file:
                opened = os.fstat(file.fileno())
                _require_ordinary(opened, path)
                data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"{path} is larger than {MAX_FILE_BYTES} bytes. Use grep to find lines in it.")
        return Content(data, stat.S_IMODE(opened.st_mode))

    def find(self, parts: Parts) -> Content | None:
        """Return a file's content, or None if there is no file of this name."""
        try:
            return self.read(parts)
        except _Missing:
            return None

    def write(self, parts: Parts, data: bytes, expected: str | None, key: str) -> None:
        """Replace a file's content at once, so that a crash leaves the old or the new one.

        Args:
            parts: components of its path; missing directories are made.
            data: the new content.
            expected: version that the file must have; None: there must be no file.
            key: key of the call, from which the temporary file is named.

        Raises:
            ToolError: it has another version, or is not an ordinary file.
        """
        path = "/".join(parts)
        temporary = TEMPORARY + hashlib.sha256(key.encode()).hexdigest()[:20]
        with self._parent(parts, make=True) as (parent, name), _in_words(path):
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)  # of a crashed process
            descriptor = os.open(temporary, _NEW, 0o600, dir_fd=parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                    now = Folder(parent).find((name,))  # as late as possible: another person may write, too
                    if (None if now is None else now.version) != expected:
                        raise ToolError(f"{path} has changed since it was read. Read it again, then decide anew.")
                    os.fchmod(file.fileno(), 0o644 if now is None else now.mode & 0o777)
                os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
                os.fsync(parent)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=parent)
                raise

    def walk(self, state: Walk) -> Iterator[Found]:
        """Yield every ordinary file; links, devices and the insides of `.git` are left out."""
        yield from self._walk(os.dup(self.descriptor), (), state)

    def _walk(self, directory: int, above: Parts, state: Walk) -> Iterator[Found]:
        """Walk one directory, and close its descriptor."""
        try:
            below = []
            with os.scandir(directory) as entries:
                for entry in entries:
                    state.visited += 1
                    if state.visited > MOST_VISITED:
                        state.is_cut = True
                        break
                    with suppress(OSError):  # it is gone
                        known = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(known.st_mode) and entry.name != ".git":
                            below.append(entry.name)
                        elif stat.S_ISREG(known.st_mode) and not entry.name.startswith(TEMPORARY):
                            yield Found((*above, entry.name), known.st_mtime, known.st_size)
            if len(above) >= MAX_DEPTH:
                state.is_cut = state.is_cut or bool(below)
                return
            for name in sorted(below):
                if state.is_cut and state.visited > MOST_VISITED:
                    return
                with suppress(OSError):  # it is gone, or a link by now
                    yield from self._walk(os.open(name, _DIRECTORY, dir_fd=directory), (*above, name), state)
        finally:
            os.close(directory)

    @contextmanager
    def _parent(self, parts: Parts, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the directory of a path; yield its descriptor and the last component."""
        path = "/".join(parts)
        if not parts:
            raise ToolError("Give the path of a file.")
        with ExitStack() as stack:
            current = self.descriptor
            for name in parts[:-1]:
                with _in_words(path):
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(name, 0o755, dir_fd=current)
                    current = os.open(name, _DIRECTORY, dir_fd=current)
                stack.callback(os.close, current)
            yield current, parts[-1]


@contextmanager
def _own_directory(parent: int, name: str) -> Iterator[int]:
    """Open a directory below this one, and take the right to change it first."""
    with ExitStack() as stack:
        known = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        stack.callback(os.close, known)
        Path(f"/proc/self/fd/{known}").chmod(0o700)
        opened = os.open(".", _DIRECTORY, dir_fd=known)
        stack.callback(os.close, opened)
        yield opened


def _empty_into(top: int, name: str) -> None:
    """Delete a file or directory; directories below it move to the top, so that no depth is too much."""
    try:
        os.unlink(name, dir_fd=top)
        return
    except IsADirectoryError:
        pass
    with _own_directory(top, name) as inner:
        for child in Folder(inner).names():
            try:
                os.unlink(child, dir_fd=inner)
            except IsADirectoryError:
                with _own_directory(inner, child):
                    os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
    os.rmdir(name, dir_fd=top)


class _NoFolder(ToolError):
    """The folder is missing, or is a link."""


class _Missing(ToolError):
    """There is no such file or directory."""


def _require_ordinary(known: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(known.st_mode):
        raise ToolError(f"{path} is a link, and links are not followed. Give the path of the file itself.")
    if stat.S_ISDIR(known.st_mode):
        raise ToolError(f"{path} is a directory. Use glob to list its files.")
    if not stat.S_ISREG(known.st_mode):
        raise ToolError(f"{path} is a device, pipe or socket, and is neither read nor written.")


@contextmanager
def _in_words(path: str) -> Iterator[None]:
    """Turn an error of the file system into words for the model."""
    try:
        yield
    except FileNotFoundError:
        raise _Missing(f"There is no {path}. Use glob to find files.") from None
    except OSError as problem:
        if problem.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise ToolError(f"A part of {path} is a link or no directory, and links are not followed.") from None
        raise ToolError(f"{path}: {problem.strerror or type(problem).__name__}.") from None
