"""The levels of credentials for a model: a person's own, the configuration's, the keyring's, the file's; each renewed.

A token is renewed 5 min before it ends, by one at a time a person, and written back where it came from before it is
used.
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
"""After a renewal that failed."""

MOST_FAILED = 1000

Renew = Callable[[OAuthConfig, Credential], Awaitable[Credential]]
"""Fresh tokens from a provider, or `NotExchanged`."""

log = structlog.get_logger()


class RenewedSource:
    """The credentials of one place, as `agent.models.credentials.CredentialSource`."""

    def __init__(
        self, place: CredentialPlace, oauth: OAuthConfig | None, clock: Callable[[], datetime], renew_at: Renew = renew
    ) -> None:
        """Without `oauth` nothing is renewed."""
        self.name = place.name
        self._place = place
        self._oauth = oauth
        self._clock = clock
        self._renew_at = renew_at
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by person
        self._failed: dict[str, datetime] = {}  # by person: when a renewal did
        self._under_way: set[asyncio.Task[Credential | None]] = set()

    async def find(self, who: Principal | None) -> Credential | None:
        """As the port says."""
        try:
            kept = await self._place.read(who)
            if kept is None or not self._is_due(kept.credential):
                return None if kept is None else kept.credential
            return await self._renew_once(who)
        except (GatewayError, StoreUnavailable) as problem:
            log.warning("credential_unreadable", source=self.name, error=str(problem))
            return None

    async def aclose(self) -> None:
        """Wait for renewals that are under way: what a provider gave has to be kept."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _is_due(self, credential: Credential) -> bool:
        return credential.expires_at is not None and credential.expires_at - self._clock() <= RENEW_BEFORE

    async def _renew_once(self, who: Principal | None) -> Credential | None:
        """By whoever comes first; it goes on where they stop waiting, as the old token may be void by then."""
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
    """Makes the levels of each model."""

    def __init__(
        self, store: Store, vault: Vault, connect: Mapping[str, ConnectConfig], clock: Callable[[], datetime]
    ) -> None:
        """`connect` by provider."""
        self._store = store
        self._vault = vault
        self._connect = connect
        self._clock = clock
        self._made: list[RenewedSource] = []

    def sources(self, link: LinkConfig) -> Sequence[CredentialSource]:
        """In the order in which they are asked; empty where nobody but the configuration could have one."""
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
        """Wait for renewals that are under way."""
        for source in self._made:
            await source.aclose()


def _shared_places(link: LinkConfig) -> list[CredentialPlace]:
    """The keyring, and then the file; neither is anybody's own."""
    kinds = partial(kind_of, config=link)
    places: list[CredentialPlace] = [] if link.keyring is None else [KeyringPlace(link.keyring, kinds)]
    return places if link.key_file is None else [*places, FilePlace(link.key_file, kinds)]


async def stored_credential(link: LinkConfig) -> Credential | None:
    """What the keyring has for this model, else the file, as it stands there; None: nothing.

    Raises:
        GatewayError: one of them cannot be read.
    """
    for place in _shared_places(link):
        if (kept := await place.read(None)) is not None:
            return kept.credential
    return None


def _of_settings(link: LinkConfig) -> Credential | None:
    """A server of one's own may ask for nothing, unless there are other keys for it."""
    credential = settings_key(link)
    needs_none = link.base_url is not None and link.keyring is None and link.key_file is None
    return credential if credential.secret or needs_none else None
