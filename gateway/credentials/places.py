"""Stores of credentials: the database for people's own, the system's keyring or a JSON file for shared ones.

Each reads a credential and writes the renewed one back.
"""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol, cast

from agent.config import KeyFileConfig, KeyringConfig
from agent.credentials import Credential, CredentialKind
from agent.ports import Principal
from gateway.credentials.formats import KeptCredential, dump, object_at, read_kept, renewed_object
from gateway.errors import GatewayError
from gateway.safety.private_files import write_private
from gateway.safety.vault import CannotOpen, Vault
from gateway.store import credentials
from gateway.store.engine import Store
from gateway.threads import run_in_thread

KEYRING_S = 5.0
"""Seconds to wait for a keyring, which may be asking a person for a password."""

KindOf = Callable[[str], CredentialKind]
"""Function that tells the kind of a secret."""


class PlaceUnreadable(GatewayError):
    """Error: the store cannot be read or written; the message reveals no secret."""


class CredentialPlace(Protocol):
    """One store of credentials."""

    name: str

    async def read(self, who: Principal | None) -> KeptCredential | None:
        """Return the credential of this person, or None.

        Raises:
            PlaceUnreadable, StoreUnavailable: the store cannot be read.
        """
        ...

    async def write(self, who: Principal | None, old: KeptCredential, new: Credential) -> None:
        """Store the renewed credential, unless the entry was changed meanwhile.

        Raises:
            PlaceUnreadable, StoreUnavailable: the old one stays.
        """
        ...


def _found_at(where: str, kept: KeptCredential) -> KeptCredential:
    return replace(kept, credential=replace(kept.credential, place=where))


class OwnPlace:
    """Credentials that people connected, encrypted in the database."""

    name = "own"

    def __init__(self, store: Store, vault: Vault, provider: str) -> None:
        self._store = store
        self._vault = vault
        self._provider = provider

    async def read(self, who: Principal | None) -> KeptCredential | None:
        if who is None:
            return None
        find = partial(credentials.find, tenant=who.tenant, user_id=who.user_id, provider=self._provider)
        found = await self._store.read(find)
        if found is None:
            return None
        try:
            opened = self._vault.open(found.sealed, credentials.secret_of(who.tenant, found.user_id, self._provider))
        except CannotOpen as refusal:
            raise PlaceUnreadable(f"what {who.user_id} connected to {self._provider}: {refusal}") from None
        kept = read_kept(opened, lambda _secret: CredentialKind.API)
        return None if kept is None else replace(kept, mark=(found.user_id, found.connected_at))

    async def write(self, who: Principal | None, old: KeptCredential, new: Credential) -> None:
        assert who is not None, "only a person has such a credential"
        owner_id, connected_at = cast("tuple[str, datetime]", old.mark)
        sealed = self._vault.seal(dump(new), credentials.secret_of(who.tenant, owner_id, self._provider))
        await self._store.commit(
            credentials.CREDENTIALS.patch,
            {"sealed": sealed},
            tenant=who.tenant,
            user_id=owner_id,
            provider=self._provider,
            connected_at=connected_at,
        )


def _with_renewed(text: str, path: str, old: KeptCredential, new: Credential) -> dict[str, Any] | None:
    """Return the JSON with the credential at `path` renewed; None if another program changed it.

    Raises:
        ValueError, RecursionError: the text is not JSON any more.
    """
    whole: dict[str, Any] = json.loads(text)
    found = object_at(whole, path)
    if found is None or found != old.raw:
        return None
    changed = renewed_object(found, new)
    found.clear()
    found.update(changed)
    return whole


class FilePlace:
    """JSON file that other programs may write, too."""

    name = "file"

    def __init__(self, config: KeyFileConfig, kind_of: KindOf) -> None:
        self._path = config.path.expanduser()
        self._key = config.key
        self._kind_of = kind_of

    async def read(self, who: Principal | None) -> KeptCredential | None:
        return await run_in_thread(self._read)

    async def write(self, who: Principal | None, old: KeptCredential, new: Credential) -> None:
        await run_in_thread(self._write, old, new)

    def _text(self) -> str | None:
        try:
            return self._path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as problem:
            raise PlaceUnreadable(f"{self._path} cannot be read ({type(problem).__name__})") from None

    def _read(self) -> KeptCredential | None:
        text = self._text()
        if text is None:
            return None
        kept = read_kept(text, self._kind_of, self._key)
        if kept is None:
            at = f" at {self._key}" if self._key else ""
            raise PlaceUnreadable(f"{self._path} holds no usable key{at}: an object with type and key or access_token")
        return _found_at(str(self._path), kept)

    def _write(self, old: KeptCredential, new: Credential) -> None:
        try:
            whole = _with_renewed(self._text() or "{}", self._key, old, new)
        except (ValueError, RecursionError):
            raise PlaceUnreadable(f"{self._path} is no JSON any more") from None
        if whole is not None:
            write_private(self._path, json.dumps(whole, indent=2, ensure_ascii=False).encode())


class KeyringBackend(Protocol):
    """Functions of the `keyring` library that are used."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return the entry, or None."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store an entry."""
        ...


def system_keyring() -> KeyringBackend:
    """Return the operating system's keyring.

    Raises:
        ImportError: the extra `keyring` is not installed.
    """
    import keyring  # noqa: PLC0415  an optional extra, slow to find its backend

    return keyring


class KeyringPlace:
    """Keyring entry, the first of several accounts; a keyring that does not answer in time is skipped."""

    name = "keyring"

    def __init__(
        self,
        config: KeyringConfig,
        kind_of: KindOf,
        open_keyring: Callable[[], KeyringBackend] = system_keyring,
        limit_s: float = KEYRING_S,
    ) -> None:
        self._config = config
        self._kind_of = kind_of
        self._open = open_keyring
        self._limit_s = limit_s
        self._answered = threading.Event()
        self._answered.set()

    async def read(self, who: Principal | None) -> KeptCredential | None:
        return await self._in_time(self._read)

    async def write(self, who: Principal | None, old: KeptCredential, new: Credential) -> None:
        await self._in_time(partial(self._write, old, new))

    def _read(self) -> KeptCredential | None:
        keyring, service = self._open(), self._config.service
        for account in self._config.accounts:
            if (text := keyring.get_password(service, account)) is not None:
                kept = read_kept(text, self._kind_of, self._config.key)
                where = f"the keyring's entry {service} of {account}"
                return None if kept is None else _found_at(where, replace(kept, mark=account))
        return None

    def _write(self, old: KeptCredential, new: Credential) -> None:
        keyring, where = self._open(), (self._config.service, str(old.mark))
        if (text := keyring.get_password(*where)) is None:
            return
        if (whole := _with_renewed(text, self._config.key, old, new)) is not None:
            keyring.set_password(*where, json.dumps(whole))

    async def _in_time(self, call: Callable[[], KeptCredential | None]) -> KeptCredential | None:
        """Call the keyring in a thread, abandoned after the limit: keyrings may show a window and wait."""
        if not self._answered.is_set():
            raise PlaceUnreadable("the keyring still has not answered")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[KeptCredential | None] = loop.create_future()

        def ask() -> None:
            try:
                settle = partial(_settle, done, call(), None)
            except Exception as problem:  # noqa: BLE001  each backend has errors of its own
                settle = partial(_settle, done, None, PlaceUnreadable(f"the keyring: {type(problem).__name__}"))
            self._answered.set()
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(settle)

        self._answered.clear()
        threading.Thread(target=ask, name="keyring", daemon=True).start()
        try:
            async with asyncio.timeout(self._limit_s):
                return await done
        except TimeoutError:
            raise PlaceUnreadable(f"the keyring did not answer within {self._limit_s:g} s") from None


def _settle(
    done: "asyncio.Future[KeptCredential | None]", found: KeptCredential | None, problem: Exception | None
) -> None:
    if done.done():
        return
    if problem is not None:
        done.set_exception(problem)
    else:
        done.set_result(found)
