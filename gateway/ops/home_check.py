"""The checks of `tenk doctor` on this machine: file modes, disk, socket, port, clock, database and secrets.

Checks change nothing. A finding that is safe to fix carries its fix.
"""

import errno
import os
import shlex
import shutil
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from channels.chat.probing import Finding
from channels.clocks import wall_now
from gateway.errors import GatewayError
from gateway.http.config import HttpConfig
from gateway.operators.client import short_name
from gateway.ops.lock import HomeLock
from gateway.safety.private_files import NAMES, OPEN_TO_OTHERS, SECRETS_KEY, WRITABLE_BY_OTHERS
from gateway.safety.vault import id_of, read_keys
from gateway.store.addresses import file_of
from gateway.store.backup import copies_of_older
from gateway.store.credentials import key_ids
from gateway.store.engine import reading, upgrade
from gateway.store.inspection import OURS_WAIT, RISKS, inspect
from gateway.store.leases import CLOCKS_DIFFER_S, server_now
from gateway.store.revisions import HEAD
from gateway.threads import run_in_thread

SCARCE_BYTES = 200 * 1024 * 1024
"""Free space below which the doctor warns: a day of pictures and a backup. A full disk stops SQLite."""

SKEW_S = 30.0
"""Largest clock error without a warning. Slack refuses requests that are five minutes off."""


def check_files(files: Sequence[Path], home: Path | None) -> Iterator[Finding]:
    """Check that only this user can read the secrets file and the home's private files."""
    kept = [] if home is None else [home / name for name in NAMES]
    found = [finding for path in (*files, *kept) for finding in _check_file(path)]
    if home is not None and home.is_dir() and home.stat().st_mode & WRITABLE_BY_OTHERS:
        found.append(_lax(home, "700"))
    yield from found or [Finding("files", "only this user can read the secrets, keys and database")]


def _check_file(path: Path) -> Iterator[Finding]:
    try:
        seen = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(seen.st_mode):
        yield Finding(
            "files", f"{path} is a symbolic link", f"check where it leads, then run: rm {shlex.quote(str(path))}"
        )
    elif seen.st_uid != os.geteuid() and os.geteuid() != 0:
        own = f"sudo chown {os.geteuid()} {shlex.quote(str(path))}"
        yield Finding("files", f"{path} belongs to another user (uid {seen.st_uid})", f"run as that user, or: {own}")
    elif seen.st_mode & WRITABLE_BY_OTHERS:
        yield _lax(path, "600")
    elif seen.st_mode & OPEN_TO_OTHERS:
        words = f"others can read {path} (mode {stat.S_IMODE(seen.st_mode):04o})"
        yield Finding("files", words, f"run: chmod 600 {shlex.quote(str(path))}", mend=partial(_close, path))


def _lax(path: Path, mode: str) -> Finding:
    """Return a finding without a fix: a person has to inspect a file that others could change."""
    words = f"others can write to {path} (mode {stat.S_IMODE(path.stat().st_mode):04o})"
    return Finding("files", words, f"check that nothing was changed, then run: chmod {mode} {shlex.quote(str(path))}")


async def _close(path: Path) -> str:
    await run_in_thread(path.chmod, 0o600)
    return f"only this user can read {path} now (mode 0600)"


def check_disk(home: Path) -> Finding:
    """Check that the home can be written and has free space."""
    place = next(above for above in (home, *home.absolute().parents) if above.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as draft:
            draft.write(b"tenk")
            draft.flush()
            os.fsync(draft.fileno())
        free = shutil.disk_usage(place).free
    except OSError as error:
        words = f"{place} cannot be written ({error.strerror})"
        return Finding("disk", words, "make it writable for this user, or set TENK_HOME to a directory that is")
    room = f"{free // 1024**2:,} MiB are free at {home}"
    if free < SCARCE_BYTES:
        to_do = "free space: `tenk db vacuum` returns that of deleted rows, [retention] sets how long rows stay"
        return Finding("disk", room, to_do)
    return Finding("disk", f"{room}, and it can be written")


def check_clock(skews_s: dict[str, float]) -> Finding:
    """Compare this machine's clock with the servers that answered. The nearest counts, as another may be wrong."""
    if not skews_s:
        return Finding("clock", "no server answered to compare it with")
    host, skew_s = min(skews_s.items(), key=lambda item: abs(item[1]))
    if abs(skew_s) <= SKEW_S:
        return Finding("clock", f"within {SKEW_S:g} s of {host}'s")
    ahead = "ahead of" if skew_s > 0 else "behind"
    return Finding("clock", f"{abs(skew_s):,.0f} s {ahead} {host}'s", "synchronize it: timedatectl set-ntp true")


def check_port(config: HttpConfig, control: Path) -> Finding | None:
    """Check that the HTTP port is free; return None if a gateway is running, or if any port will do."""
    if not config.port or _is_answered(control):
        return None
    where = f"port {config.port} on {config.host}"
    try:
        family, _, _, _, address = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0]
        with socket.create_server(address[:2], family=family):
            return Finding("http", f"{where} is free")
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        why = "is in use by another process" if in_use else f"cannot be bound ({error.strerror})"
        return Finding("http", f"{where} {why}", "set TENK_HTTP, or http.listen, to a free address")


def check_socket(path: Path) -> Finding | None:
    """Check the control socket for a leftover of a killed gateway; return None if there is no socket."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return Finding("socket", f"{path} is not a socket", "move it away: the gateway needs this name")
    except OSError:
        return None
    if _is_answered(path):
        return Finding("socket", "a gateway is running here and answers")
    words = f"{path} is left over from a killed gateway"
    return Finding(
        "socket",
        words,
        f"run: rm {shlex.quote(str(path))} (the next start replaces it, too)",
        mend=partial(_remove, path),
    )


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, short_name(path) as short:
        probe.settimeout(1.0)
        try:
            probe.connect(short)
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


async def _remove(path: Path) -> str:
    with HomeLock(path.parent):  # no gateway can start meanwhile
        await run_in_thread(path.unlink, missing_ok=True)
    return f"removed {path}"


async def check_database(url: str, home: Path) -> Finding:
    """Check that the database is intact and has this version's schema."""
    seen = await inspect(url)
    if not seen.exists:
        return Finding("database", f"there is none at {seen.where} yet; the first start creates it")
    if seen.is_denied:
        return Finding("database", f"{seen.where} cannot be read", seen.problem)
    if seen.problem:
        return Finding("database", f"{seen.where} cannot be used: {seen.problem}", _way_back(url))
    if seen.closed:
        return Finding("database", f"{seen.where} is intact, but closed", seen.closed)
    if seen.refusal:
        words, _, to_do = seen.refusal.partition(": ")
        return Finding("database", f"{seen.where} cannot be used: {words}", to_do)
    if seen.is_behind:
        words = f"{seen.where} is intact, but its schema version is {seen.revision}; this version needs {HEAD}"
        file = file_of(url)
        if file is None:
            to_do = "back it up with pg_dump (docs/several-machines.md), then run `tenk db upgrade`"
            return Finding("database", words, to_do)
        to_do = "run `tenk doctor --fix` or `tenk db upgrade`, or start the gateway: each makes a backup first"
        return Finding("database", words, to_do, mend=_migration(url, file, home))
    to_do = "; ".join(f"{name}: {RISKS[name]}" for name in seen.risks if name != OURS_WAIT)
    off = f"; its server has {', '.join(seen.risks)} off" if seen.risks else ""
    return Finding("database", f"{seen.where} is intact and up to date{off}", to_do)


async def check_database_clock(url: str, clock: Callable[[], datetime] = wall_now) -> Finding | None:
    """Compare this machine's clock with the database server's; None if there is no server, or it does not answer."""
    if file_of(url) is not None:
        return None
    try:
        async with reading(url) as store:
            await store.read(server_now)  # the first query connects
            before = clock()
            off_s = ((await store.read(server_now)) - before).total_seconds()
            took_s = (clock() - before).total_seconds()
    except GatewayError:
        return None  # `check_database` says why
    if -CLOCKS_DIFFER_S <= off_s <= took_s + CLOCKS_DIFFER_S:
        return Finding("database clock", f"within {CLOCKS_DIFFER_S:g} s of this machine's")
    words = f"{abs(off_s):,.0f} s {'ahead of' if off_s > 0 else 'behind'} this machine's"
    return Finding("database clock", words, "synchronize both: timedatectl set-ntp true")


async def check_secrets(url: str, home: Path, given: SecretStr | None) -> Finding | None:
    """Check that the home's keys can decrypt the database's secrets; return None if it cannot be read."""
    try:
        async with reading(url) as store:
            needed = await store.read(key_ids)
    except GatewayError:
        return None  # `check_database` says why
    try:
        here = {id_of(key) for key in read_keys(home, None if given is None else given.get_secret_value())}
    except GatewayError as error:
        return Finding("secrets", str(error), "restore the key file that belongs to this database")
    if lost := sum(count for id_, count in needed.items() if id_ not in here):
        file = "gateway.secret_keys" if given is not None else str(home / SECRETS_KEY)
        what = "1 secret in the database needs" if lost == 1 else f"{lost} secrets in the database need"
        words = f"{what} a key that is not in {file}"
        to_do = "restore the key file that belongs to this database; without it people have to /connect again"
        return Finding("secrets", words, to_do)
    return Finding("secrets", "all secrets in the database can be decrypted")


def _way_back(url: str) -> str:
    if file_of(url) is None:
        return "start the server, or correct DATABASE_URL"
    return "stop the gateway, move the file and those with the same beginning away, and run: tenk db restore BACKUP"


def _migration(url: str, file: Path, home: Path) -> Callable[[], Awaitable[str]]:
    async def mend() -> str:
        with HomeLock(home):
            await upgrade(url)
        return f"{file} is up to date; a copy of the old one is in {copies_of_older(file)[-1]}"

    return mend
