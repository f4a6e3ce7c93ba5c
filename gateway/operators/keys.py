"""Actions about API keys and about the keys that encrypt the database's secrets."""

from functools import partial

from gateway.access.api_keys import OWNER_USER, Scope, make_key
from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import Key, Keys, KeyTerms, MadeKey, RevokedKey, RotatedKeys
from gateway.operators.process import AccessChange
from gateway.store import people
from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.engine import Connection
from gateway.store.people import Person, shown_name

MAX_NAME_CHARS = 64
MAX_KEYS = 1_000


class KeyActions(OperatorsBase):
    """The actions about keys of one tenant, or of all."""

    @action(Rank.MACHINE)
    async def list_keys(self, _call: ActionCall) -> Keys:
        """Return all API keys, oldest first, without their text."""
        known = await self.store.read(partial(KEYS.find, order=KEYS.c.created_at))
        return Keys(keys=tuple(map(_to_key, known)))

    @action(Rank.MACHINE, audit="api_key_created")
    async def create_key(self, call: ActionCall, wanted: KeyTerms) -> MadeKey:
        """Make an API key and return it with its text.

        Raises:
            OperationRefused: a scope or the person is unknown, the name is empty, or there are too many keys.
        """
        scopes, name = _scopes_of(wanted.scopes), shown_name(wanted.name.strip())[:MAX_NAME_CHARS]
        if not name:
            raise OperationRefused("give the key a name, so that you know later which one to revoke")
        person = await self._person_of_key(wanted.who) if wanted.who else None
        user_id = None if person is None else person.user_id
        key, text = make_key(name, scopes, user_id, call.by, call.now, self.store.home_tenant)

        def job(connection: Connection) -> Person | OperationRefused | None:
            if KEYS.count(connection, tenant=key.tenant) >= MAX_KEYS:
                return OperationRefused(f"there are {MAX_KEYS} keys already; revoke unused ones")
            if KEYS.add(connection, key):  # a job may run twice
                call.record(connection, key.tenant, key.id, " ".join(sorted(key.scopes)))
            if key.user_id is None:
                return None
            people.link(connection, key.tenant, f"api:{key.id}:{OWNER_USER}", key.user_id, call.now)
            return people.person_of(connection, key.user_id)

        self.process.announce(AccessChange(await call.commit(job)))
        return MadeKey(**dict(_to_key(key)), key=text)

    @action(Rank.MACHINE, audit="api_key_revoked")
    async def revoke_key(self, call: ActionCall, id_: str) -> RevokedKey:
        """Revoke a key from the next request on.

        Raises:
            OperationRefused: no key has this id, or it is revoked already.
        """
        key = await self.store.read(partial(KEYS.get, id=id_.strip().lower()))
        if key is None:
            raise OperationRefused(f"{id_!r} is not the id of a key; see `tenk keys list`")

        def job(connection: Connection) -> OperationRefused | None:
            if KEYS.patch(connection, {"revoked_at": call.now}, id=key.id, revoked_at=None) != 1:
                return OperationRefused(f"the key {key.id} is revoked already")
            call.record(connection, key.tenant, key.id, key.name)
            return None

        await call.commit(job)
        return RevokedKey(id=key.id, name=key.name)

    @action(Rank.MACHINE)
    async def rotate_keys(self, _call: ActionCall) -> RotatedKeys:
        """Encrypt every secret of the database under a new key.

        Raises:
            GatewayError: the new key cannot be stored; nothing was changed.
        """
        return await self.process.rotate_keys()

    async def _person_of_key(self, who: str) -> Person:
        known = await self.store.of(self.store.home_tenant).read(people.everybody)
        found = [person for person in known if who in person.identities or who == person.user_id]
        if len(found) != 1:
            raise OperationRefused(
                f"{who!r} is not a known person; `tenk users list` shows senders such as telegram:42"
            )
        return found[0]


def _scopes_of(given: tuple[str, ...]) -> frozenset[str]:
    scopes = frozenset(given)
    unknown = sorted(scopes - set(Scope))
    if unknown or not scopes:
        raise OperationRefused(f"{' '.join(unknown) or 'nothing'} is not a scope; choose from: {', '.join(Scope)}")
    return scopes


def _to_key(key: ApiKey) -> Key:
    return Key(
        id=key.id,
        name=key.name,
        scopes=tuple(sorted(key.scopes)),
        speaks_for=key.user_id,
        created_at=key.created_at,
        created_by=key.created_by,
        revoked_at=key.revoked_at,
    )
