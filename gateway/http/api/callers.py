"""Whom a request acts for: the person behind a key and the `user` it names, made when they are first needed."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from agent.ports import Principal
from channels.api.adapter import ACCOUNT, CHANNEL
from gateway.access.config import AccessConfig, Policy
from gateway.access.policy import AccessSnapshot
from gateway.access.roles import Role
from gateway.http.api.chat import user_of
from gateway.http.api.problems import ApiRefusal
from gateway.store import people
from gateway.store.api_keys import ApiKey
from gateway.store.engine import Store
from gateway.store.people import BY_POLICY, Newcomer


class ApiCallers:
    """The people of every key."""

    def __init__(
        self, store: Store, snapshot: AccessSnapshot, access: Callable[[], AccessConfig], clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._access = access
        self._clock = clock

    async def principal(self, key: ApiKey, named: str | None, locale: str | None) -> Principal:
        """The person; a key's own are let in as the account's policy says.

        Raises:
            ApiRefusal: they are not let in.
        """
        user = user_of(key, named)
        sender = f"{CHANNEL}:{key.id}:{user}"
        person = self._snapshot.find(key.tenant, sender)
        if person is None:
            rules = self._access().rules_of(CHANNEL, ACCOUNT)
            if rules.direct is not Policy.OPEN and not rules.lists(sender):
                raise _not_let_in()
            account, former_id = f"{CHANNEL}:{ACCOUNT}", self._snapshot.former_id(key.tenant, sender)
            newcomer = Newcomer(key.tenant, sender, account, user, Role.MEMBER, BY_POLICY, locale, former_id)
            enrol = partial(people.enrol, newcomer=newcomer, now=self._clock())
            person = await self._store.write(enrol, self._snapshot.put)
        if person.role == Role.BLOCKED:
            raise _not_let_in()
        return person.principal


def _not_let_in() -> ApiRefusal:
    return ApiRefusal(403, "not_let_in", "this person is not let in", "Ask the operator of the gateway.")
