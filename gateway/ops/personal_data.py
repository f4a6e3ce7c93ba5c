"""Has a person's data forgotten, or gives it out, at their wish. Either is recorded.

What goes, and how, is `gateway.store.erasure`'s, the same as for `/forget`.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial

from pydantic import JsonValue

from gateway.access.policy import AccessSnapshot
from gateway.access.ranks import BY_CLI
from gateway.errors import GatewayError
from gateway.store import erasure, inbox
from gateway.store import people as rows
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Extent
from gateway.store.people import AuditRow, Person
from gateway.store.personal_data import newest_row

LEAST_ID_CHARS = 4


class PersonalData:
    """The operations, by name with JSON arguments."""

    def __init__(
        self,
        store: Store,
        people: AccessSnapshot,
        clock: Callable[[], datetime],
        release: Callable[[Iterable[str]], None] = lambda _turn_ids: None,
    ) -> None:
        """`people` marks who was forgotten; `release` goes on with turns that waited for their word."""
        self._store = store
        self._people = people
        self._clock = clock
        self._release = release

    def calls(self) -> dict[str, Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]]:
        """`users.forget {who, extent}`, `users.export {who}`."""
        return {"users.forget": self.forget, "users.export": self.note_export}

    async def forget(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Have a person forgotten, by sender or id: what they said (talk), or everything.

        Raises:
            GatewayError: nobody is known by that, or it is the only owner.
        """
        extent = str(arguments.get("extent"))
        if extent not in tuple(Extent):
            raise GatewayError(f"{extent!r} cannot be forgotten; there are: {', '.join(Extent)}")
        person = await self._store.read(partial(_find, who=str(arguments.get("who"))))
        job = partial(_forget, person=person, extent=Extent(extent), now=self._clock(), mark=self._people.mark)
        asked = await self._store.write(job)
        self._release(asked.unparked)
        if asked.forgotten:
            self._people.forget(person.user_id, asked.forgotten)
        return _to_json(person) | {"extent": extent}

    async def note_export(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Record that a person's data is given out; who it is.

        Raises:
            GatewayError: nobody is known by that.
        """
        person = await self._store.read(partial(_find, who=str(arguments.get("who"))))
        row = AuditRow(self._clock(), BY_CLI, "data_exported", person.user_id, "")
        await self._store.write(lambda connection: rows.record(connection, person.tenant, row))
        return _to_json(person)


def _to_json(person: Person) -> dict[str, JsonValue]:
    return {
        "user": person.user_id, "name": person.display_name, "role": person.role,
        "senders": [*sorted(person.identities)],
    }  # fmt: skip


def _find(connection: Connection, who: str) -> Person:
    wanted = who.strip().lower()
    known = rows.everybody(connection)
    by_id = [person for person in known if len(wanted) >= LEAST_ID_CHARS and person.user_id.endswith(wanted)]
    found = [person for person in known if who.strip() in person.identities] or by_id
    if len(found) != 1:
        raise GatewayError(
            f"{who!r} {'fits more than one' if found else 'is nobody'}; `tenk users list` shows who there is"
        )
    return found[0]


def _forget(
    connection: Connection, person: Person, extent: Extent, now: datetime, mark: erasure.Mark
) -> erasure.ErasureAsked:
    """What waits of them is answered no more; all that came in until now goes."""
    if extent is Extent.EVERYTHING and rows.is_only_owner(connection, person):
        raise GatewayError("that is the only owner: make somebody else one first (`tenk users role WHO owner`)")
    inbox.clear_person(connection, person.user_id, None, now, "tenk users forget", beside_id=0)
    rows.record(connection, person.tenant, AuditRow(now, BY_CLI, "forget_asked", person.user_id, extent))
    return erasure.ask(connection, person, extent, newest_row(connection), now, now, mark)
