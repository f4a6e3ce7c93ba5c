"""Credentials for a model, by level: the person's own, the configuration's, the keyring's, the file's.

A token is renewed five minutes before it expires, by one task per person, and stored before it is used.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from weakref import WeakValueDictionary

import structlog

from agent.config import LinkConfig
from agent.credentials import Credential
from agent.models.credentials import ConfiguredKey, CredentialSource, kind_of, settings_key
from agent.ports import Principal
from gateway.credentials.config import ConnectConfig, OAuthConfig
from gateway.credentials.formats import KeptCredential
from gateway.credentials.oauth import NotExchanged, renew
from gateway.credentials.places import CredentialPlace, FilePlace, KeyringPlace, OwnPlace
from gateway.errors import GatewayError, StoreUnavailable
from gateway.safety.vault import Vault
from gateway.store.engine import Store

RENEW_BEFORE = timedelta(minutes=5)

TRY_AGAIN = timedelta(minutes=1)
"""Wait after a failed renewal."""

MOST_FAILED = 1000

Renew = Callable[[OAuthConfig, Credential], Awaitable[Credential]]
"""Function that gets fresh tokens from a provider, or raises `NotExchanged`."""

log = structlog.get_logger()


class RenewedSource:
    """Credentials of one store, renewed when due; an `agent.models.credentials.CredentialSource`."""

    def __init__(
        self, place: CredentialPlace, oauth: OAuthConfig | None, clock: Callable[[], datetime], renew_at: Renew = renew
    ) -> None:
        """Take an OAuth server; without one nothing is renewed."""
        self.name = place.name
        self._place = place
        self._oauth = oauth
        self._clock = clock
        self._renew_at = renew_at
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by person
        self._failed: dict[str, datetime] = {}  # by person: time of the last failed renewal
        self._under_way: set[asyncio.Task[Credential | None]] = set()

    async def find(self, who: Principal | None) -> Credential | None:
        try:
            kept = await self._place.read(who)
            if kept is None or not self._is_due(kept.credential):
                return None if kept is None else kept.credential
            return await self._renew_once(who)
        except (GatewayError, StoreUnavailable) as problem:
            log.warning("credential_unreadable", source=self.name, error=str(problem))
            return None

    async def aclose(self) -> None:
        """Wait for running renewals: their new tokens have to be stored."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _is_due(self, credential: Credential) -> bool:
        return credential.expires_at is not None and credential.expires_at - self._clock() <= RENEW_BEFORE

    async def _renew_once(self, who: Principal | None) -> Credential | None:
        """Renew in a task that continues if the caller stops waiting, because the old token may be void by then."""
        person = "" if who is None else f"{who.tenant}/{who.user_id}"
        lock = self._locks.setdefault(person, asyncio.Lock())
        task = asyncio.ensure_future(self._renew_alone(who, person, lock))  # noqa: TID251  aclose awaits it
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def _renew_alone(self, who: Principal | None, person: str, lock: asyncio.Lock) -> Credential | None:
        async with lock:
            kept = await self._place.read(who)
            if kept is None or not self._is_due(kept.credential):
                return None if kept is None else kept.credential
            fresh = await self._try_to_renew(who, kept, person)
            return fresh or self._while_it_lasts(kept.credential)

    async def _try_to_renew(self, who: Principal | None, kept: KeptCredential, person: str) -> Credential | None:
        failed_at = self._failed.get(person)
        if self._oauth is None or not kept.credential.refresh_token:
            return None
        if failed_at is not None and self._clock() - failed_at < TRY_AGAIN:
            return None
        try:
            fresh = await self._renew_at(self._oauth, kept.credential)
            self._failed.pop(person, None)
        except NotExchanged as problem:
            log.warning("credential_not_renewed", source=self.name, error=str(problem))
            if len(self._failed) >= MOST_FAILED:
                self._failed.clear()
            self._failed[person] = self._clock()
            return None
        try:
            await self._place.write(who, kept, fresh)
        except (GatewayError, StoreUnavailable) as problem:
            log.error("credential_not_kept", source=self.name, error=str(problem))
        return fresh

    def _while_it_lasts(self, credential: Credential) -> Credential | None:
        lasts = credential.expires_at is None or credential.expires_at > self._clock()
        return credential if lasts else None


class CredentialLevels:
    """Factory of the credential sources of each model."""

    def __init__(
        self, store: Store, vault: Vault, connect: Mapping[str, ConnectConfig], clock: Callable[[], datetime]
    ) -> None:
        """Take the providers' settings by name."""
        self._store = store
        self._vault = vault
        self._connect = connect
        self._clock = clock
        self._made: list[RenewedSource] = []

    def sources(self, link: LinkConfig) -> Sequence[CredentialSource]:
        """Return the sources in the order in which they are asked; empty if only the configuration has a key."""
        provider = link.connects_to
        places: list[CredentialPlace] = [OwnPlace(self._store, self._vault, provider)] if provider is not None else []
        mine = len(places)
        places += _shared_places(link)
        if not places:
            return ()
        known = self._connect.get(provider or "")
        oauth = None if known is None else known.oauth
        made = [RenewedSource(place, oauth, self._clock) for place in places]
        self._made += made
        return (*made[:mine], ConfiguredKey(_of_settings(link)), *made[mine:])

    async def aclose(self) -> None:
        """Wait for running renewals."""
        for source in self._made:
            await source.aclose()


def _shared_places(link: LinkConfig) -> list[CredentialPlace]:
    """Return the shared stores: the keyring, then the file."""
    kinds = partial(kind_of, config=link)
    places: list[CredentialPlace] = [] if link.keyring is None else [KeyringPlace(link.keyring, kinds)]
    return places if link.key_file is None else [*places, FilePlace(link.key_file, kinds)]


async def stored_credential(link: LinkConfig) -> Credential | None:
    """Return the credential that the keyring, else the file, has for this model, not renewed.

    Raises:
        GatewayError: one of them cannot be read.
    """
    for place in _shared_places(link):
        if (kept := await place.read(None)) is not None:
            return kept.credential
    return None


def _of_settings(link: LinkConfig) -> Credential | None:
    """Return the configured key; a server of one's own may need none, unless other keys are configured."""
    credential = settings_key(link)
    needs_none = link.base_url is not None and link.keyring is None and link.key_file is None
    return credential if credential.secret or needs_none else None
