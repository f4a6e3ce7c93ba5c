"""Has a person's data forgotten, or gives it out, at their wish. Either is recorded.

What goes, and how, is `gateway.store.erasure`'s, the same as for `/forget`. The
`Eraser` carries it out batch by batch, and makes the file forget it too; a wish outlives the process, and is looked for
every few seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime
from functools import partial

import structlog
from pydantic import JsonValue

from gateway.access.policy import AccessSnapshot
from gateway.access.ranks import BY_CLI
from gateway.errors import GatewayError, StoreUnavailable
from gateway.store import erasure, inbox
from gateway.store import people as rows
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Erasure, Extent, Progress, newest_row
from gateway.store.people import AuditRow, Person

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
        store, now = self._store.of(person.tenant), self._clock()
        asked = await store.commit(_forget, person, Extent(extent), now, self._people.mark)
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
        await self._store.of(person.tenant).commit(rows.record, person.tenant, row)
        return _to_json(person)


def _to_json(person: Person) -> dict[str, JsonValue]:
    return {
        "user": person.user_id, "tenant": person.tenant, "name": person.display_name, "role": person.role,
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


log = structlog.get_logger()

LOOK_S = 2.0
PAUSE_S = 0.02
MOST_LOOKS = 300
"""Looks between two tries of what breaks again and again."""

CHECKPOINTS = 20
"""Tries to empty the log, which a reader may hold open."""


class Eraser:
    """Looks every few seconds whether somebody wants to be forgotten."""

    def __init__(
        self,
        store: Store,
        erase: Callable[[Connection, Erasure, datetime], Progress],
        forget: Callable[[str, Collection[str]], None],
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`erase` does one batch; `forget` lets go of what sessions of a tenant and these keys remember."""
        self._store = store
        self._erase = erase
        self._forget = forget
        self._clock = clock
        self._sleep = sleep
        self._broken: dict[str, tuple[int, int]] = {}  # by erasure: looks to let pass, and how often it broke

    async def look(self) -> None:
        """Do what can be done now of all that was asked for; one that breaks is told, and holds up no other."""
        for wanted in await self._store.read(erasure.pending):
            rests, times = self._broken.pop(wanted.id, (0, 0))
            if rests:
                self._broken[wanted.id] = (rests - 1, times)
                continue
            try:
                if await self._carry_out(wanted):
                    await self._empty_log()
                    log.info("person_forgotten", erasure=wanted.id, extent=wanted.extent)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001  one erasure: recorded here, for the operator, and tried again
                log.exception("erasure_broken", erasure=wanted.id, mend="what stands here is a bug: report it")
                self._broken[wanted.id] = (min(2**times, MOST_LOOKS), times + 1)

    async def _carry_out(self, wanted: Erasure) -> bool:
        store = self._store.of(wanted.tenant)
        while (progress := await store.commit(self._erase, wanted, self._clock())) is Progress.MORE:
            await self._sleep(PAUSE_S)
        if progress is Progress.DONE:
            self._forget(wanted.tenant, wanted.keys)
        return progress is Progress.DONE

    async def _empty_log(self) -> None:
        for _ in range(CHECKPOINTS):
            if await self._store.checkpoint():
                return
            await self._sleep(PAUSE_S)
        log.warning("log_not_emptied")
