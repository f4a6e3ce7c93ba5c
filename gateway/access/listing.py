"""Requests, people, invitations, keys and the audit as operators see them: names spelled out, never a code."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue, TypeAdapter, ValidationError

from agent.catalogue import language_of
from agent.plain_errors import words_of_problem
from gateway.access import pairing
from gateway.access.config import Role
from gateway.safety.names import KnownName, Lookalikes
from gateway.store import people
from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.looking import Reader
from gateway.store.people import Connection, Person
from gateway.store.reports import ALL_CHANGES, AuditFilter, audit_log
from gateway.store.tenancy import whose_rows
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState
from gateway.texts import TranslatedError

MOST_INVITES = 1_000
MOST_FOUND = 100  # people that one page shows
MOST_CHANGES = 10_000  # of the audit, in one answer
_AUDIT: TypeAdapter[AuditFilter] = TypeAdapter(AuditFilter)

Call = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]


class OperationRefused(TranslatedError):
    """Nothing was changed; the message says why and what to do."""


class AccessLists:
    """What operators look at: read of a running gateway's store, or beside one that does not answer."""

    def __init__(
        self,
        store: Reader,
        clock: Callable[[], datetime],
        everybody: Callable[[], Sequence[Person]] | None = None,
    ) -> None:
        """`everybody` is who is known to a running gateway; None: the store is asked. Nothing is changed in it."""
        self._reader = store
        self._clock = clock
        self._everybody = everybody

    async def _read_people(self) -> Sequence[Person]:
        return await self._reader.read(people.everybody) if self._everybody is None else self._everybody()

    async def list_requests(self) -> list[JsonValue]:
        """Who waits, the likeliest first: number, sender, name, account, age. Never a code: the person has it."""
        pending = await self._reader.read(pairing.pending)
        known = await self._read_people() if pending else []
        return requests_shown(pending, known, self._clock())

    async def users(self) -> list[JsonValue]:
        """Everybody known, in the order they came."""
        known = await self._read_people()
        names = lookalikes(known)
        return [person_shown(person, names) for person in known]

    async def find_users(self, words: str) -> dict[str, JsonValue]:
        """Of whom these words tell, those who came last first: as many as one page shows, and how many there are."""
        known, wanted = await self._read_people(), words.strip().casefold()
        found = [person for person in known if not wanted or wanted in search_words(person)]
        names = lookalikes(known)
        shown: list[JsonValue] = [person_shown(person, names) for person in found[-MOST_FOUND:][::-1]]
        return {"users": shown, "count": len(found)}

    async def audit(self, wanted: AuditFilter = ALL_CHANGES) -> list[JsonValue]:
        """The latest changes of who may do what that are wanted, newest first."""
        return [
            {"at": at.isoformat(), "by": by, "action": action, "subject": subject, "detail": detail}
            for at, by, action, subject, detail in map(
                astuple, await self._reader.read(partial(audit_log, wanted=wanted))
            )
        ]

    async def list_invites(self) -> list[JsonValue]:
        """Every invitation of the last months, newest first; never a code."""
        now, known = (
            self._clock(),
            await self._reader.read(_load_invites),
        )
        return [invite_shown(invite, now) for invite in known]

    async def list_keys(self) -> list[JsonValue]:
        """Every key, in the order they were made; never its text."""
        return [key_shown(key) for key in await self._reader.read(partial(KEYS.find, order=KEYS.c.created_at))]


def _load_invites(connection: Connection) -> list[Ticket]:
    kinds, newest = (TicketKind.INVITE, TicketKind.FOUNDING), (TICKETS.c.created_at.desc(), TICKETS.c.id.desc())
    return TICKETS.find(connection, kind=kinds, tenant=whose_rows(), order=newest, limit=MOST_INVITES)


def list_calls(lists: AccessLists) -> Mapping[str, Call]:
    """What changes nothing: requests, people, invitations, keys, and `users.audit {by?, about?, action?, ...}`."""

    async def find(arguments: dict[str, JsonValue]) -> JsonValue:
        (words,) = expect(arguments, "words")
        return await lists.find_users(words)

    async def audit(arguments: dict[str, JsonValue]) -> JsonValue:
        try:
            wanted = _AUDIT.validate_python(arguments)
        except ValidationError as error:
            raise OperationRefused(f"users.audit: {words_of_problem(error.errors()[0])}") from None
        if not 0 < wanted.limit <= MOST_CHANGES or not set(arguments) <= set(AuditFilter.__dataclass_fields__):
            raise OperationRefused(f"users.audit takes by, about, action, since, and a limit from 1 to {MOST_CHANGES}")
        return await lists.audit(wanted)

    return {
        "pairing.list": _reading_call(lists.list_requests),
        "users.list": _reading_call(lists.users),
        "users.find": find,
        "users.audit": audit,
        "invite.list": _reading_call(lists.list_invites),
        "keys.list": _reading_call(lists.list_keys),
    }


def _reading_call(operation: Callable[[], Awaitable[JsonValue]]) -> Call:
    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        expect(arguments)
        return await operation()

    return call


def expect(arguments: dict[str, JsonValue], *names: str) -> tuple[str, ...]:
    """The values of exactly these arguments, each a text."""
    if set(arguments) != set(names):
        expected = ", ".join(names) or "none"
        raise OperationRefused(f"the arguments are {expected}, not {', '.join(sorted(arguments)) or 'none'}")
    values = tuple(value for value in (arguments[name] for name in names) if isinstance(value, str))
    if len(values) != len(names):
        raise OperationRefused(f"the arguments {', '.join(names)} have to be texts")
    return values


_HIGH = frozenset(role.value for role in Role if role.allows(Role.OPERATOR))


_ORDER = [role.value for role in Role]


def lookalikes(people: Iterable[Person]) -> Lookalikes:
    """Whom it pays to look like: owners first, then operators."""
    inside = [person for person in people if person.role in _HIGH]
    inside.sort(key=lambda person: -_ORDER.index(person.role))
    return Lookalikes(KnownName(person.display_name, person.role, person.user_id) for person in inside)


def requests_shown(pending: Iterable[Ticket], people: Sequence[Person], now: datetime) -> list[JsonValue]:
    """Who waits: whoever shares a workspace or a language with people let in comes first, then whoever came first."""
    names = lookalikes(people)
    inside = [person for person in people if person.role != Role.BLOCKED]
    teams = {team for person in inside for sender in person.identities if (team := _team(sender))}
    languages = {language_of(person.locale) for person in inside if person.locale}

    def unlikely(asked: Ticket) -> tuple[bool, bool, datetime]:
        speaks = asked.locale is not None and language_of(asked.locale) in languages
        return _team(asked.sender) not in teams, not speaks, asked.created_at

    return [_request_shown(asked, names, now) for asked in sorted(pending, key=unlikely) if now < asked.expires_at]


def _team(sender: str) -> str:
    """The workspace of a sender; "" where the platform has none."""
    channel, _, identity = sender.partition(":")
    team, _, _ = identity.rpartition(":")
    return f"{channel}:{team}" if team else ""


def _request_shown(asked: Ticket, names: Lookalikes, now: datetime) -> JsonValue:
    return {
        "request": asked.id,
        "sender": asked.sender,
        "name": names.introduce(asked.display_name),
        "account": f"{asked.channel}:{asked.account}",
        "asked_at": asked.created_at.isoformat(),
        "age_s": max(0, int((now - asked.created_at) / timedelta(seconds=1))),
        "expires_at": asked.expires_at.isoformat(),
    }


def person_shown(person: Person, names: Lookalikes) -> dict[str, JsonValue]:
    """One person, with what to know of their name."""
    return {
        "user": person.user_id,
        "tenant": person.tenant,
        "name": names.introduce(person.display_name, person.user_id),
        "role": person.role,
        "senders": list[JsonValue](sorted(person.identities)),
        "accounts": list[JsonValue](sorted(person.grants | person.policy_grants)),
        "timezone": person.timezone,
    }


def search_words(person: Person) -> str:
    """All by which one person is looked for."""
    told = (person.display_name, person.role, person.user_id, *person.identities, *person.grants, *person.policy_grants)
    return "\n".join(told).casefold()


def key_shown(key: ApiKey) -> dict[str, JsonValue]:
    """A key as operators see it."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list[JsonValue](sorted(key.scopes)),
        "for": key.user_id,
        "created_at": key.created_at.isoformat(),
        "created_by": key.created_by,
        "revoked_at": None if key.revoked_at is None else key.revoked_at.isoformat(),
    }


def invite_shown(invite: Ticket, now: datetime) -> dict[str, JsonValue]:
    """One invitation and what became of it."""
    return {
        "invite": invite.id,
        "role": invite.role,
        "state": _state(invite, now),
        "made_at": invite.created_at.isoformat(),
        "made_by": invite.created_by,
        "expires_at": invite.expires_at.isoformat(),
        "used_by": invite.ended_by if invite.state is TicketState.APPROVED else None,
    }


def _state(invite: Ticket, now: datetime) -> str:
    if invite.state is TicketState.PENDING:
        return "waits" if now < invite.expires_at else "expired"
    return {TicketState.APPROVED: "used", TicketState.EXPIRED: "expired"}.get(invite.state, "revoked")
