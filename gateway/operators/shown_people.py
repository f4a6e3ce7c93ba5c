"""People and requests as operators see them, with warnings about lookalike names."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from agent.catalogue import language_of
from gateway.access.config import Role
from gateway.operators.models import PairingRequest, User
from gateway.safety.names import KnownName, Lookalikes
from gateway.store.people import Person
from gateway.store.tickets import Ticket

_ORDER = [role.value for role in Role]


def lookalikes(people: Iterable[Person]) -> Lookalikes:
    """Return the names worth imitating: owners' first, then operators'."""
    inside = [person for person in people if Role(person.role).allows(Role.OPERATOR)]
    inside.sort(key=lambda person: -_ORDER.index(person.role))
    return Lookalikes(KnownName(person.display_name, person.role, person.user_id) for person in inside)


def to_user(person: Person, names: Lookalikes) -> User:
    """Return one person, with a warning if the name imitates another."""
    return User(
        user=person.user_id,
        tenant=person.tenant,
        name=names.introduce(person.display_name, person.user_id),
        role=person.role,
        senders=tuple(sorted(person.identities)),
        accounts=tuple(sorted(person.grants | person.policy_grants)),
        timezone=person.timezone,
    )


def search_words(person: Person) -> str:
    """Return the texts by which a person can be found, one per line."""
    told = (person.display_name, person.role, person.user_id, *person.identities, *person.grants, *person.policy_grants)
    return "\n".join(told).casefold()


def to_requests(pending: Iterable[Ticket], people: Sequence[Person], now: datetime) -> tuple[PairingRequest, ...]:
    """Return pending requests: first those that share a workspace or language with known people, then by age."""
    names = lookalikes(people)
    inside = [person for person in people if person.role != Role.BLOCKED]
    teams = {team for person in inside for sender in person.identities if (team := _team(sender))}
    languages = {language_of(person.locale) for person in inside if person.locale}

    def unlikely(asked: Ticket) -> tuple[bool, bool, datetime]:
        speaks = asked.locale is not None and language_of(asked.locale) in languages
        return _team(asked.sender) not in teams, not speaks, asked.created_at

    return tuple(_to_request(asked, names, now) for asked in sorted(pending, key=unlikely) if now < asked.expires_at)


def _team(sender: str) -> str:
    """Return the workspace of a sender; "" if the platform has none."""
    channel, _, identity = sender.partition(":")
    team, _, _ = identity.rpartition(":")
    return f"{channel}:{team}" if team else ""


def _to_request(asked: Ticket, names: Lookalikes, now: datetime) -> PairingRequest:
    return PairingRequest(
        request=asked.id,
        sender=asked.sender,
        name=names.introduce(asked.display_name),
        account=f"{asked.channel}:{asked.account}",
        asked_at=asked.created_at,
        age_s=max(0, int((now - asked.created_at) / timedelta(seconds=1))),
        expires_at=asked.expires_at,
    )
