"""Trust: the digests that operators have pinned, and the digests of what waits for them."""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.errors import GatewayError
from gateway.store.engine import Store
from gateway.store.trusted import TRUSTED, TrustKind

LOOK_S = 5.0
"""Seconds between two looks for what other processes of a cluster have changed."""

MAX_FILES = 2_000
MAX_BYTES = 50_000_000
"""Most files and bytes of a folder that is pinned."""

MAX_NAME_CHARS = 512


class CannotPin(GatewayError):
    """A thing has no digest, so that it cannot be trusted; the message says why."""


class TrustState(StrEnum):
    """The standing of a thing that needs trust."""

    TRUSTED = "trusted"
    WAITING = "waiting"  # no operator has trusted it
    CHANGED = "changed"  # it is not as it was when an operator trusted it


@dataclass(frozen=True, slots=True)
class TrustSubject:
    """One thing that runs only if an operator trusts it."""

    kind: TrustKind
    name: str
    """Unique for its kind and tenant: a skill's name, a file's path."""
    digest: str
    """SHA-256, hex; see `digest_of_bytes`, `digest_of_file`, `digest_of_folder`. "": it cannot be trusted."""
    runs: str
    """One line: what it would run or add; with an empty digest, why it cannot be trusted."""

    @property
    def key(self) -> str:
        """Return what operators type: skill:scales."""
        return f"{self.kind}:{self.name}"


class Trust:
    """Snapshot of what the operators of all tenants trust."""

    def __init__(self, store: Store) -> None:
        """Trust nothing until `load`."""
        self._store = store
        self._pinned: Mapping[tuple[str, TrustKind, str], str] = {}
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Read the rows, and wake those who wait for a change if there is one."""
        rows = await self._store.read(TRUSTED.find)
        pinned = {(row.tenant, row.kind, row.name): row.digest for row in rows}
        if pinned != self._pinned:
            self._pinned = pinned
            self._changed.set()
            self._changed = asyncio.Event()

    def of(self, tenant: str) -> "TenantTrust":
        """Return one tenant's part."""
        return TenantTrust(self, tenant)

    async def until_changed(self) -> None:
        """Wait until an operator trusts or distrusts a thing of any tenant."""
        await self._changed.wait()

    def digest_of(self, tenant: str, kind: TrustKind, name: str) -> str | None:
        """Return the pinned digest; None: no operator trusts it."""
        return self._pinned.get((tenant, kind, name))


@dataclass(frozen=True, slots=True)
class TenantTrust:
    """Snapshot of what the operators of one tenant trust."""

    whole: Trust
    tenant: str

    def is_trusted(self, kind: TrustKind, name: str, digest: str) -> bool:
        """Return True if an operator trusts this thing as it is now."""
        return bool(digest) and self.whole.digest_of(self.tenant, kind, name) == digest

    def state_of(self, subject: TrustSubject) -> TrustState:
        if self.is_trusted(subject.kind, subject.name, subject.digest):
            return TrustState.TRUSTED
        pinned = self.whole.digest_of(self.tenant, subject.kind, subject.name)
        return TrustState.WAITING if pinned is None else TrustState.CHANGED

    async def until_changed(self) -> None:
        """Wait until an operator trusts or distrusts a thing of any tenant."""
        await self.whole.until_changed()


def digest_of_texts(*texts: str) -> str:
    """Return the digest of a command line or other texts; each text counts with its length."""
    whole = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        whole.update(len(content).to_bytes(8) + content)
    return whole.hexdigest()


def digest_of_bytes(content: bytes) -> str:
    """Return the digest of a file's content; a caller that runs or shows these bytes reads them only once."""
    return hashlib.sha256(content).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the digest of a regular file, also behind a link.

    Raises:
        CannotPin: it cannot be read, is no regular file or is too large.
    """
    return digest_of_bytes(_content(path, MAX_BYTES))


def digest_of_folder(folder: Path) -> str:
    """Return the digest of all files in a folder: their names, whether they may be executed, and their content.

    Raises:
        CannotPin: it cannot be read, is too large, or has a link or a file that is no regular one.
    """
    whole, left_bytes = hashlib.sha256(), MAX_BYTES
    for path in _files_in(folder):
        content = _content(path, left_bytes, follows=False)
        left_bytes -= len(content)
        runs = os.access(path, os.X_OK)
        whole.update(digest_of_texts(path.relative_to(folder).as_posix(), str(runs), digest_of_bytes(content)).encode())
    return whole.hexdigest()


def _files_in(folder: Path) -> Sequence[Path]:
    found: list[Path] = []

    def fail(error: OSError) -> None:
        raise CannotPin(f"{error.filename} cannot be read: {error.strerror}") from error

    for above, folders, files in os.walk(folder, onerror=fail):
        for name in folders:
            if (Path(above) / name).is_symlink():
                raise CannotPin(f"{Path(above) / name} is a link: copy what it points to")
        found += [Path(above) / name for name in files]
        if len(found) > MAX_FILES:
            raise CannotPin(f"{folder} has more than {MAX_FILES:,} files")
    return sorted(found)


def _content(path: Path, most_bytes: int, *, follows: bool = True) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follows else os.O_NOFOLLOW)  # a FIFO would block
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CannotPin(f"{path} is no regular file")
            content = file.read(most_bytes + 1)
    except OSError as error:
        is_link = error.errno == errno.ELOOP and not follows
        why = "it is a link: copy what it points to" if is_link else error.strerror
        raise CannotPin(f"{path} cannot be read: {why}") from error
    if len(content) > most_bytes:
        raise CannotPin(f"{path} is too large: at most {MAX_BYTES:,} bytes can be trusted together")
    return content
